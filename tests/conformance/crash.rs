//! Servers that stop in the middle of everything. What was acknowledged is there afterwards, once; the driver that was
//! connected goes on by itself. `CHOKAQ_CRASHES` says how often they stop.

use std::time::Duration;

use anyhow::Context;
use chokaq::Client;
use chokaq_tests::server::cluster::{Cluster, DURABLE, Stop};
use chokaq_tests::{Db, Engine, Result, Scenario, scenario};

use crate::load::{Load, WORKERS, sweep_and_finish};

pub const SCENARIOS: &[Scenario] =
    &[scenario!(what_was_acknowledged_survives_a_hard_stop_once).limit(Duration::from_secs(3_600)).on_a_cluster()];

async fn what_was_acknowledged_survives_a_hard_stop_once(db: &Db<'_>) -> Result<()> {
    let asked = std::env::var("CHOKAQ_CRASHES").ok().map(|text| text.parse()).transpose()?;
    let crashes: usize = asked.unwrap_or(if db.engine == Engine::Postgres { 2 } else { 1 });
    let mut cluster = Cluster::start(db.engine, &DURABLE).await?;
    let client = Client::builder().pool_size(WORKERS as u32).timeout(None).connect(&cluster.url()?).await?;
    let load = Load::new(&client, 0);
    for round in 0..crashes {
        let how = if round % 2 == 0 { Stop::Kill } else { Stop::Immediate };
        let workers = load.begin(&round.to_string());
        load.until(&workers, Load::answers, load.answers() + 40 + round * 37 % 200).await;
        cluster.stop(how)?;
        cluster.restart().await?;
        load.end(workers).await?;
        load.check(&mut cluster.connect().await?).await.with_context(|| format!("after stop {round}, {how:?}"))?;
    }
    sweep_and_finish(&client).await?;
    let mut s = cluster.connect().await?;
    load.check(&mut s).await?;
    assert_eq!(s.count("SELECT COUNT(*) AS N FROM chokaq.JobsHot", &[]).await?, 0);
    assert_eq!(load.refusals(), 0);
    if asked.is_some() {
        let (answers, losses) = (load.answers(), load.losses());
        let book = load.book();
        let (enqueued, archived) = (book.enqueued.len(), book.archived.len());
        println!(
            "{}: {crashes} hard stops, {answers} calls acknowledged ({enqueued} enqueued, {archived} archived), \
             {losses} without an answer",
            db.engine
        );
    }
    Ok(())
}
