//! Every call that takes a lock, of many sessions at once, about the same few jobs: none deadlocks, and what the sessions
//! were told adds up to what the tables, the counters and the history say.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use chokaq_tests::contract::{self, Kind};
use chokaq_tests::{Args, Db, Result, Rows, Scenario, Session, SqlError, args, scenario};
use futures_util::future::try_join_all;
use serde_json::json;

use crate::arrange;

pub const SCENARIOS: &[Scenario] =
    &[scenario!(mixed_calls_about_few_jobs_never_deadlock).limit(Duration::from_secs(600))];

/// The jobs that the calls are about: the last that were enqueued.
const JOBS: u64 = 10;
const QUEUES: [&str; 2] = ["a", "b"];

async fn mixed_calls_about_few_jobs_never_deadlock(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    /* A server without lock hints is no measure of the lock order, and slow; there it is the sums that are looked at. */
    let (callers, calls) = if s.heeds_lock_hints() { (6, 400) } else { (3, 40) };
    let calls = std::env::var("CHOKAQ_MIXED_CALLS").ok().and_then(|text| text.parse().ok()).unwrap_or(calls);
    let told = Told::default();
    for queue in QUEUES {
        told.jobs.set(told.jobs.get() + 1);
        arrange::pending(&mut s, queue, &format!("j{}", told.jobs.get())).await?;
        told.add("Enqueued", 1);
    }
    let mut sessions = Vec::new();
    for number in 1..=callers {
        sessions.push(Caller::new(db.session().await?, number, &told));
    }
    let callers = sessions.into_iter().map(|caller| caller.run(calls));
    try_join_all(callers).await?;

    db.expect_archive_purged(told.of("ArchivePurged"));
    let sums = s.call_one("GetSummaryStats", args! {}).await?;
    let history = s.count("SELECT COUNT(*) AS N FROM chokaq.OperatorHistory", &[]).await?;
    for (what, number) in [
        ("Enqueued", sums.int("EnqueuedTotal")),
        ("Succeeded", sums.int("SucceededTotal")),
        ("Retried", sums.int("RetriedTotal")),
        ("DeadLettered", sums.int("DeadLetteredTotal")),
        ("Resurrected", sums.int("ResurrectedTotal")),
        ("Purged", sums.int("PurgedTotal")),
        ("History", history),
    ] {
        /* A loop that becomes a victim half way keeps its batches, and nobody is told how many. */
        if told.of("Victims") == 0 {
            assert_eq!(number, told.of(what), "{what}: {told:?}");
        }
        assert!(number > 0 || !s.heeds_lock_hints(), "{what}: the sessions did not meet it");
    }
    Ok(())
}

/// What the sessions were told, by what was done, and how many jobs were ever enqueued.
#[derive(Debug, Default)]
struct Told {
    counts: RefCell<BTreeMap<&'static str, i64>>,
    jobs: Cell<u64>,
}

impl Told {
    fn add(&self, what: &'static str, number: i64) {
        *self.counts.borrow_mut().entry(what).or_default() += number;
    }

    fn of(&self, what: &'static str) -> i64 {
        self.counts.borrow().get(what).copied().unwrap_or_default()
    }
}

struct Caller<'a> {
    session: Session,
    name: String,
    dice: u64,
    told: &'a Told,
}

impl<'a> Caller<'a> {
    fn new(session: Session, number: u64, told: &'a Told) -> Self {
        Self { session, name: format!("w{number}"), dice: number, told }
    }

    /// The same throws in every run (xorshift), so that only the interleaving differs.
    fn throw(&mut self, sides: u64) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.dice.wrapping_mul(0x2545_F491_4F6C_DD1D) % sides
    }

    /// One of the few jobs.
    fn id(&mut self) -> String {
        let newest = self.told.jobs.get();
        format!("j{}", newest - self.throw(JOBS).min(newest))
    }

    /// Most of them, in any order.
    fn ids(&mut self) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        for _ in 0..2 * JOBS {
            let id = self.id();
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }

    /// A job that was never there before: one that comes back while it is enqueued is the exception that is documented.
    fn new_id(&self) -> String {
        self.told.jobs.set(self.told.jobs.get() + 1);
        format!("j{}", self.told.jobs.get())
    }

    async fn call(&mut self, procedure: &'static str, args: Args) -> Result<Rows> {
        let is_held = contract::procedure(procedure).kind == Kind::Joining && self.throw(2) > 0;
        loop {
            match self.call_once(procedure, args.clone(), is_held).await {
                Err(error) if error.code == "1205" && !self.session.heeds_lock_hints() => self.told.add("Victims", 1),
                result => return Ok(result?),
            }
        }
    }

    /// In a transaction of the caller its locks are held a little longer, so that the others come and wait in line.
    async fn call_once(&mut self, procedure: &str, args: Args, is_held: bool) -> Result<Rows, SqlError> {
        if !is_held {
            return self.session.call(procedure, args).await;
        }
        self.session.begin().await?;
        let result = self.session.call(procedure, args).await;
        if result.is_ok() {
            self.session.commit().await?
        } else {
            self.session.rollback().await?
        }
        result
    }

    /// A call whose outcome or outcomes say each what was done.
    async fn act(&mut self, procedure: &'static str, args: Args, won: &str, done: &[&'static str]) -> Result<()> {
        let outcomes = self.call(procedure, args).await?.texts("Outcome");
        let count = outcomes.iter().filter(|outcome| *outcome == won).count();
        done.iter().for_each(|what| self.told.add(what, count as i64));
        Ok(())
    }

    /// A call that says how many.
    async fn sum(&mut self, procedure: &'static str, args: Args, column: &str, done: &[&'static str]) -> Result<()> {
        let count = self.call(procedure, args).await?.one().int(column);
        done.iter().for_each(|what| self.told.add(what, count));
        Ok(())
    }

    async fn run(mut self, calls: usize) -> Result<()> {
        for _ in 0..calls {
            match self.throw(8) {
                0 => self.feed().await?,
                1..=3 => self.work().await?,
                4..=6 => self.operate().await?,
                _ => self.tend().await?,
            }
        }
        Ok(())
    }

    async fn feed(&mut self) -> Result<()> {
        let queue = QUEUES[self.throw(2) as usize];
        if self.throw(2) == 0 {
            let args = args! { Queue: queue, Type: "t", JobId: self.new_id() };
            return self.act("Enqueue", args, "enqueued", &["Enqueued"]).await;
        }
        let jobs: Vec<_> = ["b", "a", queue]
            .iter()
            .map(|queue| json!({"queue": queue, "type": "t", "jobId": self.new_id()}))
            .collect();
        self.act("EnqueueMany", args! { Jobs: json!(jobs) }, "enqueued", &["Enqueued"]).await
    }

    /// What a worker says of jobs, whoever has them.
    async fn work(&mut self) -> Result<()> {
        let (id, ids, worker) = (self.id(), self.ids(), self.name.clone());
        let attempt = args! { JobId: &id, WorkerId: &worker, Attempt: 1 };
        let and = |more: Args| attempt.iter().cloned().chain(more).collect::<Args>();
        let fetch = args! { WorkerId: &worker, BatchSize: 5, StartNow: self.throw(3) > 0 };
        match self.throw(14) {
            0..=3 => {
                let jobs = self.call("FetchNextBatch", fetch).await?;
                if self.throw(2) > 0 {
                    /* The other way round than they came. */
                    let jobs = jobs.rows.iter().rev();
                    let jobs =
                        jobs.map(|job| json!({"jobId": job.text("JobId"), "attempt": job.int("AttemptCount").max(1)}));
                    let args = args! { Jobs: json!(jobs.collect::<Vec<_>>()), WorkerId: &worker };
                    self.act("ArchiveSucceededJobs", args, "archived", &["Succeeded"]).await?;
                }
            }
            4 => {
                let queue = QUEUES[self.throw(2) as usize];
                self.call("FetchNextBatch", fetch.into_iter().chain(args! { Queues: [queue] }).collect()).await?;
            }
            5 => drop(self.call("MarkAsProcessing", args! { JobId: &id, WorkerId: &worker }).await?),
            6 => drop(self.call("MarkJobsAsProcessing", args! { JobIds: &ids, WorkerId: &worker }).await?),
            7 => drop(self.call("KeepAlive", args! { JobIds: &ids, WorkerId: &worker }).await?),
            8 => drop(self.call("ReleaseJob", args! { JobId: &id, WorkerId: &worker }).await?),
            9 => drop(self.call("ReleaseWorker", args! { WorkerId: &worker }).await?),
            10 => self.act("ArchiveSucceeded", args! { JobId: &id }, "archived", &["Succeeded"]).await?,
            11 => {
                let jobs: Vec<_> = ids.iter().map(|id| json!({"jobId": id, "attempt": 1})).collect();
                let args = args! { Jobs: json!(jobs), WorkerId: &worker };
                self.act("ArchiveSucceededJobs", args, "archived", &["Succeeded"]).await?;
            }
            12 => {
                for id in &ids {
                    self.act("RescheduleForRetry", args! { JobId: id }, "rescheduled", &["Retried"]).await?;
                }
            }
            _ => {
                let args = and(args! { FailureReason: 6, ErrorDetails: "e" });
                self.act("FailJob", args, "moved", &["DeadLettered"]).await?;
            }
        }
        Ok(())
    }

    async fn operate(&mut self) -> Result<()> {
        let (id, ids, ann) = (self.id(), self.ids(), "ann");
        let queue = QUEUES[self.throw(2) as usize];
        let filter = |more: Args| args! { Queue: queue, WhatIf: false }.into_iter().chain(more).collect::<Args>();
        let (cancelled, back, purged) =
            (["DeadLettered", "History"], ["Resurrected", "History"], ["Purged", "History"]);
        match self.throw(14) {
            0 => {
                let args = args! { JobId: id, FailureReason: 6, MovedBy: ann };
                self.act("MoveToDLQ", args, "moved", &cancelled).await
            }
            1 => self.act("CancelJobs", args! { JobIds: &ids, CancelledBy: ann }, "cancelled", &cancelled).await,
            2 => {
                let args = args! { JobIds: &ids, CancelledBy: ann, BatchSize: 2 };
                self.sum("ArchiveCancelledBatch", args, "CancelledCount", &cancelled).await
            }
            3 => {
                let args = args! { JobId: id, Tags: "x", Priority: 20, ModifiedBy: ann };
                self.act("UpdateJobData", args, "updated", &["History"]).await
            }
            4 => {
                let args = args! { JobId: id, Payload: "[1]", ModifiedBy: ann };
                self.act("UpdateDLQJobData", args, "updated", &["History"]).await
            }
            5 | 6 => self.act("Resurrect", args! { JobId: id, ResurrectedBy: ann }, "resurrected", &back).await,
            7 | 8 => self.act("ResurrectJobs", args! { JobIds: &ids, ResurrectedBy: ann }, "resurrected", &back).await,
            9 => {
                let args = args! { JobIds: &ids, ResurrectedBy: ann, BatchSize: 2 };
                self.sum("ResurrectBatch", args, "ResurrectedCount", &back).await
            }
            10 => {
                let args = filter(args! { ResurrectedBy: ann, BatchSize: 2, MaxJobs: 5 });
                self.sum("ResurrectByFilter", args, "ResurrectedCount", &back).await
            }
            11 => self.act("PurgeDLQJobs", args! { JobIds: &ids, PurgedBy: ann }, "purged", &purged).await,
            12 => {
                let args = args! { JobIds: &ids, PurgedBy: ann, CleanupBatchSize: 2 };
                self.sum("PurgeDLQ", args, "PurgedCount", &purged).await
            }
            _ => {
                let args = filter(args! { PurgedBy: ann, CleanupBatchSize: 2, MaxJobs: 3 });
                self.sum("PurgeDLQByFilter", args, "PurgedCount", &purged).await
            }
        }
    }

    /// Sweeps, purges of what has ended, and changes of the queues.
    async fn tend(&mut self) -> Result<()> {
        let queue = QUEUES[self.throw(2) as usize];
        let change = |more: Args| args! { Queue: queue, ModifiedBy: "ann" }.into_iter().chain(more).collect::<Args>();
        let changed = ["History"];
        match self.throw(10) {
            0 => drop(self.call("RecoverAbandoned", args! { TimeoutSeconds: 0, BatchSize: 3 }).await?),
            1 => drop(self.call("RecoverAbandonedBatch", args! { TimeoutSeconds: 0, BatchSize: 3 }).await?),
            2 => {
                let args = args! { TimeoutSeconds: 0, BatchSize: 3 };
                self.sum("ArchiveZombies", args, "MovedCount", &["DeadLettered"]).await?;
            }
            3 => {
                let args = args! { TimeoutSeconds: 0, BatchSize: 3 };
                self.sum("ArchiveZombiesBatch", args, "MovedCount", &["DeadLettered"]).await?;
            }
            4 => {
                let args = args! { OlderThanUtc: self.session.now().await?, CleanupBatchSize: 2 };
                let row = self.call("PurgeArchive", args).await?.one();
                self.told.add("ArchivePurged", row.int("DeletedCount"));
                self.told.add("History", row.int("BatchCount"));
            }
            5 => {
                let args = args! { OlderThanUtc: self.session.now().await?, CleanupBatchSize: 5 };
                let row = self.call("PurgeHistoryBatch", args).await?.one();
                self.told.add("History", i64::from(row.int("DeletedCount") > 0) - row.int("DeletedCount"));
            }
            6 => drop(self.call("FoldCounters", args! { BatchSize: 50 }).await?),
            7 => {
                for is_paused in [true, false] {
                    let args = change(args! { IsPaused: is_paused });
                    self.act("SetQueuePaused", args, "updated", &changed).await?;
                }
            }
            8 => {
                for is_active in [false, true] {
                    let args = change(args! { IsActive: is_active });
                    self.act("SetQueueActive", args, "updated", &changed).await?;
                }
            }
            _ => {
                let limit = [None, Some(1), Some(8)][self.throw(3) as usize];
                self.act("SetQueueMaxWorkers", change(args! { MaxWorkers: limit }), "updated", &changed).await?;
            }
        }
        Ok(())
    }
}
