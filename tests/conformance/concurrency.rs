//! Two and more sessions at once. Where the order matters, a rival is watched until it waits; nothing sleeps.

use chokaq_tests::{Db, Engine, Result, Scenario, Session, SqlError, Value, args, scenarios, values};
use futures_util::future::try_join_all;

use crate::arrange;
use crate::rivals::{End, beside, while_held};

pub const SCENARIOS: &[Scenario] = scenarios![
    two_open_fetches_of_ten_both_get_ten,
    an_uncommitted_claim_counts_towards_max_workers,
    max_workers_holds_exactly_under_eight_sessions,
    eight_fetchers_never_share_a_job,
    a_closed_or_full_queue_gives_nothing_however_its_jobs_come_and_go,
    a_fetch_goes_on_to_other_queues_when_rivals_hold_the_first,
    a_rolled_back_claim_is_free_again,
    an_enqueue_that_meets_a_move_of_its_id_is_a_duplicate,
    an_enqueue_waits_for_the_rival_of_its_key,
    the_loser_of_a_key_race_is_enqueued_when_the_winner_rolls_back,
    two_resurrections_of_one_job_are_one,
    two_finishers_of_one_job_are_one,
    a_sweep_and_finishers_share_the_jobs,
    a_heartbeat_saves_a_job_from_the_sweep_that_waits_for_none,
    cleaners_and_workers_never_deadlock,
    calls_that_share_keys_in_opposite_order_never_deadlock,
];

async fn two_open_fetches_of_ten_both_get_ten(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    arrange::many_pending(&mut a, "q", &arrange::ids("j", 1_000)).await?;
    a.begin().await?;
    b.begin().await?;
    let first = arrange::fetch(&mut a, args! { WorkerId: "w1", BatchSize: 10 }).await?;
    let fetch = ("FetchNextBatch", args! { WorkerId: "w2", BatchSize: 10 });
    let second = beside(db, (&mut a, End::Commit), &mut b, fetch).await?.texts("JobId");
    b.commit().await?;
    assert_eq!(first, arrange::ids("j", 10));
    assert_eq!(second, arrange::ids("j", 20)[10..]);
    Ok(())
}

async fn an_uncommitted_claim_counts_towards_max_workers(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    arrange::many_pending(&mut a, "q", &arrange::ids("j", 2)).await?;
    arrange::set_queue(&mut a, "q", "MaxWorkers", 1).await?;
    a.begin().await?;
    assert_eq!(arrange::fetch(&mut a, args! { WorkerId: "w1" }).await?.len(), 1);
    /* The rival neither waits nor exceeds the limit: it leaves a queue that another is claiming. */
    let fetch = ("FetchNextBatch", args! { WorkerId: "w2" });
    assert!(beside(db, (&mut a, End::Commit), &mut b, fetch).await?.rows.is_empty());
    assert!(arrange::fetch(&mut b, args! { WorkerId: "w2" }).await?.is_empty());
    a.call("ArchiveSucceeded", args! { JobId: "j00001" }).await?;
    a.call("ReleaseJob", args! { JobId: "j00001", WorkerId: "w1" }).await?;
    assert_eq!(arrange::fetch(&mut b, args! { WorkerId: "w2" }).await?, ["j00001"]);
    Ok(())
}

async fn max_workers_holds_exactly_under_eight_sessions(db: &Db<'_>) -> Result<()> {
    const LIMIT: i64 = 3;
    let mut observer = db.session().await?;
    arrange::many_pending(&mut observer, "q", &arrange::ids("j", 400)).await?;
    arrange::set_queue(&mut observer, "q", "MaxWorkers", LIMIT).await?;
    let sessions: [Session; 8] = db.sessions().await?;
    let workers = sessions.into_iter().zip(1..).map(|(mut s, n)| async move {
        let worker = format!("w{n}");
        let mut most = 0;
        for _ in 0..100 {
            let args = args! { WorkerId: &worker, BatchSize: 2, StartNow: true };
            for id in arrange::fetch(&mut s, args).await? {
                let sql = "SELECT COUNT(*) AS N FROM chokaq.JobsHot WHERE Queue = 'q' AND WorkerId IS NOT NULL";
                most = most.max(s.count(sql, &[]).await?);
                assert_eq!(s.outcome("ArchiveSucceeded", args! { JobId: &id, WorkerId: &worker }).await?, "archived");
            }
        }
        Ok::<_, anyhow::Error>(most)
    });
    let most = try_join_all(workers).await?.into_iter().max();
    assert!(most <= Some(LIMIT), "{most:?} at once");
    assert!(most > Some(1), "the sessions never ran side by side");
    Ok(())
}

async fn eight_fetchers_never_share_a_job(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let ids = arrange::ids("j", 800);
    arrange::many_pending(&mut s, "a", &ids[..400]).await?;
    arrange::many_pending(&mut s, "b", &ids[400..]).await?;
    let sessions: [Session; 8] = db.sessions().await?;
    let workers = sessions.into_iter().zip(1..).map(|(mut s, n)| async move {
        let mut mine = Vec::new();
        loop {
            let taken = arrange::fetch(&mut s, args! { WorkerId: format!("w{n}"), BatchSize: 7 }).await?;
            if taken.is_empty() {
                return Ok::<_, anyhow::Error>(mine);
            }
            mine.extend(taken);
        }
    });
    let mut all: Vec<String> = try_join_all(workers).await?.concat();
    all.sort();
    assert_eq!(all, ids);
    Ok(())
}

/// Its list of due jobs is empty now and then, which must not let a fetch through.
async fn a_closed_or_full_queue_gives_nothing_however_its_jobs_come_and_go(db: &Db<'_>) -> Result<()> {
    let [mut feeder, mut first, mut second] = db.sessions().await?;
    for (queue, setting, value) in [
        ("paused", "IsPaused", Value::from(true)),
        ("closed", "IsActive", Value::from(false)),
        ("full", "MaxWorkers", Value::from(0)),
    ] {
        arrange::pending(&mut feeder, queue, queue).await?;
        arrange::set_queue(&mut feeder, queue, setting, value).await?;
        feeder.call("CancelJobs", args! { JobIds: [queue], CancelledBy: "ann" }).await?;
    }
    let rounds = if feeder.heeds_lock_hints() { 300 } else { 20 };
    let feed = async {
        for n in 0..rounds {
            let ids = ["paused", "closed", "full"].map(|queue| format!("{queue} {n}"));
            for (id, queue) in ids.iter().zip(["paused", "closed", "full"]) {
                arrange::pending(&mut feeder, queue, id).await?;
            }
            feeder.call("CancelJobs", args! { JobIds: &ids[..], CancelledBy: "ann" }).await?;
        }
        Ok::<_, anyhow::Error>(())
    };
    let fetch = async |s: &mut Session| {
        for _ in 0..3 * rounds {
            assert_eq!(arrange::fetch(s, args! { WorkerId: "w1", StartNow: true }).await?, [""; 0]);
        }
        Ok::<_, anyhow::Error>(())
    };
    futures_util::try_join!(feed, fetch(&mut first), fetch(&mut second))?;
    Ok(())
}

async fn a_fetch_goes_on_to_other_queues_when_rivals_hold_the_first(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    for (queue, priority) in [("a", 50), ("b", 50), ("c", 1)] {
        for n in 1..=2 {
            let args = args! { Queue: queue, Type: "t", JobId: format!("{queue}{n}"), Priority: priority };
            assert_eq!(a.outcome("Enqueue", args).await?, "enqueued");
        }
    }
    a.begin().await?;
    let args = args! { WorkerId: "w1", BatchSize: 4, Queues: ["a", "b"] };
    assert_eq!(arrange::fetch(&mut a, args).await?.len(), 4);
    let fetch = ("FetchNextBatch", args! { WorkerId: "w2", BatchSize: 2, Queues: ["a", "b", "c"] });
    let rows = beside(db, (&mut a, End::Commit), &mut b, fetch).await?;
    assert_eq!(rows.texts("JobId"), ["c1", "c2"]);
    Ok(())
}

async fn a_rolled_back_claim_is_free_again(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    arrange::pending(&mut a, "q", "a1").await?;
    a.begin().await?;
    assert_eq!(arrange::fetch(&mut a, args! { WorkerId: "w1" }).await?, ["a1"]);
    let fetch = || ("FetchNextBatch", args! { WorkerId: "w2" });
    let mut taken = beside(db, (&mut a, End::Rollback), &mut b, fetch()).await?.texts("JobId");
    assert!(taken.is_empty() || !b.heeds_lock_hints());
    taken.extend(arrange::fetch(&mut b, fetch().1).await?);
    assert_eq!(taken, ["a1"]);
    Ok(())
}

async fn an_enqueue_that_meets_a_move_of_its_id_is_a_duplicate(db: &Db<'_>) -> Result<()> {
    let [mut mover, mut rival] = db.sessions().await?;
    for (procedure, id) in [("ArchiveSucceeded", "a1"), ("MoveToDLQ", "a2")] {
        arrange::processing(&mut mover, "q", id).await?;
        mover.begin().await?;
        let reason = if procedure == "MoveToDLQ" {
            args! { FailureReason: 6 }
        } else {
            args! {}
        };
        mover.call(procedure, args! { JobId: id }.into_iter().chain(reason).collect()).await?;
        let args = args! { Queue: "q", Type: "t", JobId: id };
        let rows = if rival.heeds_lock_hints() {
            while_held(db, (&mut mover, End::Commit), &mut rival, ("Enqueue", args)).await?
        } else {
            /* It reads the row that is still in Hot, and need not wait to know. */
            let rows = rival.call("Enqueue", args).await?;
            mover.commit().await?;
            rows
        };
        assert_eq!(rows.one()["Outcome"], "duplicate_id", "{procedure}");
    }
    Ok(())
}

async fn an_enqueue_waits_for_the_rival_of_its_key(db: &Db<'_>) -> Result<()> {
    let [mut winner, mut rival] = db.sessions().await?;
    arrange::pending(&mut winner, "q", "first").await?;
    winner.begin().await?;
    winner.call("Enqueue", args! { Queue: "q", Type: "t", JobId: "a1", IdempotencyKey: "k" }).await?;
    let args = args! { Queue: "q", Type: "t", JobId: "a2", IdempotencyKey: "k" };
    let row = while_held(db, (&mut winner, End::Commit), &mut rival, ("Enqueue", args)).await?.one();
    assert_eq!(row["Outcome"], "duplicate_key");
    assert_eq!(row["JobId"], "a1");
    Ok(())
}

async fn the_loser_of_a_key_race_is_enqueued_when_the_winner_rolls_back(db: &Db<'_>) -> Result<()> {
    let [mut winner, mut rival] = db.sessions().await?;
    arrange::pending(&mut winner, "q", "first").await?;
    winner.begin().await?;
    winner.call("Enqueue", args! { Queue: "q", Type: "t", JobId: "a1", IdempotencyKey: "k" }).await?;
    let args = args! { Queue: "q", Type: "t", JobId: "a2", IdempotencyKey: "k" };
    let row = while_held(db, (&mut winner, End::Rollback), &mut rival, ("Enqueue", args)).await?.one();
    assert_eq!(row["Outcome"], "enqueued");
    assert_eq!(row["JobId"], "a2");
    Ok(())
}

async fn two_resurrections_of_one_job_are_one(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    arrange::dead(&mut a, "q", "a1").await?;
    for (procedure, args) in [
        ("Resurrect", args! { JobId: "a1", ResurrectedBy: "bob" }),
        ("ResurrectJobs", args! { JobIds: ["a1"], ResurrectedBy: "bob" }),
        ("PurgeDLQJobs", args! { JobIds: ["a1"], PurgedBy: "bob" }),
        ("UpdateDLQJobData", args! { JobId: "a1", Tags: "x", ModifiedBy: "bob" }),
    ] {
        a.begin().await?;
        assert_eq!(a.outcome("Resurrect", args! { JobId: "a1", ResurrectedBy: "ann" }).await?, "resurrected");
        let row = while_held(db, (&mut a, End::Commit), &mut b, (procedure, args)).await?.one();
        assert_eq!(row["Outcome"], "not_found", "{procedure}");
        arrange::kill(&mut a, "a1").await?;
    }
    Ok(())
}

async fn two_finishers_of_one_job_are_one(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    for (procedure, extra, outcome) in [
        ("ArchiveSucceeded", args! {}, "already_archived"),
        ("MoveToDLQ", args! { FailureReason: 6 }, "not_found"),
        ("RescheduleForRetry", args! {}, "not_found"),
        ("FailJob", args! { FailureReason: 6, ErrorDetails: "e" }, "not_found"),
    ] {
        let id = format!("a-{procedure}");
        arrange::processing(&mut a, "q", &id).await?;
        let owner = || args! { JobId: &id, WorkerId: "w1", Attempt: 1 };
        a.begin().await?;
        assert_eq!(a.outcome("ArchiveSucceeded", owner()).await?, "archived");
        let args = owner().into_iter().chain(extra).collect();
        let row = while_held(db, (&mut a, End::Commit), &mut b, (procedure, args)).await?.one();
        assert_eq!(row["Outcome"], outcome, "{procedure}");
    }
    Ok(())
}

/// Case 1: a finished job must not be marked failed by the sweeper as well.
async fn a_sweep_and_finishers_share_the_jobs(db: &Db<'_>) -> Result<()> {
    let [mut sweeper, mut finisher] = db.sessions().await?;
    let ids = arrange::ids("j", 200);
    arrange::many_processing(&mut sweeper, "q", &ids).await?;
    arrange::backdate(&mut sweeper, "q", "HeartbeatUtc", 1_000).await?;
    let sweep = async { Ok::<_, anyhow::Error>(sweeper.call_one("ArchiveZombies", args! { BatchSize: 7 }).await?) };
    let finish = async {
        let mut archived = 0;
        for id in ids.iter().rev() {
            let outcome = finisher.outcome("ArchiveSucceeded", args! { JobId: id, WorkerId: "w1", Attempt: 1 }).await?;
            assert!(["archived", "not_found"].contains(&&*outcome), "{outcome}");
            archived += i64::from(outcome == "archived");
        }
        Ok(archived)
    };
    let (row, archived) = tokio::try_join!(sweep, finish)?;
    assert_eq!(row.int("MovedCount") + archived, 200);
    let stats = arrange::stats(&mut sweeper, "q").await?;
    assert_eq!(stats["SucceededTotal"], archived);
    assert_eq!(stats["FailedTotal"], 200 - archived);
    Ok(())
}

/// The sweep passes over a row that its worker is renewing, and decides anew when it comes back.
async fn a_heartbeat_saves_a_job_from_the_sweep_that_waits_for_none(db: &Db<'_>) -> Result<()> {
    let [mut worker, mut sweeper] = db.sessions().await?;
    arrange::processing(&mut worker, "q", "a1").await?;
    arrange::backdate(&mut worker, "q", "HeartbeatUtc", 1_000).await?;
    worker.begin().await?;
    let rows = worker.call("KeepAlive", args! { JobIds: ["a1"], WorkerId: "w1" }).await?;
    assert_eq!(rows.one()["Outcome"], "alive");
    let sweep = ("ArchiveZombies", args! {});
    let row = beside(db, (&mut worker, End::Commit), &mut sweeper, sweep).await?.one();
    assert_eq!(row["MovedCount"], 0);
    /* SQL Server looks without regard to locks: to it the job has its heartbeat already, and is none of those to skip. */
    assert_eq!(row["SkippedCount"], i64::from(db.engine == Engine::Postgres));
    let row = sweeper.call_one("ArchiveZombies", args! {}).await?;
    assert_eq!((row.int("MovedCount"), row.int("SkippedCount")), (0, 0));
    assert_eq!(arrange::job(&mut worker, "a1").await?["Status"], 2);
    Ok(())
}

/// Case 13.
async fn cleaners_and_workers_never_deadlock(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let ids = arrange::ids("j", 600);
    arrange::many_dead(&mut s, "q", &ids).await?;
    let reversed: Vec<String> = ids.iter().rev().cloned().collect();
    let [mut purger, mut other_purger, mut operator, mut w1, mut w2] = db.sessions().await?;
    let purge = async {
        Ok::<_, SqlError>(
            purger
                .call_one("PurgeDLQ", args! { JobIds: &ids[..400], PurgedBy: "ann", CleanupBatchSize: 50 })
                .await?
                .int("PurgedCount"),
        )
    };
    let purge_too = async {
        let args = args! { JobIds: &reversed[..400], PurgedBy: "bob", CleanupBatchSize: 70 };
        Ok(other_purger.call_one("PurgeDLQ", args).await?.int("PurgedCount"))
    };
    let resurrect = async {
        let args = args! { JobIds: &reversed, ResurrectedBy: "eve", BatchSize: 60 };
        Ok(operator.call_one("ResurrectBatch", args).await?.int("ResurrectedCount"))
    };
    let work = async |s: &mut Session, worker: &str| {
        for _ in 0..60 {
            let jobs = s.call("FetchNextBatch", args! { WorkerId: worker, StartNow: true }).await?;
            for id in jobs.texts("JobId") {
                s.call("ArchiveSucceeded", args! { JobId: id, WorkerId: worker }).await?;
            }
        }
        Ok(())
    };
    let (purged, purged_too, resurrected, (), ()) =
        tokio::try_join!(purge, purge_too, resurrect, work(&mut w1, "w1"), work(&mut w2, "w2"))?;
    assert_eq!(purged + purged_too + resurrected, 600);
    let stats = arrange::stats(&mut s, "q").await?;
    assert_eq!(stats["PurgedTotal"], purged + purged_too);
    assert_eq!(stats["ResurrectedTotal"], resurrected);
    Ok(())
}

async fn calls_that_share_keys_in_opposite_order_never_deadlock(db: &Db<'_>) -> Result<()> {
    let [mut s, mut a, mut b] = db.sessions().await?;
    arrange::pending(&mut s, "q", "first").await?;
    for round in 0..10 {
        let jobs = |who: &str, reverse: bool| {
            let mut keys: Vec<usize> = (0..100).collect();
            if reverse {
                keys.reverse();
            }
            let jobs: Vec<_> = keys
                .iter()
                .map(|key| {
                    serde_json::json!({
                        "queue": format!("q{}", key % 7), "type": "t", "jobId": format!("{who}-{round}-{key}"),
                        "idempotencyKey": format!("{round}-{key}"),
                    })
                })
                .collect();
            args! { Jobs: serde_json::json!(jobs) }
        };
        let (x, y) = tokio::try_join!(a.call("EnqueueMany", jobs("a", false)), b.call("EnqueueMany", jobs("b", true)))?;
        let enqueued = [x, y].iter().flat_map(|rows| &rows.rows).filter(|row| row["Outcome"] == "enqueued").count();
        assert_eq!(enqueued, 100);
    }
    assert_eq!(s.count("SELECT COUNT(*) AS N FROM chokaq.JobsHot WHERE Id <> @P1", &values!["first"]).await?, 1_000);
    Ok(())
}
