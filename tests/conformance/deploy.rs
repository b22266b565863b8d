//! `migrate up`: once, twice, and two at the same time.

use std::time::Duration;

use chokaq::{Client, ErrorKind};
use chokaq_tests::{Db, Engine, Result, Scenario, args, scenario, values};

/* They wait for each other on a server that deploys slowly. */
const LIMIT: Duration = Duration::from_secs(600);

pub const SCENARIOS: &[Scenario] = &[
    scenario!(a_second_deployment_does_nothing).limit(LIMIT),
    scenario!(two_deployments_at_once_leave_one_correct_database).limit(LIMIT),
    scenario!(a_plan_changes_nothing).limit(LIMIT),
    scenario!(a_changed_migration_is_refused).limit(LIMIT),
    scenario!(a_migration_that_fails_late_stops_the_deployment).limit(LIMIT),
];

async fn a_second_deployment_does_nothing(db: &Db<'_>) -> Result<()> {
    let _alone = db.deploy_alone().await?;
    let name = db.empty_database().await?;
    let client = Client::connect(&db.url_of(&name)?).await?;
    let applied = client.deploy().up().await?;
    assert!(applied.len() > 30, "{applied:?}");
    assert!(client.deploy().up().await?.is_empty());
    assert!(client.deploy().plan().await?.is_empty());
    Ok(())
}

async fn two_deployments_at_once_leave_one_correct_database(db: &Db<'_>) -> Result<()> {
    let _alone = db.deploy_alone().await?;
    let name = db.empty_database().await?;
    let url = db.url_of(&name)?;
    let (a, b) = (Client::connect(&url).await?, Client::connect(&url).await?);
    let (a, b) = (a.deploy(), b.deploy());
    let (a, b) = tokio::try_join!(a.up(), b.up())?;
    assert!(a.is_empty() != b.is_empty(), "one deploys, the other finds nothing to do: {} and {}", a.len(), b.len());
    let mut s = db.connect(&name).await?;
    let rows = s.count("SELECT COUNT(*) AS N FROM chokaq_schema_history", &[]).await?;
    assert_eq!(rows, (a.len() + b.len()) as i64);
    assert_eq!(s.outcome("Enqueue", args! { Queue: "q", Type: "t" }).await?, "enqueued");
    Ok(())
}

async fn a_plan_changes_nothing(db: &Db<'_>) -> Result<()> {
    let _alone = db.deploy_alone().await?;
    let name = db.empty_database().await?;
    let client = Client::connect(&db.url_of(&name)?).await?;
    let first = client.deploy().plan().await?.len();
    assert!(first > 30);
    assert_eq!(client.deploy().plan().await?.len(), first);
    assert_eq!(client.deploy().up().await?.len(), first);
    Ok(())
}

/// Case 16, as a database sees it.
async fn a_changed_migration_is_refused(db: &Db<'_>) -> Result<()> {
    let _alone = db.deploy_alone().await?;
    let name = db.empty_database().await?;
    let client = Client::connect(&db.url_of(&name)?).await?;
    client.deploy().up().await?;
    let mut s = db.connect(&name).await?;
    s.batch(
        "UPDATE chokaq_schema_history SET checksum = '1' WHERE version = 2",
        "UPDATE chokaq_schema_history SET checksum = '1' WHERE version = 2",
    )
    .await?;
    let error = client.deploy().up().await.expect_err("the second migration is another one");
    assert_eq!(error.kind(), ErrorKind::Deployment);
    assert!(error.message().contains("V0002"), "{error}");
    Ok(())
}

/// Its error comes behind rows and behind its work: whoever reads only the beginning of the answer takes it for done.
async fn a_migration_that_fails_late_stops_the_deployment(db: &Db<'_>) -> Result<()> {
    let _alone = db.deploy_alone().await?;
    let name = db.empty_database().await?;
    let late = match db.engine {
        Engine::Postgres => {
            "CREATE TABLE public.late (n integer); SELECT 1 AS n;
            DO $$ BEGIN RAISE EXCEPTION 'too late' USING ERRCODE = 'QC001'; END $$;"
        }
        Engine::Mssql => "CREATE TABLE dbo.late (N int); SELECT 1 AS N; THROW 59001, N'too late', 1;",
    };
    let migrations = [("V1__fine", "SELECT 1 AS n;"), ("V2__late", late), ("V3__never", "SELECT 1 AS n;")];
    let deploy = Client::connect(&db.url_of(&name)?).await?.deploy().with_migrations(&migrations)?;
    let mut s = db.connect(&name).await?;
    /* The second run meets the same error: nothing of the first was taken for done. */
    for run in 1..=2 {
        let error = deploy.up().await.expect_err("the second migration fails");
        assert_eq!(error.kind(), ErrorKind::Deployment, "run {run}");
        assert!(error.message().contains("too late"), "run {run}: {error}");
        let applied = "SELECT COUNT(*) AS N FROM chokaq_schema_history WHERE version = @P1";
        for (version, count) in [(1, 1), (2, 0), (3, 0)] {
            assert_eq!(s.count(applied, &values![version]).await?, count, "run {run}, version {version}");
        }
        let tables = "SELECT COUNT(*) AS N FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = 'late'";
        assert_eq!(s.count(tables, &[]).await?, 0, "run {run}");
    }
    let pending: Vec<i32> = deploy.plan().await?.iter().map(|migration| migration.version).collect();
    assert_eq!(pending, [2, 3]);
    Ok(())
}
