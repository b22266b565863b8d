//! The command line: exit codes, what goes to which stream, and the whole story of a job.

use std::process::Stdio;
use std::time::Duration;

use chokaq_tests::{Db, Engine, Result, Scenario, args, scenario};

use crate::arrange;
use crate::program::{command, finish, run};

pub const SCENARIOS: &[Scenario] = &[
    scenario!(a_job_goes_through_its_life_by_commands_alone).limit(Duration::from_secs(400)),
    scenario!(a_database_without_the_kit_is_an_error_with_a_hint),
    scenario!(a_plan_names_every_migration_and_applies_none),
    scenario!(a_destructive_command_without_yes_touches_nothing),
    scenario!(a_refused_argument_is_an_error_that_names_it),
    scenario!(lost_jobs_and_old_rows_are_cleared_away_by_commands),
    scenario!(each_other_verb_does_what_it_says).only(Engine::Postgres),
    scenario!(the_flag_comes_before_the_variables_in_their_order).only(Engine::Postgres),
    scenario!(a_reader_that_goes_away_is_no_error).only(Engine::Postgres),
    scenario!(the_demo_runs_to_its_end).limit(Duration::from_secs(400)),
];

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

async fn a_plan_names_every_migration_and_applies_none(db: &Db<'_>) -> Result<()> {
    let name = db.empty_database().await?;
    let url = db.url_of(&name)?;
    for _ in 0..2 {
        let plan = run(Some(&url), &["--json", "migrate", "plan"]).await?;
        assert_eq!(plan.code, Some(0), "{}", plan.stderr);
        let versions: Vec<_> = plan.json()?.iter().map(|row| row["Version"].as_i64()).collect();
        assert!(versions.len() > 30 && versions.is_sorted() && versions[0] == Some(1), "{versions:?}");
    }
    assert_eq!(run(Some(&url), &["migrate", "status"]).await?.code, Some(1));
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

async fn lost_jobs_and_old_rows_are_cleared_away_by_commands(db: &Db<'_>) -> Result<()> {
    let url = db.url()?;
    let mut s = db.session().await?;
    arrange::archived(&mut s, "q", "old").await?;
    arrange::processing(&mut s, "q", "zombie").await?;
    arrange::fetched(&mut s, "q", "left").await?;
    let sweep = ["--json", "sweep", "--abandoned-after", "0s", "--zombies-after", "0s", "--batch-size", "10"];
    let swept = run(Some(&url), &sweep).await?;
    assert_eq!(swept.code, Some(0), "{}", swept.stderr);
    let rows = swept.json()?;
    assert_eq!((&rows[0]["RecoveredCount"], &rows[1]["MovedCount"]), (&1.into(), &1.into()), "{rows:?}");
    assert_eq!(arrange::pillar(&mut s, "zombie").await?, "DLQ");
    assert_eq!(arrange::job(&mut s, "left").await?["Status"], 0);

    for (age, deleted) in [("1h", 0), ("0s", 1)] {
        /* An age is counted from the whole second. */
        tokio::time::sleep(Duration::from_millis(1001)).await;
        let purge = ["--json", "archive", "purge", "--older-than", age, "--cleanup-batch-size", "10", "--yes"];
        let purged = run(Some(&url), &purge).await?;
        assert_eq!(purged.code, Some(0), "{}", purged.stderr);
        assert_eq!(purged.json()?[0]["DeletedCount"], deleted, "{age}");
    }
    db.expect_archive_purged(1);
    Ok(())
}

async fn each_other_verb_does_what_it_says(db: &Db<'_>) -> Result<()> {
    let url = db.url()?;
    let mut s = db.session().await?;
    for id in ["a1", "a2", "a3"] {
        arrange::pending(&mut s, id, id).await?;
    }
    let succeed = ["job", "succeed", "a1", "--worker", "w1", "--attempt", "1", "--duration", "1s 500ms"];
    let retry = ["job", "retry", "a2", "--worker", "w1", "--attempt", "1", "--delay", "1h", "--error", "busy"];
    let steps: [(&[&str], i32, (&str, &str)); 12] = [
        (&["job", "edit", "a1", "--payload", "[1]", "--priority", "11"], 0, ("Outcome", "updated")),
        (&["job", "edit", "nobody", "--tags", "x"], 1, ("Outcome", "not_found")),
        (&["job", "fetch", "--worker", "w1", "--queue", "a1", "--start-now"], 0, ("Payload", "[1]")),
        (&["job", "keep-alive", "a1", "--worker", "w1"], 0, ("Outcome", "alive")),
        (&succeed, 0, ("Outcome", "archived")),
        (&["job", "fetch", "--worker", "w1", "--queue", "a2"], 0, ("JobId", "a2")),
        (&["job", "release", "a2", "--worker", "w1"], 0, ("Outcome", "released")),
        (&["job", "fetch", "--worker", "w1", "--queue", "a2", "--start-now"], 0, ("JobId", "a2")),
        (&retry, 0, ("Outcome", "rescheduled")),
        (&["dlq", "move", "a3", "--reason", "Rejected", "--error", "no"], 0, ("Outcome", "moved")),
        (&["dlq", "list", "--queue", "a3", "--reason", "Rejected"], 0, ("ErrorPreview", "no")),
        (&["dlq", "edit", "a3", "--payload", "{}", "--tags", "fixed"], 0, ("Outcome", "updated")),
    ];
    for (arguments, code, (column, value)) in steps {
        let arguments: Vec<&str> = ["--json"].iter().chain(arguments).copied().collect();
        let run = run(Some(&url), &arguments).await?;
        assert_eq!(run.code, Some(code), "{arguments:?}: {:?} {}", run.lines, run.stderr);
        assert_eq!(run.json()?[0][column], value, "{arguments:?}");
    }
    assert_eq!(arrange::job(&mut s, "a1").await?["DurationMs"], chokaq_tests::Value::Float(1500.0));
    assert_eq!(arrange::job(&mut s, "a2").await?["ErrorDetails"], "busy");
    assert_eq!(arrange::job(&mut s, "a3").await?["Tags"], "fixed");
    Ok(())
}

async fn the_flag_comes_before_the_variables_in_their_order(db: &Db<'_>) -> Result<()> {
    let url = db.url()?;
    let nowhere = "postgres://nobody@127.0.0.1:1/nowhere?sslmode=disable";
    for (flag, first, second, code) in [
        (Some(&*url), Some(nowhere), Some(nowhere), 0),
        (None, Some(&*url), Some(nowhere), 0),
        (None, None, Some(&*url), 0),
        (None, Some(""), Some(&*url), 0),
        (Some(nowhere), Some(&*url), Some(&*url), 2),
        (None, None, None, 2),
    ] {
        let mut program = command(first, &["stats"])?;
        program.args(flag.map(|url| format!("--database-url={url}")));
        program.envs(second.map(|url| ("DATABASE_URL", url)));
        let run = finish(program).await?;
        assert_eq!(run.code, Some(code), "{flag:?} {first:?} {second:?}: {}", run.stderr);
    }
    Ok(())
}

/// `chokaq ... | head`: who has read enough closes the pipe.
async fn a_reader_that_goes_away_is_no_error(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "q", "a1").await?;
    for arguments in [&["stats"][..], &["--json", "stats"], &["job", "show", "a1"]] {
        let mut child = command(Some(&db.url()?), arguments)?.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        drop(child.stdout.take());
        let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await??;
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stderr.is_empty(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
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
    /* Every step names its procedure; the titles have the word alone. */
    let name = if db.engine == Engine::Mssql { "chokaq.usp_Resurrect " } else { "chokaq.resurrect " };
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
