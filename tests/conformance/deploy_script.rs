//! `migrate script`: what it prints is run as a DBA runs it, by psql, or batch by batch over TDS.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::ensure;
use chokaq::{Dialect, migration_script};
use chokaq_tests::programs::psql;
use chokaq_tests::{Db, Engine, Result, Scenario, Session, install, scenario};

use crate::deployed::{self, is_whole};
use crate::program::run;

/* As a deployment: they wait for each other on a server that deploys slowly. */
const LIMIT: Duration = Duration::from_secs(600);

pub const SCENARIOS: &[Scenario] = &[
    scenario!(the_script_deploys_what_a_deployment_does).limit(LIMIT),
    scenario!(a_script_goes_on_where_another_ended).limit(LIMIT),
    scenario!(a_script_that_meets_an_error_does_nothing_more_until_it_is_run_again).limit(LIMIT),
    scenario!(a_script_refuses_a_database_that_it_does_not_fit).limit(LIMIT),
    scenario!(a_script_waits_for_another_deployment).only(Engine::Postgres),
];

fn dialect(engine: Engine) -> Dialect {
    match engine {
        Engine::Postgres => Dialect::Postgres,
        Engine::Mssql => Dialect::Mssql,
    }
}

/// One run of a script by a client; the errors it met, in order.
async fn execute(db: &Db<'_>, database: &str, script: &str) -> Result<Vec<String>> {
    match db.engine {
        Engine::Postgres => {
            let output = psql(&db.url_of(database)?, script).await?;
            let stderr = String::from_utf8(output.stderr)?;
            let errors: Vec<String> = stderr.lines().filter(|line| line.contains("ERROR")).map(str::to_owned).collect();
            ensure!(output.status.success() == errors.is_empty(), "{}: {stderr}", output.status);
            Ok(errors)
        }
        Engine::Mssql => {
            let mut session = db.connect(database).await?;
            let mut errors = Vec::new();
            /* As sqlcmd sends it, unless told otherwise. */
            session.batch("", "SET QUOTED_IDENTIFIER OFF; SET ANSI_NULLS OFF;").await?;
            /* sqlcmd without -b, and SSMS: they go on after an error. */
            for batch in batches(&session, script) {
                if let Err(error) = session.batch("", &batch).await {
                    errors.push(error.message);
                }
            }
            Ok(errors)
        }
    }
}

/// What lies between the lines GO.
fn batches(session: &Session, script: &str) -> Vec<String> {
    let lines: Vec<&str> = script.split_inclusive('\n').collect();
    let batches = lines.split(|line| line.trim() == "GO").map(|batch| batch.concat());
    let batches = batches.filter(|batch| !batch.trim().is_empty());
    if !session.is_babelfish() {
        return batches.collect();
    }
    let mut created = BTreeSet::new();
    batches.flat_map(|batch| for_babelfish(&batch, &mut created)).collect()
}

/// Babelfish does not know CREATE OR ALTER: the deployer sends it CREATE, or ALTER, or DROP and CREATE, and so does this.
fn for_babelfish(batch: &str, created: &mut BTreeSet<String>) -> Vec<String> {
    const WORDS: &str = "\nCREATE OR ALTER ";
    let Some((_, statement)) = batch.split_once(WORDS) else {
        return vec![batch.to_owned()];
    };
    let mut words = statement.split([' ', '\n', '(']);
    let (kind, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    match (created.insert(name.to_owned()), kind) {
        (true, _) => vec![batch.replace(WORDS, "\nCREATE ")],
        (false, "PROCEDURE") => vec![batch.replace(WORDS, "\nALTER ")],
        (false, _) => vec![format!("DROP {kind} {name};"), batch.replace(WORDS, "\nCREATE ")],
    }
}

/// The acceptance of `migrate script`: an empty database, the script, and nothing left to do.
async fn the_script_deploys_what_a_deployment_does(db: &Db<'_>) -> Result<()> {
    let _alone = db.deploy_alone().await?;
    let database = db.empty_database().await?;
    let printed = run(None, &["migrate", "script", "--dialect", &dialect(db.engine).to_string()]).await?;
    ensure!(printed.code == Some(0), "{}", printed.stderr);
    let script = install::script(db.engine)?.unwrap_or(printed.lines.join("\n") + "\n");
    assert_eq!(execute(db, &database, &script).await?, [] as [&str; 0]);
    is_whole(db, &database).await?;
    /* Again: no error, no change. */
    let before = history(db, &database).await?;
    assert_eq!(execute(db, &database, &script).await?, [] as [&str; 0]);
    assert_eq!(history(db, &database).await?, before);
    let url = db.url_of(&database)?;
    for command in ["status", "verify"] {
        let said = run(Some(&url), &["migrate", command]).await?;
        assert_eq!(said.code, Some(0), "{command}: {:?} {}", said.lines, said.stderr);
    }
    let up = run(Some(&url), &["migrate", "up"]).await?;
    assert!(up.code == Some(0) && up.stderr.contains("up to date"), "{}", up.stderr);
    Ok(())
}

/// The time of each migration in the history.
async fn history(db: &Db<'_>, database: &str) -> Result<Vec<String>> {
    let sql = "SELECT applied_on AS AppliedOn FROM chokaq_schema_history ORDER BY version";
    Ok(db.connect(database).await?.sql(sql, &[]).await?.texts("AppliedOn"))
}

async fn a_script_goes_on_where_another_ended(db: &Db<'_>) -> Result<()> {
    let _alone = db.deploy_alone().await?;
    let database = db.empty_database().await?;
    let first = migration_script(dialect(db.engine), ..201)?;
    let second = migration_script(dialect(db.engine), 201..)?;
    let errors = execute(db, &database, &second).await?;
    assert!(errors[0].contains("begins later") && errors[0].contains("V0001__schema"), "{errors:?}");
    assert_eq!(tables(db, &database).await?, 0);
    assert_eq!(execute(db, &database, &first).await?, [] as [&str; 0]);
    let applied = history(db, &database).await?;
    assert_eq!(execute(db, &database, &second).await?, [] as [&str; 0]);
    assert_eq!(history(db, &database).await?[..applied.len()], applied);
    is_whole(db, &database).await
}

/// The tables of the kit that are there, its history among them.
async fn tables(db: &Db<'_>, database: &str) -> Result<i64> {
    let sql = "SELECT COUNT(*) AS N FROM INFORMATION_SCHEMA.TABLES
        WHERE TABLE_SCHEMA = 'chokaq' OR TABLE_NAME = 'chokaq_schema_history'";
    Ok(db.connect(database).await?.count(sql, &[]).await?)
}

/// Over TDS the client goes on behind the error, as SSMS does.
async fn a_script_that_meets_an_error_does_nothing_more_until_it_is_run_again(db: &Db<'_>) -> Result<()> {
    let _alone = db.deploy_alone().await?;
    let database = db.empty_database().await?;
    assert_eq!(execute(db, &database, &migration_script(dialect(db.engine), ..=4)?).await?, [] as [&str; 0]);
    let mut s = db.connect(&database).await?;
    let before = deployed::objects(&mut s).await?;
    let script = migration_script(dialect(db.engine), ..)?;
    let (from, to) = match db.engine {
        Engine::Postgres => ("FUNCTION chokaq.utf16_length", "FUNCTION nowhere.utf16_length"),
        Engine::Mssql => ("FUNCTION chokaq.fn_Utf16Length", "FUNCTION nowhere.fn_Utf16Length"),
    };
    let broken = script.replacen(from, to, 1);
    for run in 1..=2 {
        let errors = execute(db, &database, &broken).await?;
        /* The cause, and at the very end, where the client got there, that it is not done. */
        let told = if db.engine == Engine::Mssql { 2 } else { 1 };
        assert_eq!(errors.len(), told, "run {run}: {errors:?}");
        assert!(errors[0].contains("nowhere"), "run {run}: {errors:?}");
        assert_eq!(history(db, &database).await?.len(), 4, "run {run}");
        assert_eq!(deployed::objects(&mut s).await?, before, "run {run}");
    }
    assert_eq!(execute(db, &database, &script).await?, [] as [&str; 0]);
    is_whole(db, &database).await
}

async fn a_script_refuses_a_database_that_it_does_not_fit(db: &Db<'_>) -> Result<()> {
    let _alone = db.deploy_alone().await?;
    let script = migration_script(dialect(db.engine), ..)?;
    let system = if db.engine == Engine::Mssql { "master" } else { "postgres" };
    let errors = execute(db, system, &script).await?;
    assert!(errors[0].contains("system database"), "{errors:?}");
    assert_eq!(tables(db, system).await?, 0);

    let mut s = db.connect(&db.name).await?;
    let before = (deployed::objects(&mut s).await?, history(db, &db.name).await?);
    for (spoil, mend, told) in [
        ("version = 9999 WHERE version = 250", "version = 250 WHERE version = 9999", "newer version"),
        ("name = 'x' WHERE version = 250", "name = 'permissions' WHERE version = 250", "another text"),
        ("version = -2 WHERE version = 2", "version = 2 WHERE version = -2", "newer version"),
    ] {
        let [spoil, mend] = [spoil, mend].map(|change| format!("UPDATE chokaq_schema_history SET {change}"));
        s.batch(&spoil, &spoil).await?;
        let errors = execute(db, &db.name, &script).await?;
        assert!(errors[0].contains(told), "{spoil}: {errors:?}");
        s.batch(&mend, &mend).await?;
        assert_eq!((deployed::objects(&mut s).await?, history(db, &db.name).await?), before, "{spoil}");
    }
    let row = s.sql("SELECT name AS Name, checksum AS Checksum FROM chokaq_schema_history WHERE version = 249", &[]);
    let row = row.await?.one();
    let gone = "DELETE FROM chokaq_schema_history WHERE version = 249";
    s.batch(gone, gone).await?;
    let errors = execute(db, &db.name, &script).await?;
    assert!(errors[0].contains("was never given V0249__"), "{errors:?}");
    let (name, checksum) = (row.text("Name"), row.text("Checksum"));
    let back = format!(
        "INSERT INTO chokaq_schema_history (version, name, applied_on, checksum)
        VALUES (249, '{name}', '{}', '{checksum}')",
        before.1[before.1.len() - 2]
    );
    s.batch(&back, &back).await?;
    assert_eq!((deployed::objects(&mut s).await?, history(db, &db.name).await?), before);
    Ok(())
}

async fn a_script_waits_for_another_deployment(db: &Db<'_>) -> Result<()> {
    let database = db.empty_database().await?;
    let mut other = db.connect(&database).await?;
    /* The lock of `migrate up`: the letters of the kit's name. */
    other.batch("SELECT pg_advisory_lock(x'63686f6b6171'::bigint)", "").await?;
    let script = migration_script(Dialect::Postgres, ..)?;
    let mut observer = db.connect(&database).await?;
    let waiting = async {
        let sql = "SELECT COUNT(*) AS N FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
        while observer.count(sql, &[]).await? == 0 {}
        assert_eq!(tables(db, &database).await?, 0);
        Ok(other.batch("SELECT pg_advisory_unlock_all()", "").await?)
    };
    let (errors, ()) = tokio::try_join!(execute(db, &database, &script), waiting)?;
    assert_eq!(errors, [] as [&str; 0]);
    is_whole(db, &database).await
}
