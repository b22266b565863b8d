//! The files of `sql/`, which a DBA runs with no other program.

use std::path::Path;

use chokaq_tests::{Db, Engine, Result, Scenario, Session, deploy, scenarios};

use crate::arrange;

pub const SCENARIOS: &[Scenario] =
    scenarios![the_walkthrough_tells_its_story_to_the_end, an_uninstall_leaves_nothing_behind];

/// A file of the engine's folder.
pub fn read(engine: Engine, name: &str) -> Result<String> {
    let dialect = match engine {
        Engine::Postgres => "postgres",
        Engine::Mssql => "mssql",
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql").join(dialect).join(name);
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

async fn an_uninstall_leaves_nothing_behind(db: &Db<'_>) -> Result<()> {
    let other = db.empty_database().await?;
    deploy::up(&db.url_of(&other)?).await?;
    let mut s = db.connect(&other).await?;
    run_file(&mut s, "uninstall.sql").await?;
    let left = "SELECT COUNT(*) AS N FROM INFORMATION_SCHEMA.TABLES
        WHERE TABLE_SCHEMA = 'chokaq' OR TABLE_NAME = 'chokaq_schema_history'";
    assert_eq!(s.count(left, &[]).await?, 0);
    let schemas = "SELECT COUNT(*) AS N FROM INFORMATION_SCHEMA.SCHEMATA WHERE SCHEMA_NAME = 'chokaq'";
    assert_eq!(s.count(schemas, &[]).await?, 0);
    /* Nothing to remove is no error, and what was removed can be deployed again. */
    run_file(&mut s, "uninstall.sql").await?;
    deploy::up(&db.url_of(&other)?).await
}
