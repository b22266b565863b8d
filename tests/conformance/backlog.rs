//! The cost of a fetch depends on its batch, not on what else there is: counted in pages, which no busy machine changes.

use anyhow::Context;
use chokaq_tests::{Db, Engine, Result, Scenario, Session, args, scenario, values};

use crate::arrange;

pub const SCENARIOS: &[Scenario] = &[
    scenario!(a_fetch_reads_no_more_pages_in_front_of_a_backlog).only(Engine::Postgres),
    scenario!(beside_an_old_snapshot_a_fetch_goes_on_where_it_was).only(Engine::Postgres),
    scenario!(a_mark_that_is_none_is_no_mark).only(Engine::Postgres),
];

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

/// What was claimed stays in front of the index then. A session that walked over it remembers where to, for a moment.
async fn beside_an_old_snapshot_a_fetch_goes_on_where_it_was(db: &Db<'_>) -> Result<()> {
    let [mut s, mut old] = db.sessions().await?;
    add(&mut s, "due", 10_000).await?;
    let untouched = pages(&mut s).await?;
    old.batch("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM chokaq.jobs_hot", "").await?;
    for _ in 0..9 {
        s.call("FetchNextBatch", args! { WorkerId: "w1", BatchSize: 1000 }).await?;
    }
    s.batch("RESET chokaq.walked_to", "").await?;
    s.call("FetchNextBatch", args! { WorkerId: "w1", BatchSize: 1 }).await?;
    let mark = s.sql("SELECT current_setting('chokaq.walked_to', true) AS mark", &[]).await?.texts("Mark");
    let place: Vec<&str> = mark[0].split(' ').collect();
    assert_eq!(place.len(), 4, "{mark:?}");

    /* The moment that the kit gives is too short to be looked at. */
    s.batch("RESET chokaq.walked_to", "").await?;
    let far = pages(&mut s).await?;
    s.batch(&format!("SELECT set_config('chokaq.walked_to', {}, false)", until(&place, "50 seconds")), "").await?;
    let near = pages(&mut s).await?;
    assert!(untouched + 100 < far, "{far} pages from the front, {untouched} when nothing had been claimed");
    assert!(near < untouched + 30, "{near} pages from the mark, {untouched} when nothing had been claimed");

    /* What is behind the mark comes in its order, and no one job is given twice; */
    let low = args! { Queue: "low", Type: "t", JobId: "low", Priority: 1 };
    s.call("Enqueue", low).await?;
    let urgent = args! { Queue: "urgent", Type: "t", JobId: "urgent", Priority: 99 };
    s.call("Enqueue", urgent).await?;
    let rest = arrange::fetch(&mut s, args! { WorkerId: "w1", BatchSize: 1000 }).await?;
    assert_eq!(rest.len(), 1000);
    assert_eq!(rest.last().map(String::as_str), Some("low"));
    /* what is in front of it is seen when the moment is over. */
    s.batch(&format!("SELECT set_config('chokaq.walked_to', {}, false)", until(&place, "-1 second")), "").await?;
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?, ["urgent"]);
    old.rollback().await?;
    Ok(())
}

/// A mark of that place which holds so long.
fn until(place: &[&str], time: &str) -> String {
    let place = place[..3].join(" ");
    format!("'{place} ' || (to_json(clock_timestamp() + interval '{time}') #>> '{{}}')")
}

/// Anybody may set it, to anything: it can name a place, and change nothing else.
async fn a_mark_that_is_none_is_no_mark(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (n, mark) in [
        "x",
        "10",
        "10 yesterday 1 tomorrow",
        "99999999999 2026-01-31T08:00:00+00:00 1 2026-01-31T08:00:00+00:00",
        "10 2026-01-31T08:00:00+00:00 1 9999-01-31T08:00:00+00:00",
        "10 2026-01-31T08:00:00+00:00 1 2026-01-31T08:00:00+00:00; DROP TABLE chokaq.jobs_hot",
        "",
    ]
    .into_iter()
    .enumerate()
    {
        s.sql("SELECT set_config('chokaq.walked_to', $1, false) AS mark", &values![mark]).await?;
        let id = format!("j{n}");
        arrange::pending(&mut s, "q", &id).await?;
        assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?, [id], "{mark}");
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
