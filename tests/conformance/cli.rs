//! The command line: exit codes, what goes to which stream, and the whole story of a job.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use chokaq_tests::{Db, Engine, Result, Scenario, args, scenario, scenarios};
use serde_json::Value;

use crate::arrange;

pub const SCENARIOS: &[Scenario] = &[
    scenario!(a_job_goes_through_its_life_by_commands_alone).limit(Duration::from_secs(400)),
    scenarios![a_database_without_the_kit_is_an_error_with_a_hint][0],
    scenarios![a_destructive_command_without_yes_touches_nothing][0],
    scenarios![a_refused_argument_is_an_error_that_names_it][0],
    scenario!(the_demo_runs_to_its_end).limit(Duration::from_secs(400)),
];

/// The program, built by the first case that runs it.
fn program() -> Result<&'static PathBuf> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    PROGRAM.get_or_init(|| build().map_err(|error| format!("{error:#}"))).as_ref().map_err(|error| anyhow!("{error}"))
}

fn build() -> Result<PathBuf> {
    /* This program is target/<profile>/deps/conformance-<hash>; the command line is target/<profile>/chokaq. */
    let own = std::env::current_exe()?;
    let profile = own.ancestors().nth(2).context("a target directory")?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "chokaq", "--bin", "chokaq"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.arg("--target-dir").arg(profile.parent().context("a target directory")?);
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    let output = cargo.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(profile.join("chokaq"))
}

/// One run of the program.
struct Run {
    code: Option<i32>,
    lines: Vec<String>,
    stderr: String,
}

impl Run {
    fn json(&self) -> Result<Vec<Value>> {
        self.lines.iter().map(|line| serde_json::from_str(line).with_context(|| line.clone())).collect()
    }
}

async fn run(url: Option<&str>, arguments: &[&str]) -> Result<Run> {
    let mut command = Command::new(program()?);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .env_remove("DATABASE_URL")
        .env_remove("CHOKAQ_DATABASE_URL")
        .env("CHOKAQ_OPERATOR", "ann");
    if let Some(url) = url {
        command.env("CHOKAQ_DATABASE_URL", url);
    }
    let Output { status, stdout, stderr } = tokio::task::spawn_blocking(move || command.output()).await??;
    let stderr = String::from_utf8(stderr)?;
    let lines = String::from_utf8(stdout)?.lines().map(str::to_owned).collect();
    Ok(Run { code: status.code(), lines, stderr })
}

async fn a_job_goes_through_its_life_by_commands_alone(db: &Db<'_>) -> Result<()> {
    let url = db.url()?;
    let broken = r#"{"to": "ann@example.com" "subject": "Welcome"}"#;
    let fail =
        ["job", "fail", "a1", "--worker", "w1", "--attempt", "1", "--reason", "FatalError", "--error", "a comma"];
    let repaired = r#"{"to": "ann@example.com", "subject": "Welcome"}"#;
    let steps: [(&[&str], i32); 13] = [
        (&["migrate", "status"], 0),
        (&["job", "enqueue", "--queue", "mail", "--type", "t", "--job-id", "a1", "--payload", broken], 0),
        (&["job", "enqueue", "--queue", "mail", "--type", "t", "--job-id", "a1"], 1),
        (&["job", "fetch", "--worker", "w1"], 0),
        (&["job", "fetch", "--worker", "w1"], 1),
        (&["job", "start", "a1", "--worker", "w2"], 1),
        (&["job", "start", "a1", "--worker", "w1"], 0),
        (&fail, 0),
        (&["dlq", "show", "a1"], 0),
        (&["dlq", "resurrect", "a1", "--payload", repaired, "--tags", "fixed"], 0),
        (&["dlq", "resurrect", "a1"], 1),
        (&["job", "show", "nobody"], 1),
        (&["stats", "--queue", "mail"], 0),
    ];
    for (arguments, code) in steps {
        let arguments: Vec<&str> = ["--json"].iter().chain(arguments).copied().collect();
        let run = run(Some(&url), &arguments).await?;
        assert_eq!(run.code, Some(code), "{arguments:?}: {:?} {}", run.lines, run.stderr);
        let rows = run.json()?;
        match arguments[1..3] {
            ["dlq", "show"] => {
                assert_eq!(rows[0]["JobId"], "a1");
                assert_eq!(rows[0]["Payload"], broken);
                assert_eq!(rows[0]["FailureReasonName"], "FatalError");
                assert_eq!(rows[0]["ErrorDetails"], "a comma");
            }
            ["stats", _] => {
                assert_eq!(rows[0]["Queue"], "mail");
                assert_eq!(rows[0]["ResurrectedTotal"], 1);
            }
            _ => {}
        }
    }
    let mut s = db.session().await?;
    let job = arrange::job(&mut s, "a1").await?;
    assert_eq!(job["Payload"], repaired);
    assert_eq!(job["Tags"], "fixed");
    assert_eq!(arrange::history(&mut s, "a1").await?[0]["Actor"], "ann");
    Ok(())
}

async fn a_database_without_the_kit_is_an_error_with_a_hint(db: &Db<'_>) -> Result<()> {
    let name = db.empty_database().await?;
    let run = run(Some(&db.url_of(&name)?), &["job", "show", "a1"]).await?;
    assert_eq!(run.code, Some(2));
    assert!(run.lines.is_empty(), "{:?}", run.lines);
    assert!(run.stderr.contains("error:") && run.stderr.contains("hint:"), "{}", run.stderr);
    assert!(run.stderr.contains("migrate up"), "{}", run.stderr);
    Ok(())
}

async fn a_destructive_command_without_yes_touches_nothing(db: &Db<'_>) -> Result<()> {
    let url = db.url()?;
    let mut s = db.session().await?;
    arrange::dead(&mut s, "q", "a1").await?;
    for arguments in [&["dlq", "purge", "a1"][..], &["archive", "purge", "--older-than", "1d"]] {
        let refused = run(Some(&url), arguments).await?;
        assert_eq!(refused.code, Some(2), "{arguments:?}");
        assert!(refused.stderr.contains("--yes"), "{arguments:?}: {}", refused.stderr);
    }
    assert_eq!(arrange::pillar(&mut s, "a1").await?, "DLQ");
    let done = run(Some(&url), &["dlq", "purge", "a1", "--yes"]).await?;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(arrange::pillar(&mut s, "a1").await?, "");
    Ok(())
}

async fn a_refused_argument_is_an_error_that_names_it(db: &Db<'_>) -> Result<()> {
    let url = db.url()?;
    let long = "x".repeat(51);
    let refused = run(Some(&url), &["job", "show", &long]).await?;
    assert_eq!(refused.code, Some(2));
    let name = if db.engine == Engine::Mssql { "@JobId" } else { "p_job_id" };
    assert!(refused.stderr.contains("error:") && refused.stderr.contains(name), "{}", refused.stderr);
    assert_eq!(run(Some(&url), &["job", "no-such-verb"]).await?.code, Some(2));
    Ok(())
}

/// On PostgreSQL without a URL: the demo brings its own server.
async fn the_demo_runs_to_its_end(db: &Db<'_>) -> Result<()> {
    let run = match db.engine {
        Engine::Postgres => run(None, &["demo"]).await?,
        Engine::Mssql => run(Some(&db.url()?), &["demo"]).await?,
    };
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let story = run.lines.join("\n");
    let name = if db.engine == Engine::Mssql { "usp_Resurrect" } else { "resurrect" };
    assert!(story.contains(name), "{story}");
    if db.engine == Engine::Mssql {
        let mut s = db.session().await?;
        let gone =
            s.call("GetQueueStats", args! {}).await?.rows.iter().map(|row| row.int("SucceededTotal")).sum::<i64>()
                - s.count("SELECT COUNT(*) AS N FROM chokaq.JobsArchive", &[]).await?;
        db.expect_archive_purged(gone);
    }
    Ok(())
}
