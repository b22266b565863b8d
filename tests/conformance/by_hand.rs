//! The files of `sql/`, which a DBA runs with no other program.

use std::path::Path;
use std::time::Duration;

use chokaq_tests::server::postgres;
use chokaq_tests::{Db, Engine, Result, Scenario, Session, SqlError, args, deploy, install, scenario};

use crate::arrange;

pub const SCENARIOS: &[Scenario] = &[
    scenario!(the_walkthrough_tells_its_story_to_the_end),
    scenario!(an_uninstall_leaves_jobs_alone_unless_told_and_then_nothing_behind).limit(Duration::from_secs(1200)),
    scenario!(an_uninstall_takes_the_roles_that_no_other_database_uses).only(Engine::Postgres),
    scenario!(an_uninstall_drops_the_extension).about_extensions(),
];

/// A file of the engine's folder.
pub fn read(engine: Engine, name: &str) -> Result<String> {
    let dialect = match engine {
        Engine::Postgres => "postgres",
        Engine::Mssql => "mssql",
    };
    let root = install::dist().unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    let path = root.join("sql").join(dialect).join(name);
    Ok(std::fs::read_to_string(path)?)
}

/// A statement at a time, as psql sends a file; T-SQL goes as one batch, as SSMS sends it.
async fn run_file(session: &mut Session, name: &str) -> Result<()> {
    let text = read(session.engine(), name)?;
    match session.engine() {
        Engine::Postgres => {
            for statement in text.split_inclusive(";\n") {
                session.batch(statement, "").await?;
            }
        }
        Engine::Mssql => session.batch("", &text).await?,
    }
    Ok(())
}

async fn the_walkthrough_tells_its_story_to_the_end(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    run_file(&mut s, "walkthrough.sql").await?;
    let stats = arrange::stats(&mut s, "walkthrough").await?;
    for (column, expected) in [
        ("EnqueuedTotal", 2),
        ("SucceededTotal", 1),
        ("DeadLetteredTotal", 3),
        ("ResurrectedTotal", 2),
        ("PurgedTotal", 1),
        ("PendingCount", 0),
    ] {
        assert_eq!(stats.int(column), expected, "{column}");
    }
    let actions = s.sql("SELECT Action FROM chokaq.OperatorHistory ORDER BY HistoryId", &[]).await?.texts("Action");
    assert_eq!(actions, ["resurrected", "resurrected", "isolated", "purged"]);
    Ok(())
}

/// The whole file at once, in a session of its own that may have said something first.
async fn uninstall(db: &Db<'_>, database: &str, first: &str) -> Result<(), SqlError> {
    let text = read(db.engine, "uninstall.sql").map_err(SqlError::other)?;
    let mut session = db.connect(database).await.map_err(SqlError::other)?;
    if !first.is_empty() {
        session.batch(first, first).await?;
    }
    session.batch(&text, &text).await
}

async fn assert_nothing_is_left(db: &Db<'_>, database: &str) -> Result<()> {
    let mut s = db.connect(database).await?;
    let left = "SELECT COUNT(*) AS N FROM INFORMATION_SCHEMA.TABLES
        WHERE TABLE_SCHEMA = 'chokaq' OR TABLE_NAME = 'chokaq_schema_history'";
    assert_eq!(s.count(left, &[]).await?, 0);
    let schemas = "SELECT COUNT(*) AS N FROM INFORMATION_SCHEMA.SCHEMATA WHERE SCHEMA_NAME = 'chokaq'";
    assert_eq!(s.count(schemas, &[]).await?, 0);
    Ok(())
}

async fn an_uninstall_leaves_jobs_alone_unless_told_and_then_nothing_behind(db: &Db<'_>) -> Result<()> {
    let _alone = db.deploy_alone().await?;
    let other = db.empty_database().await?;
    deploy::up(&db.url_of(&other)?).await?;
    let mut s = db.connect(&other).await?;
    arrange::archived(&mut s, "q", "done").await?;
    arrange::pending(&mut s, "q", "waits").await?;
    for id in ["dead", "too"] {
        arrange::dead(&mut s, "q", id).await?;
    }
    for (id, told) in
        [("waits", "1 jobs are not done and 2 wait in the DLQ"), ("dead", "0 jobs are not done and 2 wait")]
    {
        let error = uninstall(db, &other, "").await.expect_err("jobs are left");
        assert!(error.message.contains(told), "{error}");
        assert_ne!(arrange::pillar(&mut s, id).await?, "");
        if id == "waits" {
            arrange::take(&mut s, "q", id, true).await?;
            assert_eq!(s.outcome("ArchiveSucceeded", args! { JobId: id }).await?, "archived");
        }
    }
    let told = match db.engine {
        Engine::Postgres => "SET chokaq.uninstall = 'with all jobs'",
        Engine::Mssql => "EXECUTE sp_set_session_context N'chokaq.uninstall', N'with all jobs'",
    };
    uninstall(db, &other, told).await?;
    assert_nothing_is_left(db, &other).await?;

    /* Nothing to remove is no error; what was removed can be deployed again, and what is done holds nobody up. */
    uninstall(db, &other, "").await?;
    deploy::up(&db.url_of(&other)?).await?;
    arrange::archived(&mut db.connect(&other).await?, "q", "done").await?;
    uninstall(db, &other, "").await?;
    assert_nothing_is_left(db, &other).await
}

/// The roles belong to the server, so this needs one of its own.
async fn an_uninstall_takes_the_roles_that_no_other_database_uses(_: &Db<'_>) -> Result<()> {
    let server = postgres::Server::start_another().await?;
    let (first, second) = (server.create_empty_database().await?, server.create_empty_database().await?);
    for database in [&first, &second] {
        deploy::up(&server.url(database)).await?;
    }
    let text = read(Engine::Postgres, "uninstall.sql")?;
    for (database, left) in [(first, 4), (second, 0)] {
        let mut s = server.connect(&database).await?;
        s.batch(&text, "").await?;
        let roles = "SELECT COUNT(*) AS n FROM pg_roles AS r WHERE starts_with(r.rolname, 'chokaq_')";
        assert_eq!(s.count(roles, &[]).await?, left, "{database}");
    }
    Ok(())
}

async fn an_uninstall_drops_the_extension(db: &Db<'_>) -> Result<()> {
    let other = db.empty_database().await?;
    let mut s = db.connect(&other).await?;
    s.batch("CREATE EXTENSION chokaq", "").await?;
    arrange::dead(&mut s, "q", "dead").await?;
    uninstall(db, &other, "").await.expect_err("a job is left");
    uninstall(db, &other, "SET chokaq.uninstall = 'with all jobs'").await?;
    assert_nothing_is_left(db, &other).await
}
