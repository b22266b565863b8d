//! No free connection: none that the server would give, none in the pool.

use std::time::Duration;

use anyhow::Context;
use chokaq::{ArchiveSucceeded, Client, ErrorKind};
use chokaq_tests::proxy::Proxy;
use chokaq_tests::server::cluster::Cluster;
use chokaq_tests::session::postgres;
use chokaq_tests::{Db, Engine, Result, Scenario, scenario, until};

use crate::arrange;
use crate::program::run;

pub const SCENARIOS: &[Scenario] = &[
    scenario!(a_server_without_a_free_connection_is_told_and_waited_for).limit(Duration::from_secs(300)).on_a_cluster(),
    scenario!(a_pool_without_a_free_connection_is_told),
];

/// How long a call waits that waits in vain: a loaded server may be slow to refuse.
const IN_VAIN: Duration = Duration::from_secs(5);

/// As few as a deployment needs.
const CONNECTIONS: usize = 6;

/// Takes what there is.
async fn hold_all(cluster: &Cluster, holders: &mut Vec<postgres::Session>) -> Result<()> {
    while holders.len() < CONNECTIONS {
        /* One that ended still counts for a moment. */
        holders.push(until("a connection is free", async || Ok(cluster.admin().await.ok())).await?);
    }
    Ok(())
}

async fn a_server_without_a_free_connection_is_told_and_waited_for(db: &Db<'_>) -> Result<()> {
    let limit = format!("max_connections={CONNECTIONS}");
    let cluster = Cluster::start(db.engine, &[&limit, "superuser_reserved_connections=0"]).await?;
    let proxy = Proxy::start(db.engine, &cluster.url()?).await?;
    let hasty = Client::builder().pool_size(2).connect_timeout(IN_VAIN).connect(proxy.url()).await?;
    let patient = Client::builder().pool_size(2).connect_timeout(Duration::from_secs(60)).connect(proxy.url()).await?;

    let mut holders = vec![cluster.admin().await?];
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE backend_type = 'client backend' AND datname <> 'postgres'";
    holders[0].batch(end).await?;
    hold_all(&cluster, &mut holders).await?;

    let told = |error: &chokaq::Error| {
        assert_eq!(error.kind(), ErrorKind::Connection, "{error:?}");
        assert!(error.message().contains("too many clients"), "{error:?}");
        if db.engine == Engine::Postgres {
            assert_eq!(error.code(), Some("53300"), "{error:?}");
        }
    };
    told(&Client::connect(&cluster.url()?).await.expect_err("no more than these"));
    /* Over TDS a client learns only by its next request that its connection was ended: one that may be sent again. */
    let error = hasty.get_version().await.expect_err("its connection was ended");
    told(&error);
    assert!(error.message().starts_with("no connection within 5s: "), "{error}");
    /* Its pool goes on trying for a while, and could take the slot that is given back. */
    drop(hasty);
    let refused = run(Some(&cluster.url()?), &["stats"]).await?;
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("hint: the server takes no more connections"), "{}", refused.stderr);

    let tries = proxy.connections() + 2;
    let free = async {
        proxy.connected(tries).await;
        drop(holders.pop());
    };
    let (answer, ()) = tokio::join!(patient.get_version(), free);
    answer.context("there is one again")?;
    Ok(())
}

async fn a_pool_without_a_free_connection_is_told(db: &Db<'_>) -> Result<()> {
    let [mut s, mut holder] = db.sessions().await?;
    arrange::processing(&mut s, "q", "a1").await?;
    holder.begin().await?;
    holder.sql("UPDATE chokaq.JobsHot SET Tags = 'held' WHERE Id = 'a1'", &[]).await?;
    let url = format!("{}&application_name=held%20{}", db.url()?, db.name);
    let client = Client::builder().pool_size(1).connect_timeout(IN_VAIN).timeout(None);
    let client = client.connect(&url).await?;
    let done = ArchiveSucceeded { job_id: "a1", ..ArchiveSucceeded::default() };
    let others = async {
        let session = arrange::session_of(&mut s, &format!("held {}", db.name)).await?;
        db.until_blocked(session).await?;
        let refused = client.get_version().await;
        holder.rollback().await?;
        Ok(refused)
    };
    let (held, refused) = tokio::join!(client.archive_succeeded(&done), others);
    held?;
    let error = refused.map_err(|error: anyhow::Error| error)?.expect_err("the one connection was in use");
    assert_eq!(error.kind(), ErrorKind::Connection, "{error:?}");
    assert_eq!(error.message(), "no connection within 5s: all 1 of the pool are in use");
    client.get_version().await?;
    Ok(())
}
