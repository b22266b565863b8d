//! `migrate up`: once, twice, and two at the same time.

use std::time::Duration;

use chokaq::Client;
use chokaq_tests::{Db, Result, Scenario, args, scenario};

/* They wait for each other on a server that deploys slowly. */
const LIMIT: Duration = Duration::from_secs(600);

pub const SCENARIOS: &[Scenario] = &[
    scenario!(a_second_deployment_does_nothing).limit(LIMIT),
    scenario!(two_deployments_at_once_leave_one_correct_database).limit(LIMIT),
    scenario!(a_plan_changes_nothing).limit(LIMIT),
    scenario!(a_changed_migration_is_refused).limit(LIMIT),
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
    assert!(error.to_string().contains('2'), "{error}");
    Ok(())
}
