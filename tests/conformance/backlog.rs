//! The cost of a fetch depends on its batch, not on what else there is: counted in pages, which no busy machine changes.

use anyhow::Context;
use chokaq_tests::{Db, Engine, Result, Scenario, Session, args, scenario};

use crate::arrange;

pub const SCENARIOS: &[Scenario] =
    &[scenario!(a_fetch_reads_no_more_pages_in_front_of_a_backlog).only(Engine::Postgres)];

/// A queue of each kind of job that a fetch passes over, and one of those that it takes.
const QUEUES: [&str; 4] = ["due", "full", "later", "paused"];

const FEW: usize = 100;
const MANY: usize = 50_000;

async fn a_fetch_reads_no_more_pages_in_front_of_a_backlog(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for queue in QUEUES {
        add(&mut s, queue, FEW).await?;
    }
    arrange::set_queue(&mut s, "paused", "IsPaused", true).await?;
    arrange::set_queue(&mut s, "full", "MaxWorkers", 1).await?;
    arrange::fetch(&mut s, args! { WorkerId: "w2", BatchSize: 1, Queues: ["full"] }).await?;
    let few = pages(&mut s).await?;
    for queue in QUEUES {
        add(&mut s, queue, MANY).await?;
        let many = pages(&mut s).await?;
        /* Indexes grow by a level. */
        assert!(many <= 2 * few, "{queue}: {many} pages, and {few} with {FEW} jobs");
    }
    Ok(())
}

/// Jobs that would come before those of queue `due`, were they taken.
async fn add(s: &mut Session, queue: &str, count: usize) -> Result<()> {
    let priority = if queue == "due" { 10 } else { 1000 };
    let delay = if queue == "later" { 86_400 } else { 0 };
    let job = serde_json::json!({"queue": queue, "type": "t", "priority": priority, "delaySeconds": delay});
    let mut left = count;
    while left > 0 {
        let jobs = vec![&job; left.min(10_000)];
        left -= jobs.len();
        s.call("EnqueueMany", args! { Jobs: serde_json::json!(jobs) }).await?;
    }
    Ok(())
}

/// The pages that one fetch of ten touches, which is undone. The best of three: the first ones look up the catalogs.
async fn pages(s: &mut Session) -> Result<i64> {
    let mut best = i64::MAX;
    for _ in 0..3 {
        s.begin().await?;
        let sql = "EXPLAIN (ANALYZE, BUFFERS) SELECT * FROM chokaq.fetch_next_batch('w1')";
        let plan = s.sql(sql, &[]).await?;
        s.rollback().await?;
        let plan = plan.texts(&plan.columns[0]).join("\n");
        assert!(plan.contains("rows=10 "), "{plan}");
        let counts = plan.split_once("Buffers: shared ").context("a line of buffers")?.1;
        let counts = counts.lines().next().unwrap_or_default().split(' ').filter_map(|count| count.split_once('='));
        let touched = counts.filter(|(what, _)| ["hit", "read"].contains(what)).map(|(_, count)| count.parse::<i64>());
        best = best.min(touched.sum::<Result<_, _>>()?);
    }
    Ok(best)
}
