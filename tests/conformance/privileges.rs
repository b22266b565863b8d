//! The rights that `docs/permissions.md` gives to a login that deploys: each is needed, and no more are.

use std::time::Duration;

use anyhow::Context;
use chokaq::{Client, Enqueue, EnqueueOutcome, ErrorKind};
use chokaq_tests::{Db, Engine, Result, Rights, Scenario, scenario};

pub const SCENARIOS: &[Scenario] = &[
    scenario!(a_login_with_the_rights_of_the_page_deploys).only(Engine::Postgres),
    scenario!(each_right_of_the_page_is_needed_to_deploy).only(Engine::Postgres),
    scenario!(a_login_that_is_not_an_administrator_deploys).only(Engine::Mssql).limit(Duration::from_secs(900)),
];

const PAGE: &str = include_str!("../../docs/permissions.md");

/// The page's grants to the one that deploys, for this login and database. The roles are there: the server of the suite
/// has other databases with the kit.
fn grants(login: &str, database: &str) -> Vec<String> {
    let statements = PAGE.lines().filter_map(|line| line.split_once(';')).map(|(statement, _)| statement);
    let of_postgres = statements.filter(|it| it.starts_with("GRANT CREATE ON ") && it.ends_with(" TO shop_deployer"));
    let named = |statement: &str| {
        statement.replace("shop_deployer", login).replace("DATABASE shop", &format!("DATABASE {database}"))
    };
    let grants: Vec<_> = of_postgres.map(named).collect();
    assert_eq!(grants.len(), 2, "{grants:?}");
    grants
}

async fn a_login_with_the_rights_of_the_page_deploys(db: &Db<'_>) -> Result<()> {
    let login = db.login(Rights::Of(&[])).await?;
    let name = db.empty_database().await?;
    let mut admin = db.connect(&name).await?;
    for grant in grants(&login, &name) {
        admin.batch(&grant, "").await?;
    }
    let deployer = Client::connect(&db.url_of_as(&name, &login)?).await?;
    deployer.deploy().up().await?;
    for grant in grants(&login, &name) {
        let revoke = grant.replace("GRANT", "REVOKE").replace(" TO ", " FROM ");
        admin.batch(&revoke, "").await?;
    }
    /* Whoever deployed owns it all, and needs no right besides. */
    assert!(deployer.deploy().up().await?.is_empty());
    assert_eq!(deployer.deploy().verify().await?.drift, []);

    let worker = db.login(Rights::Of(&["chokaq_worker"])).await?;
    let worker = Client::connect(&db.url_of_as(&name, &worker)?).await?;
    assert_eq!(worker.enqueue(&Enqueue::new("q", "t")).await?.outcome, EnqueueOutcome::Enqueued);
    let refused = worker.purge_dlq(&["a1"], "eve", None).await.expect_err("a worker purges nothing");
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{refused}");
    Ok(())
}

async fn each_right_of_the_page_is_needed_to_deploy(db: &Db<'_>) -> Result<()> {
    let login = db.login(Rights::Of(&[])).await?;
    let name = db.empty_database().await?;
    let mut admin = db.connect(&name).await?;
    let deploy = Client::connect(&db.url_of_as(&name, &login)?).await?.deploy();
    for grant in grants(&login, &name) {
        let error = deploy.up().await.expect_err("a right is missing");
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
        let right = grant.trim_start_matches("GRANT ").split(" TO ").next().unwrap_or_default().to_lowercase();
        assert!(error.to_string().to_lowercase().contains(&right), "{right}: {error}");
        admin.batch(&grant, "").await?;
    }
    deploy.up().await?;
    Ok(())
}

/// What the page says for SQL Server, word by word, for this login.
fn page_of_sql_server(login: &str) -> Result<String> {
    let section = PAGE.split("## Deploying to SQL Server").nth(1).context("the section")?;
    let block = section.split("```sql").nth(1).and_then(|rest| rest.split("```").next()).context("its statements")?;
    Ok(block.replace("shop_deployer", login))
}

/// Babelfish has no rights on a database but to own it, and lets nobody but an administrator make roles members of each
/// other: so its login owns the database and finds the roles.
const BY_AN_ADMINISTRATOR_OF_BABELFISH: &str = "CREATE ROLE chokaq_reader;
    CREATE ROLE chokaq_worker;
    CREATE ROLE chokaq_operator;
    CREATE ROLE chokaq_admin;
    ALTER ROLE chokaq_reader ADD MEMBER chokaq_operator;
    ALTER ROLE chokaq_operator ADD MEMBER chokaq_admin;";

async fn a_login_that_is_not_an_administrator_deploys(db: &Db<'_>) -> Result<()> {
    let login = db.login(Rights::Of(&[])).await?;
    let _alone = db.deploy_alone().await?;
    let name = db.empty_database().await?;
    let mut admin = db.connect(&name).await?;
    let is_babelfish = admin.is_babelfish();
    if is_babelfish {
        for statement in BY_AN_ADMINISTRATOR_OF_BABELFISH.lines() {
            admin.batch("", statement).await?;
        }
        admin.batch("", &format!("ALTER AUTHORIZATION ON DATABASE::{name} TO {login}")).await?;
    } else {
        admin.batch("", &page_of_sql_server(&login)?).await?;
    }
    let deployer = Client::connect(&db.url_of_as(&name, &login)?).await?.deploy();
    deployer.up().await?;
    assert!(deployer.up().await?.is_empty());
    if !is_babelfish {
        let refused = deployer.verify().await.expect_err("it does not see the catalog");
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{refused}");
        assert!(refused.message().contains("VIEW DEFINITION"), "{refused}");
        admin.batch("", &format!("GRANT VIEW DEFINITION TO {login}")).await?;
    }
    assert_eq!(deployer.verify().await?.drift, []);
    Ok(())
}
