//! A disk that is full under load: calls are refused, then the server falls; with room again all goes on.

use std::time::Duration;

use anyhow::{bail, ensure};
use chokaq::Client;
use chokaq_tests::server::cluster::{Cluster, DURABLE};
use chokaq_tests::session::postgres::Session;
use chokaq_tests::{Db, Result, Scenario, scenario};

use crate::load::{Load, WORKERS, sweep_and_finish};

pub const SCENARIOS: &[Scenario] =
    &[scenario!(a_full_disk_loses_nothing_that_was_acknowledged).limit(Duration::from_secs(300)).on_a_small_disk()];

async fn a_full_disk_loses_nothing_that_was_acknowledged(db: &Db<'_>) -> Result<()> {
    let settings = [&DURABLE[..], &["min_wal_size=128MB", "max_wal_size=160MB"]].concat();
    let mut cluster = Cluster::start_on_a_small_disk(db.engine, &settings, 512).await?;
    let client = Client::builder().pool_size(WORKERS as u32).timeout(None).connect(&cluster.url()?).await?;
    let load = Load::new(&client, 100_000);
    let workers = load.begin("full");
    load.until(&workers, Load::answers, 60).await;
    /* Whoever connects anew may have to write: this one is there before. */
    let admin = cluster.admin().await?;
    /* The files of the log that come next are there before too, or the server falls at once. */
    for _ in 0..6 {
        admin.batch(NEXT_FILE).await?;
    }
    admin.batch("CHECKPOINT").await?;
    cluster.fill()?;
    load.until(&workers, |load| load.refusals() + load.losses(), 20).await;
    ensure!(load.losses() == 0, "the server fell before it refused");
    assert!(!client.get_queue_stats(Some("q")).await?.is_empty(), "who reads needs no room");
    /* Now a file of the log that is not there, without which no server goes on. */
    fall(&admin).await?;
    cluster.free().await?;
    load.until(&workers, Load::answers, load.answers() + 60).await;
    load.end(workers).await?;

    let mut s = cluster.connect().await?;
    load.check(&mut s).await?;
    sweep_and_finish(&client).await?;
    load.check(&mut s).await?;
    assert_eq!(s.count("SELECT COUNT(*) AS N FROM chokaq.JobsHot", &[]).await?, 0);
    Ok(())
}

/// Goes on to the next file of the log.
const NEXT_FILE: &str = "SELECT pg_logical_emit_message(false, '', ''), pg_switch_wal()";

/// The server takes all of its connections along; what a worker then hears depends on whether its call may be repeated.
async fn fall(admin: &Session) -> Result<()> {
    for _ in 0..100 {
        if admin.batch(NEXT_FILE).await.is_err() && admin.batch("").await.is_err() {
            return Ok(());
        }
    }
    bail!("the server writes on with no room")
}
