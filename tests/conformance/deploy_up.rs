//! What `migrate up` and `migrate plan` are told, and what they refuse before anything is changed.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, anyhow};
use chokaq::{Client, ErrorKind};
use chokaq_tests::{Db, Engine, Result, Rights, Scenario, scenario, values};

use url::Url;

use crate::deployed::is_whole;
use crate::program::{command, run};

/* They wait for each other on a server that deploys slowly. */
const LIMIT: Duration = Duration::from_secs(600);

pub const SCENARIOS: &[Scenario] = &[
    scenario!(a_deployment_ends_where_it_was_told_to_and_goes_on_from_there).limit(LIMIT),
    scenario!(a_plan_and_a_dry_run_tell_what_would_be_touched_and_touch_nothing).limit(LIMIT),
    scenario!(a_version_that_does_not_exist_is_refused).limit(LIMIT),
    scenario!(a_deployment_waits_for_another_and_says_so).limit(LIMIT),
    scenario!(a_database_of_the_servers_own_is_refused_unless_asked_for).limit(LIMIT),
    scenario!(a_newer_database_is_refused).limit(LIMIT),
    scenario!(rights_that_are_missing_are_named_before_anything_is_changed).limit(LIMIT).about_deployments(),
    scenario!(a_password_is_never_printed).limit(LIMIT),
];

/// How many tables there are of the kit, its history among them.
async fn tables(db: &Db<'_>, database: &str) -> Result<i64> {
    let sql = "SELECT COUNT(*) AS N FROM INFORMATION_SCHEMA.TABLES
        WHERE TABLE_SCHEMA = 'chokaq' OR TABLE_NAME = 'chokaq_schema_history'";
    Ok(db.connect(database).await?.count(sql, &[]).await?)
}

async fn a_deployment_ends_where_it_was_told_to_and_goes_on_from_there(db: &Db<'_>) -> Result<()> {
    let _alone = db.deploy_alone().await?;
    let database = db.empty_database().await?;
    let url = db.url_of(&database)?;
    let first = run(Some(&url), &["--json", "migrate", "up", "--to", "4"]).await?;
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let versions: Vec<_> = first.json()?.iter().map(|row| row["Version"].as_i64()).collect();
    assert_eq!(versions, [Some(1), Some(2), Some(3), Some(4)]);
    let again = run(Some(&url), &["migrate", "up", "--to", "2"]).await?;
    assert_eq!((again.code, again.stderr.trim()), (Some(0), "up to date"));
    let plan = run(Some(&url), &["--json", "migrate", "plan", "--to", "101"]).await?;
    assert_eq!(plan.json()?.iter().map(|row| row["Version"].as_i64()).collect::<Vec<_>>(), [Some(101)]);
    let rest = run(Some(&url), &["migrate", "up"]).await?;
    assert_eq!(rest.code, Some(0), "{}", rest.stderr);
    is_whole(db, &database).await
}

async fn a_plan_and_a_dry_run_tell_what_would_be_touched_and_touch_nothing(db: &Db<'_>) -> Result<()> {
    let _alone = db.deploy_alone().await?;
    let database = db.empty_database().await?;
    let url = db.url_of(&database)?;
    let plan = run(Some(&url), &["--json", "migrate", "plan"]).await?;
    assert_eq!(plan.code, Some(0), "{}", plan.stderr);
    let mut told = Vec::new();
    for migration in plan.json()? {
        for it in migration["Statements"].as_array().context("statements")? {
            told.push(format!(
                "{} {}",
                it["Statement"].as_str().context("a kind")?,
                it["Object"].as_str().context("an object")?
            ));
        }
    }
    let expected = match db.engine {
        Engine::Postgres => [
            "create schema chokaq",
            "create table chokaq.jobs_hot",
            "create index ix_jobs_archive_finished_at_utc_id on chokaq.jobs_archive",
            "create or replace function chokaq.enqueue",
            "grant execute chokaq.enqueue TO chokaq_worker",
        ],
        Engine::Mssql => [
            "create schema chokaq",
            "create table chokaq.JobsHot",
            "create index IX_JobsArchive_FinishedAtUtc_Id on chokaq.JobsArchive",
            "create or alter procedure chokaq.usp_Enqueue",
            "grant execute chokaq.usp_Enqueue TO chokaq_worker",
        ],
    };
    for statement in expected {
        assert!(told.iter().any(|it| it == statement), "{statement} is not in {told:#?}");
    }
    let dry = run(Some(&url), &["--json", "migrate", "up", "--dry-run"]).await?;
    assert_eq!((dry.code, &dry.lines), (plan.code, &plan.lines), "{}", dry.stderr);
    let texts = run(Some(&url), &["migrate", "plan", "--sql", "--to", "1"]).await?;
    assert!(texts.lines.iter().any(|line| line.contains("CREATE SCHEMA chokaq;")), "{:?}", texts.lines);
    let lines = run(Some(&url), &["migrate", "plan", "--to", "1"]).await?;
    assert!(lines.lines.contains(&"1\tschema\tcreate schema\tchokaq".to_owned()), "{:?}", lines.lines);
    assert_eq!(tables(db, &database).await?, 0);
    Ok(())
}

async fn a_version_that_does_not_exist_is_refused(db: &Db<'_>) -> Result<()> {
    let url = db.url()?;
    for arguments in [
        &["migrate", "up", "--to", "7"][..],
        &["migrate", "plan", "--to", "7"],
        &["migrate", "script", "--from", "7"],
        &["migrate", "script", "--to", "7"],
        &["migrate", "script", "--from", "4", "--to", "2"],
    ] {
        let refused = run(Some(&url), arguments).await?;
        assert_eq!(refused.code, Some(2), "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains("there is no migration"), "{arguments:?}: {}", refused.stderr);
        assert!(refused.lines.is_empty(), "{arguments:?}");
    }
    Ok(())
}

async fn a_deployment_waits_for_another_and_says_so(db: &Db<'_>) -> Result<()> {
    let _alone = db.deploy_alone().await?;
    let database = db.empty_database().await?;
    let url = db.url_of(&database)?;
    let mut other = db.connect(&database).await?;
    other
        .batch(
            "SELECT pg_advisory_lock(x'63686f6b6171'::bigint)",
            "EXECUTE sp_getapplock @Resource = N'chokaq_schema_history', @LockMode = 'Exclusive', @LockOwner = 'Session';",
        )
        .await?;
    let bounded = run(Some(&url), &["migrate", "up", "--lock-timeout", "200ms"]).await?;
    assert_eq!(bounded.code, Some(2), "{}", bounded.stderr);
    assert!(bounded.stderr.contains("another deployment works on this database; waiting"), "{}", bounded.stderr);
    assert!(bounded.stderr.contains("did not end within 200ms"), "{}", bounded.stderr);
    let deploy = Client::connect(&url).await?.deploy();
    let error = deploy.lock_timeout(Duration::from_millis(100)).up().await.expect_err("the lock is held");
    assert_eq!(error.kind(), ErrorKind::LockTimeout);
    assert_eq!(tables(db, &database).await?, 0);

    /* Without a limit it waits: it says so, and the lock is freed only then. */
    let mut waiting = command(Some(&url), &["migrate", "up"])?.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let stderr = waiting.stderr.take().context("its standard error")?;
    let (first, stderr) = tokio::task::spawn_blocking(move || {
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stderr));
        (lines.next(), lines)
    })
    .await?;
    assert_eq!(first.context("a line")??, "another deployment works on this database; waiting");
    other
        .batch(
            "SELECT pg_advisory_unlock_all()",
            "EXECUTE sp_releaseapplock @Resource = N'chokaq_schema_history', @LockOwner = 'Session';",
        )
        .await?;
    let status = tokio::task::spawn_blocking(move || {
        let rest: Vec<_> = stderr.collect();
        (waiting.wait(), rest)
    });
    let (status, rest) = status.await?;
    assert!(status?.success(), "{rest:?}");
    is_whole(db, &database).await
}

async fn a_database_of_the_servers_own_is_refused_unless_asked_for(db: &Db<'_>) -> Result<()> {
    let system = if db.engine == Engine::Mssql { "master" } else { "postgres" };
    let url = db.url_of(system)?;
    for arguments in [&["migrate", "up"][..], &["migrate", "up", "--dry-run"], &["migrate", "plan"]] {
        let refused = run(Some(&url), arguments).await?;
        assert_eq!(refused.code, Some(2), "{arguments:?}: {}", refused.stderr);
        assert!(
            refused.stderr.contains(system) && refused.stderr.contains("--allow-system-database"),
            "{}",
            refused.stderr
        );
    }
    assert_eq!(tables(db, system).await?, 0);
    let allowed = run(Some(&url), &["migrate", "plan", "--allow-system-database", "--to", "1"]).await?;
    assert_eq!(allowed.code, Some(0), "{}", allowed.stderr);
    Ok(())
}

async fn a_newer_database_is_refused(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let later = "INSERT INTO chokaq_schema_history (version, name, applied_on, checksum)
        VALUES (9999, 'later', '2026-01-31T08:00:00Z', '1')";
    s.batch(later, later).await?;
    for arguments in [&["migrate", "up"][..], &["migrate", "plan"]] {
        let refused = run(Some(&db.url()?), arguments).await?;
        assert_eq!(refused.code, Some(2), "{arguments:?}");
        assert!(refused.stderr.contains("V9999__later") && refused.stderr.contains("older"), "{}", refused.stderr);
    }
    let status = run(Some(&db.url()?), &["--json", "migrate", "status"]).await?;
    assert_eq!(status.code, Some(1));
    assert_eq!(status.json()?.last().context("a row")?["State"], "unknown");
    s.sql("DELETE FROM chokaq_schema_history WHERE version = @P1", &values![9999]).await?;
    Ok(())
}

async fn rights_that_are_missing_are_named_before_anything_is_changed(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let login = db.login(Rights::Of(&[])).await?;
    let deploy = Client::connect(&db.url_as(&login)?).await?.deploy();
    /* The last migration is pending, and the login may look, and no more. */
    let last = "SELECT applied_on AS AppliedOn, checksum AS Checksum FROM chokaq_schema_history WHERE version = 250";
    let last = s.sql(last, &[]).await?.one();
    s.sql("DELETE FROM chokaq_schema_history WHERE version = 250", &[]).await?;
    let grant = format!("GRANT SELECT ON chokaq_schema_history TO {login}");
    s.batch(&grant, &grant).await?;
    let error = deploy.up().await.expect_err("it may do nothing");
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    let expected = match db.engine {
        Engine::Postgres => ["owner of schema chokaq", "INSERT on table public.chokaq_schema_history"],
        Engine::Mssql => ["ALTER on schema chokaq", "INSERT on table dbo.chokaq_schema_history"],
    };
    for right in expected {
        assert!(error.message().contains(right), "{right} is not in {error}");
    }
    let (time, checksum) = (last.text("AppliedOn"), last.text("Checksum"));
    let back = format!(
        "INSERT INTO chokaq_schema_history (version, name, applied_on, checksum)
        VALUES (250, 'permissions', '{time}', '{checksum}')"
    );
    s.batch(&back, &back).await?;
    let revoke = format!("REVOKE SELECT ON chokaq_schema_history FROM {login}");
    s.batch(&revoke, &revoke).await?;
    if db.engine == Engine::Mssql {
        return Ok(());
    }

    /* Nothing is there, and the roles of another database are. */
    db.expect_broken_accounts();
    s.batch("DROP SCHEMA chokaq CASCADE; DROP TABLE public.chokaq_schema_history", "").await?;
    let error = deploy.up().await.expect_err("it may do nothing");
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    for right in [&*format!("CREATE on database {}", db.name), "CREATE on schema public"] {
        assert!(error.message().contains(right), "{right} is not in {error}");
    }
    assert_eq!(tables(db, &db.name).await?, 0);
    Ok(())
}

/// A user of a contained database has his password in the URL and nowhere else.
async fn a_password_is_never_printed(db: &Db<'_>) -> Result<()> {
    let mut url = Url::parse(&db.url()?)?;
    url.set_username("nobody_of_this_name").map_err(|()| anyhow!("a user"))?;
    url.set_password(Some("Geheim-7")).map_err(|()| anyhow!("a password"))?;
    let refused = url.to_string();
    url.set_port(Some(1)).map_err(|()| anyhow!("a port"))?;
    for (url, arguments) in [
        (refused.as_str(), &["migrate", "up"][..]),
        (refused.as_str(), &["--json", "migrate", "status"]),
        (url.as_str(), &["migrate", "plan"]),
    ] {
        let run = run(Some(url), arguments).await?;
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.stderr);
        assert!(run.lines.is_empty() && !run.stderr.contains("Geheim"), "{arguments:?}: {}", run.stderr);
    }
    let client = Client::connect(&db.url()?).await?;
    let shown = format!("{client:?} {:?} {}", client.deploy(), client.config());
    let password = Url::parse(&db.url()?)?.password().map(|password| format!(":{password}@"));
    assert!(shown.contains(&db.name) && password.is_none_or(|password| !shown.contains(&password)), "{shown}");
    Ok(())
}
