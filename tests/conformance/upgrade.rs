//! A database of an older release, with jobs in every state and something in every table, is brought to this one, and
//! from there to one that is still to come.

use std::time::Duration;

use chokaq::Client;
use chokaq_tests::migrations::{self, Migration};
use chokaq_tests::releases::{FROZEN, releases};
use chokaq_tests::{Db, Engine, Result, Scenario, Session, args, recount, scenario};

use crate::deployed::{is_whole, objects};
use crate::{arrange, contents};

pub const SCENARIOS: &[Scenario] = &[
    scenario!(every_older_database_is_upgraded_around_its_jobs).limit(Duration::from_secs(1200)),
    scenario!(a_later_migration_changes_a_table_and_a_procedure_around_jobs_and_grants).limit(Duration::from_secs(600)),
];

/// The newest migration of what stands for a release before the first: the life of a job, without the operator's desk
/// and the roles.
pub const OLDEST: i32 = 228;

/// The migrations up to that number.
pub fn older(engine: Engine, newest: i32) -> Result<Vec<Migration>> {
    Ok(migrations::all(engine)?.into_iter().filter(|migration| migration.number <= newest).collect())
}

async fn deploy(db: &Db<'_>, database: &str, migrations: &[Migration]) -> Result<()> {
    let deploy = Client::connect(&db.url_of(database)?).await?.deploy();
    deploy.with_migrations(&migrations::pairs(migrations))?.up().await?;
    Ok(())
}

/// Each job goes on from where it was, by the calls that it came there by.
async fn goes_on(s: &mut Session) -> Result<()> {
    assert_eq!(s.outcome("KeepAlive", args! { JobIds: ["runs"], WorkerId: "w1" }).await?, "alive");
    let args = args! { JobId: "runs", WorkerId: "w1", Attempt: 1 };
    assert_eq!(s.outcome("ArchiveSucceeded", args).await?, "archived");
    assert_eq!(arrange::fetch(s, args! { WorkerId: "w2" }).await?, ["waits", "last"]);
    assert_eq!(s.outcome("Resurrect", args! { JobId: "dead", ResurrectedBy: "ann" }).await?, "resurrected");
    assert_eq!(arrange::pillar(s, "done").await?, "Archive");
    recount::check(s, 0).await
}

async fn every_older_database_is_upgraded_around_its_jobs(db: &Db<'_>) -> Result<()> {
    let _alone = db.deploy_alone().await?;
    let released = releases(FROZEN).into_iter().map(|release| release.newest);
    for newest in [OLDEST].into_iter().chain(released) {
        let database = db.empty_database().await?;
        deploy(db, &database, &older(db.engine, newest)?).await?;
        let mut s = db.connect(&database).await?;
        contents::furnish(&mut s).await?;
        let before = contents::take(&mut s).await?;

        is_upgraded(db, &database).await?;
        assert_eq!(contents::again(&mut s, &before).await?, before, "since V{newest:04}");
        goes_on(&mut s).await?;
    }
    Ok(())
}

async fn is_upgraded(db: &Db<'_>, database: &str) -> Result<()> {
    Client::connect(&db.url_of(database)?).await?.deploy().up().await?;
    is_whole(db, database).await
}

/// What the next release may bring: a column, and another text of a procedure.
fn to_come(engine: Engine, kit_version: &str) -> Result<Vec<Migration>> {
    let (table, name) = match engine {
        Engine::Postgres => ("ALTER TABLE chokaq.jobs_hot ADD COLUMN note text NULL;", "get_version"),
        Engine::Mssql => ("ALTER TABLE chokaq.JobsHot ADD Note NVARCHAR(100) NULL;", "usp_GetVersion"),
    };
    let mut all = migrations::all(engine)?;
    let own = all.iter().rfind(|it| it.name.ends_with(&format!("__{name}"))).map(|it| it.sql.clone());
    let changed = own.unwrap_or_default().replace(&format!("'{kit_version}'"), "'next'");
    all.push(Migration { number: 9001, name: "V9001__note".to_owned(), sql: table.to_owned() });
    all.push(Migration { number: 9002, name: format!("V9002__{name}"), sql: changed });
    Ok(all)
}

async fn a_later_migration_changes_a_table_and_a_procedure_around_jobs_and_grants(db: &Db<'_>) -> Result<()> {
    let _alone = db.deploy_alone().await?;
    let database = db.empty_database().await?;
    deploy(db, &database, &migrations::all(db.engine)?).await?;
    let mut s = db.connect(&database).await?;
    contents::furnish(&mut s).await?;
    let (before, granted) = (contents::take(&mut s).await?, grants(&mut s).await?);
    assert!(!granted.is_empty());
    let texts = objects(&mut s).await?;

    let kit_version = s.call_one("GetVersion", args! {}).await?.text("KitVersion");
    deploy(db, &database, &to_come(db.engine, &kit_version)?).await?;
    assert_eq!(contents::again(&mut s, &before).await?, before);
    assert_eq!(grants(&mut s).await?, granted);
    let mut s = db.connect(&database).await?;
    assert_eq!(s.call_one("GetVersion", args! {}).await?["KitVersion"], "next");
    /* The table and the procedure, and nothing else. */
    assert_eq!(
        objects(&mut s).await?.symmetric_difference(&texts).count(),
        if db.engine == Engine::Mssql { 3 } else { 4 }
    );
    goes_on(&mut s).await
}

/// Who may call the procedure that changes.
async fn grants(s: &mut Session) -> Result<Vec<String>> {
    let sql = match s.engine() {
        Engine::Postgres => {
            "SELECT a.grantee::regrole::text AS name FROM pg_proc AS p CROSS JOIN aclexplode(p.proacl) AS a
            WHERE p.oid = 'chokaq.get_version()'::regprocedure ORDER BY 1"
        }
        /* sys.database_permissions is empty there. */
        Engine::Mssql if s.is_babelfish() => {
            "SELECT r.rolname AS Name FROM pg_catalog.pg_roles AS r
            CROSS JOIN pg_catalog.pg_proc AS p
            WHERE p.oid = OBJECT_ID(N'chokaq.usp_GetVersion') AND r.rolname LIKE DB_NAME() + N'[_]chokaq[_]%'
            AND CAST(pg_catalog.has_function_privilege(r.oid, p.oid, 'EXECUTE') AS INT) = 1
            ORDER BY r.rolname"
        }
        Engine::Mssql => {
            "SELECT USER_NAME(p.grantee_principal_id) AS Name FROM sys.database_permissions AS p
            WHERE p.major_id = OBJECT_ID(N'chokaq.usp_GetVersion') ORDER BY 1"
        }
    };
    let rows = match s {
        Session::Postgres(session) => session.query(sql, &[]).await?,
        Session::Mssql(session) => session.query(sql, &[]).await?,
    };
    Ok(rows.texts("Name"))
}
