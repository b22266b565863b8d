//! A deployment that loses its connection at any request, before that arrives or after: the next run goes on with it.

use std::time::Duration;

use anyhow::ensure;
use chokaq::{Client, ErrorKind};
use chokaq_tests::proxy::{Cut, Proxy};
use chokaq_tests::{Db, Engine, Result, Scenario, scenario};

use crate::deployed::is_whole;

pub const SCENARIOS: &[Scenario] =
    &[scenario!(a_deployment_cut_at_any_message_ends_in_a_whole_database).limit(Duration::from_secs(900))];

async fn a_deployment_cut_at_any_message_ends_in_a_whole_database(db: &Db<'_>) -> Result<()> {
    let _alone = db.deploy_alone().await?;
    let database = db.empty_database().await?;
    let proxy = Proxy::start(db.engine, &db.url_of(&database)?).await?;
    let deploy = Client::connect(proxy.url()).await?.deploy();
    let mut observer = db.connect(&database).await?;
    /* Every request of the login, the lock and the first migrations, and then of one further on in each run. A server
    that deploys slowly is cut at some only. */
    let stride = if db.engine == Engine::Postgres { 1 } else { 41 };
    let (mut runs, mut applied, mut at) = (0, 0, 1);
    'whole: loop {
        for cut in [Cut::Before(at), Cut::After(at)] {
            proxy.cut(cut);
            match deploy.up().await {
                Ok(_) => break 'whole,
                Err(error) => assert_eq!(error.kind(), ErrorKind::Connection, "{cut:?}: {error}"),
            }
            runs += 1;
        }
        let tables = "SELECT COUNT(*) AS N FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = 'chokaq_schema_history'";
        let has_history = observer.count(tables, &[]).await? > 0;
        let now = match has_history {
            true => observer.count("SELECT COUNT(*) AS N FROM chokaq_schema_history", &[]).await?,
            false => 0,
        };
        ensure!(now >= applied, "{applied} migrations were there, then {now}");
        applied = now;
        at += stride;
    }
    /* Each of the four messages of a migration was the last at least twice. */
    let least = if stride == 1 { 50 } else { 4 };
    assert!(runs >= least, "{runs} runs were cut, {least} at least were expected");
    is_whole(db, &database).await
}
