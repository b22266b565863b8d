//! Eight sessions work through 20,000 jobs that fail, are retried, die, come back and are purged.

use std::cell::Cell;
use std::time::Duration;

use chokaq_tests::{Args, Db, Result, Row, Rows, Scenario, Session, args, scenario};
use futures_util::future::try_join_all;

use crate::arrange;

pub const SCENARIOS: &[Scenario] =
    &[scenario!(every_job_ends_in_one_table_and_the_counters_equal_a_recount).limit(Duration::from_secs(1_200))];

const QUEUES: [&str; 4] = ["a", "b", "c", "d"];

async fn every_job_ends_in_one_table_and_the_counters_equal_a_recount(db: &Db<'_>) -> Result<()> {
    let count = std::env::var("CHOKAQ_TEST_STORM_JOBS").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let mut s = db.session().await?;
    let ids = arrange::ids("j", count);
    for (queue, ids) in QUEUES.into_iter().zip(ids.chunks(count.div_ceil(QUEUES.len()))) {
        arrange::many_pending(&mut s, queue, ids).await?;
    }
    let sessions: [Session; 8] = db.sessions().await?;
    let seen = Seen::default();
    let workers = sessions.into_iter().zip(1..).map(|(session, n)| Worker::new(session, n, &seen).run());
    try_join_all(workers).await?;

    let rows = |table: &str| format!("SELECT COUNT(*) AS N FROM chokaq.{table}");
    assert_eq!(s.count(&rows("JobsHot"), &[]).await?, 0);
    let archived = s.count(&rows("JobsArchive"), &[]).await?;
    let dead = s.count(&rows("JobsDLQ"), &[]).await?;
    let (mut retried, mut resurrected, mut purged) = (0, 0, 0);
    for queue in QUEUES {
        let stats = arrange::stats(&mut s, queue).await?;
        assert_eq!(stats["PendingCount"], 0);
        retried += stats.int("RetriedTotal");
        resurrected += stats.int("ResurrectedTotal");
        purged += stats.int("PurgedTotal");
    }
    assert_eq!(archived + dead + purged, count as i64);
    assert_eq!(archived, seen.archived.get());
    /* A looping call that becomes a victim half way keeps its batches, and nobody is told how many. */
    let told = |number: i64, told: i64| if seen.victims.get() > 0 { number >= told } else { number == told };
    assert!(told(purged, seen.purged.get()), "{purged} were purged, {} by what was told", seen.purged.get());
    assert!(
        told(resurrected, seen.resurrected.get()),
        "{resurrected} came back, {} by what was told",
        seen.resurrected.get()
    );
    assert_eq!(retried, seen.retried.get());
    for (what, number) in
        [("archived", archived), ("dead", dead), ("purged", purged), ("resurrected", resurrected), ("retried", retried)]
    {
        assert!(number > 0, "no job was {what}: the storm was none");
    }
    Ok(())
}

/// What the sessions were told, which must be what the tables say in the end.
#[derive(Default)]
struct Seen {
    archived: Cell<i64>,
    purged: Cell<i64>,
    resurrected: Cell<i64>,
    retried: Cell<i64>,
    /// Calls that a server without lock hints undid as the victims of deadlocks.
    victims: Cell<i64>,
}

fn add(cell: &Cell<i64>, number: i64) {
    cell.set(cell.get() + number);
}

/// A worker that is now and then a sweeper and an operator.
struct Worker<'a> {
    session: Session,
    name: String,
    dice: u64,
    seen: &'a Seen,
}

impl<'a> Worker<'a> {
    fn new(session: Session, number: u64, seen: &'a Seen) -> Self {
        Self { session, name: format!("w{number}"), dice: number, seen }
    }

    /// The same throws in every run (xorshift), so that only the interleaving differs.
    fn throw(&mut self, sides: u64) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.dice.wrapping_mul(0x2545_F491_4F6C_DD1D) % sides
    }

    /// A call; one that a server without lock hints made the victim of a deadlock, and so undid, is made again.
    async fn call(&mut self, procedure: &'static str, args: Args) -> Result<Rows> {
        loop {
            match self.session.call(procedure, args.clone()).await {
                Err(error) if error.code == "1205" && !self.session.heeds_lock_hints() => add(&self.seen.victims, 1),
                result => return Ok(result?),
            }
        }
    }

    async fn call_one(&mut self, procedure: &'static str, args: Args) -> Result<Row> {
        Ok(self.call(procedure, args).await?.one())
    }

    async fn outcome(&mut self, procedure: &'static str, args: Args) -> Result<String> {
        Ok(self.call_one(procedure, args).await?.text("Outcome"))
    }

    async fn run(mut self) -> Result<()> {
        let mut idle = 0;
        while idle < 3 {
            let args = args! { WorkerId: &self.name, BatchSize: 25, StartNow: self.throw(4) > 0 };
            let jobs = self.call("FetchNextBatch", args).await?;
            for job in &jobs.rows {
                self.work(&job.text("JobId"), job.int("AttemptCount")).await?;
            }
            if jobs.rows.is_empty() {
                idle += 1;
                /* Takes from the rivals too what they hold just now; they are told so when they come to end it. */
                self.sweep(0).await?;
            } else {
                idle = 0;
                match self.throw(20) {
                    0 => self.sweep(3_600).await?,
                    1 => self.operate().await?,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    async fn work(&mut self, id: &str, attempt: i64) -> Result<()> {
        let attempt = if attempt > 0 && self.throw(8) > 0 {
            attempt
        } else {
            let args = args! { JobId: id, WorkerId: &self.name };
            let row = self.call_one("MarkAsProcessing", args).await?;
            if !["started", "already_started"].contains(&&*row.text("Outcome")) {
                return Ok(());
            }
            row.int("AttemptCount")
        };
        let owner = args! { JobId: id, WorkerId: &self.name, Attempt: attempt };
        let and = |more: Args| owner.iter().cloned().chain(more).collect::<Args>();
        let seen = self.seen;
        match self.throw(100) {
            0..=2 => {}
            3..=5 => {
                self.call("MoveToDLQ", and(args! { FailureReason: 4, ErrorDetails: "rejected" })).await?;
            }
            6..=9 => {
                self.call("FailJob", and(args! { FailureReason: 6, ErrorDetails: "fatal" })).await?;
            }
            10..=15 => {
                let args = and(args! { FailureReason: 8, ErrorDetails: "transient", RetryAfterSeconds: 0 });
                let outcome = self.outcome("FailJob", args).await?;
                add(&seen.retried, i64::from(outcome == "rescheduled"));
            }
            16..=18 => {
                let outcome = self.outcome("RescheduleForRetry", owner).await?;
                add(&seen.retried, i64::from(outcome == "rescheduled"));
            }
            19..=21 => {
                self.call("KeepAlive", args! { JobIds: [id], WorkerId: &self.name }).await?;
                let outcome = self.outcome("ArchiveSucceeded", owner).await?;
                add(&seen.archived, i64::from(outcome == "archived"));
            }
            _ => {
                let outcome = self.outcome("ArchiveSucceeded", owner).await?;
                add(&seen.archived, i64::from(outcome == "archived"));
            }
        }
        Ok(())
    }

    async fn sweep(&mut self, timeout: i64) -> Result<()> {
        self.call("RecoverAbandoned", args! { TimeoutSeconds: timeout }).await?;
        self.call("ArchiveZombies", args! { TimeoutSeconds: timeout, BatchSize: 100 }).await?;
        self.call("FoldCounters", args! {}).await?;
        Ok(())
    }

    /// Half of the newest dead jobs come back, some are repaired first, a few are purged.
    async fn operate(&mut self) -> Result<()> {
        let ids = self.call("ListDLQ", args! { Limit: 60 }).await?.texts("JobId");
        let (back, rest) = ids.split_at(ids.len() / 2);
        let args = args! { JobIds: back, ResurrectedBy: &self.name, BatchSize: 7 };
        let row = self.call_one("ResurrectBatch", args).await?;
        add(&self.seen.resurrected, row.int("ResurrectedCount"));
        for id in rest.iter().take(5) {
            let args = args! { JobId: id, NewPayload: "{\"repaired\":true}", ResurrectedBy: &self.name };
            let outcome = self.outcome("Resurrect", args).await?;
            add(&self.seen.resurrected, i64::from(outcome == "resurrected"));
        }
        let doomed = &rest[rest.len() / 2..];
        let args = args! { JobIds: doomed, PurgedBy: &self.name, CleanupBatchSize: 7 };
        let row = self.call_one("PurgeDLQ", args).await?;
        add(&self.seen.purged, row.int("PurgedCount"));
        Ok(())
    }
}
