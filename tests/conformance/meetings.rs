//! Sets of jobs, the release of a worker, and cancellations, where another session is at work on one of their jobs:
//! exactly one of the two has it.

use chokaq_tests::{Args, Db, Engine, Result, Rows, Scenario, Session, SqlError, args, scenarios};
use futures_util::future::try_join_all;
use serde_json::json;

use crate::arrange;
use crate::rivals::{End, beside, while_held};

pub const SCENARIOS: &[Scenario] = scenarios![
    a_job_is_started_by_a_set_or_by_a_single_call,
    a_job_ends_in_a_set_or_by_a_single_call,
    a_job_is_started_or_released_with_its_worker,
    a_cancellation_waits_for_who_has_the_job,
    an_edit_is_not_lost_to_who_waited_for_it,
    who_comes_to_a_job_that_is_being_cancelled_waits,
    a_fetch_passes_over_a_job_that_is_being_cancelled,
    sets_in_opposite_order_never_deadlock,
    cancellations_and_workers_never_deadlock,
];

type Call<'a> = (&'a str, Args);

/// One call in an open transaction, and a rival that waits for its end: the rival's answer.
async fn meet(db: &Db<'_>, [a, b]: [&mut Session; 2], first: Call<'_>, end: End, second: Call<'_>) -> Result<Rows> {
    a.begin().await?;
    a.call(first.0, first.1).await?;
    while_held(db, (a, end), b, second).await
}

fn owned(id: &str) -> Args {
    args! { JobId: id, WorkerId: "w1" }
}

/// Jobs `<queue> 1` and `<queue> 2`, which `w1` has fetched or runs.
async fn two(s: &mut Session, queue: &str, start_now: bool) -> Result<[String; 2]> {
    let ids = [1, 2].map(|n| format!("{queue} {n}"));
    arrange::many_pending(s, queue, &ids).await?;
    let args = args! { WorkerId: "w1", Queues: [queue], StartNow: start_now };
    assert_eq!(arrange::fetch(s, args).await?, ids);
    Ok(ids)
}

async fn a_job_is_started_by_a_set_or_by_a_single_call(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    let set = |ids: &[String; 2]| ("MarkJobsAsProcessing", args! { JobIds: &ids[..], WorkerId: "w1" });
    for (n, end, first, outcomes) in [
        (1, End::Commit, "MarkAsProcessing", ["already_started", "started"]),
        (2, End::Rollback, "MarkAsProcessing", ["started", "started"]),
        (3, End::Commit, "ReleaseJob", ["not_fetched", "started"]),
        (4, End::Rollback, "ReleaseJob", ["started", "started"]),
    ] {
        let ids = two(&mut a, &format!("single {n}"), false).await?;
        let rows = meet(db, [&mut a, &mut b], (first, owned(&ids[0])), end, set(&ids)).await?;
        assert_eq!(rows.texts("Outcome"), outcomes, "{first} {n}");
        let attempts = i64::from(outcomes[0] != "not_fetched");
        assert_eq!(arrange::job(&mut b, &ids[0]).await?["AttemptCount"], attempts, "{first} {n}");
    }
    for (n, end, second, outcome, attempts) in [
        (1, End::Commit, "MarkAsProcessing", "already_started", 1),
        (2, End::Rollback, "MarkAsProcessing", "started", 1),
        (3, End::Commit, "ReleaseJob", "not_fetched", 1),
        (4, End::Rollback, "ReleaseJob", "released", 0),
    ] {
        let ids = two(&mut a, &format!("set {n}"), false).await?;
        let rows = meet(db, [&mut a, &mut b], set(&ids), end, (second, owned(&ids[1]))).await?;
        assert_eq!(rows.one()["Outcome"], outcome, "{second} {n}");
        assert_eq!(arrange::job(&mut b, &ids[1]).await?["AttemptCount"], attempts, "{second} {n}");
    }
    Ok(())
}

async fn a_job_ends_in_a_set_or_by_a_single_call(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    let set = |ids: &[String; 2]| {
        let jobs = json!(ids.each_ref().map(|id| json!({"jobId": id, "attempt": 1})));
        ("ArchiveSucceededJobs", args! { Jobs: jobs, WorkerId: "w1" })
    };
    let single = |procedure: &str, id: &str| {
        let mut args = owned(id);
        args.extend(args! { Attempt: 1 });
        match procedure {
            "MoveToDLQ" => args.extend(args! { FailureReason: 6 }),
            "FailJob" => args.extend(args! { FailureReason: 6, ErrorDetails: "e" }),
            _ => {}
        }
        args
    };
    for (n, end, first, outcome, pillar) in [
        (1, End::Commit, "ArchiveSucceeded", "already_archived", "Archive"),
        (2, End::Rollback, "ArchiveSucceeded", "archived", "Archive"),
        (3, End::Commit, "MoveToDLQ", "not_found", "DLQ"),
        (4, End::Rollback, "FailJob", "archived", "Archive"),
        (5, End::Commit, "RescheduleForRetry", "not_processing", "Hot"),
    ] {
        let ids = two(&mut a, &format!("single {n}"), true).await?;
        let first = (first, single(first, &ids[0]));
        let rows = meet(db, [&mut a, &mut b], first, end, set(&ids)).await?;
        assert_eq!(rows.texts("Outcome"), [outcome, "archived"], "single {n}");
        assert_eq!(arrange::pillar(&mut b, &ids[0]).await?, pillar, "single {n}");
        assert_eq!(arrange::pillar(&mut b, &ids[1]).await?, "Archive", "single {n}");
    }
    for (n, end, second, outcome, pillar) in [
        (1, End::Commit, "ArchiveSucceeded", "already_archived", "Archive"),
        (2, End::Rollback, "ArchiveSucceeded", "archived", "Archive"),
        (3, End::Commit, "MoveToDLQ", "not_found", "Archive"),
        (4, End::Commit, "FailJob", "not_found", "Archive"),
        (5, End::Rollback, "FailJob", "moved", "DLQ"),
        (6, End::Commit, "RescheduleForRetry", "not_found", "Archive"),
    ] {
        let ids = two(&mut a, &format!("set {n}"), true).await?;
        let second = (second, single(second, &ids[1]));
        let rows = meet(db, [&mut a, &mut b], set(&ids), end, second).await?;
        assert_eq!(rows.one()["Outcome"], outcome, "set {n}");
        assert_eq!(arrange::pillar(&mut b, &ids[1]).await?, pillar, "set {n}");
    }
    Ok(())
}

async fn a_job_is_started_or_released_with_its_worker(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    let release = || ("ReleaseWorker", args! { WorkerId: "w1" });
    /* SQL Server reads what a worker holds without regard to locks, and takes a start for one before it is committed. */
    let waits = db.engine == Engine::Postgres || !b.heeds_lock_hints();
    for (queue, end, counts) in [("q1", End::Commit, (1, 1)), ("q2", End::Rollback, (2, 0))] {
        let ids = two(&mut a, queue, false).await?;
        let start = ("MarkAsProcessing", owned(&ids[0]));
        if waits {
            let row = meet(db, [&mut a, &mut b], start, end, release()).await?.one();
            assert_eq!((row.int("ReleasedCount"), row.int("ProcessingCount")), counts, "{queue}");
        }
        a.call("MoveToDLQ", args! { JobId: &ids[0], FailureReason: 6 }).await?;
    }
    for (queue, end, outcome, status) in [("q3", End::Commit, "not_fetched", 0), ("q4", End::Rollback, "started", 2)] {
        let ids = two(&mut a, queue, false).await?;
        let start = ("MarkAsProcessing", owned(&ids[0]));
        let row = meet(db, [&mut a, &mut b], release(), end, start).await?.one();
        assert_eq!(row["Outcome"], outcome, "{queue}");
        assert_eq!(arrange::job(&mut b, &ids[0]).await?["Status"], status, "{queue}");
    }
    Ok(())
}

/// A cancellation of both jobs of a queue.
fn cancellation(ids: &[String; 2]) -> Call<'static> {
    ("CancelJobs", args! { JobIds: &ids[..], CancelledBy: "ann" })
}

async fn a_cancellation_waits_for_who_has_the_job(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    for (n, end, first, outcome) in [
        (1, End::Commit, "CancelJobs", "already_cancelled"),
        (2, End::Rollback, "CancelJobs", "cancelled"),
        (3, End::Commit, "FetchNextBatch", "cancelled"),
        (4, End::Rollback, "FetchNextBatch", "cancelled"),
        (5, End::Commit, "FetchNextBatch and start", "not_cancellable"),
        (6, End::Rollback, "FetchNextBatch and start", "cancelled"),
        (7, End::Commit, "MoveToDLQ", "not_found"),
        (8, End::Rollback, "MoveToDLQ", "cancelled"),
    ] {
        let queue = format!("q{n}");
        let ids = [1, 2].map(|n| format!("{queue} {n}"));
        arrange::many_pending(&mut a, &queue, &ids).await?;
        let id = &*ids[0];
        let call = match first {
            "CancelJobs" => (first, args! { JobIds: [id], CancelledBy: "bob" }),
            "MoveToDLQ" => (first, args! { JobId: id, FailureReason: 6 }),
            _ => {
                let start_now = first != "FetchNextBatch";
                let args = args! { WorkerId: "w1", BatchSize: 1, Queues: [&*queue], StartNow: start_now };
                ("FetchNextBatch", args)
            }
        };
        let rows = meet(db, [&mut a, &mut b], call, end, cancellation(&ids)).await?;
        assert_eq!(rows.texts("Outcome"), [outcome, "cancelled"], "{first} {n}");
        let job = arrange::job(&mut b, id).await?;
        assert_eq!(job["Pillar"], if outcome == "not_cancellable" { "Hot" } else { "DLQ" }, "{first} {n}");
        let acts = arrange::history(&mut b, id).await?;
        let cancelled = acts.iter().filter(|act| act["Action"] == "cancelled").count();
        assert_eq!(cancelled, usize::from(outcome.ends_with("cancelled")), "{first} {n}");
    }
    Ok(())
}

async fn an_edit_is_not_lost_to_who_waited_for_it(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    for (edit, second, args) in [
        ("UpdateJobData", "CancelJobs", args! { CancelledBy: "ann" }),
        ("UpdateJobData", "MoveToDLQ", args! { FailureReason: 6 }),
        ("UpdateDLQJobData", "Resurrect", args! { ResurrectedBy: "ann" }),
        ("UpdateDLQJobData", "ResurrectJobs", args! { ResurrectedBy: "ann" }),
    ] {
        arrange::pending(&mut a, "q", second).await?;
        if edit == "UpdateDLQJobData" {
            arrange::kill(&mut a, second).await?;
        }
        let first = (edit, args! { JobId: second, Payload: "[1]", Tags: "edited", ModifiedBy: "bob" });
        let mut call = match second {
            "CancelJobs" | "ResurrectJobs" => args! { JobIds: [second] },
            _ => args! { JobId: second },
        };
        call.extend(args);
        let row = meet(db, [&mut a, &mut b], first, End::Commit, (second, call)).await?.one();
        assert!(["cancelled", "moved", "resurrected"].contains(&&*row.text("Outcome")), "{second}: {row:?}");
        let job = arrange::job(&mut b, second).await?;
        assert_eq!(job["Payload"], "[1]", "{second}");
        assert_eq!(job["Tags"], "edited", "{second}");
    }
    Ok(())
}

async fn who_comes_to_a_job_that_is_being_cancelled_waits(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    for (n, end, second, outcome) in [
        (1, End::Commit, "MarkAsProcessing", "not_found"),
        (2, End::Rollback, "MarkAsProcessing", "started"),
        (3, End::Commit, "MarkJobsAsProcessing", "not_found"),
        (4, End::Rollback, "MarkJobsAsProcessing", "started"),
        (5, End::Commit, "ReleaseJob", "not_found"),
        (6, End::Commit, "KeepAlive", "lost"),
        (7, End::Rollback, "KeepAlive", "alive"),
        (8, End::Commit, "MoveToDLQ", "already_moved"),
    ] {
        let ids = two(&mut a, &format!("q{n}"), false).await?;
        let id = &*ids[1];
        let args = match second {
            "MarkJobsAsProcessing" | "KeepAlive" => args! { JobIds: [id], WorkerId: "w1" },
            "MoveToDLQ" => args! { JobId: id, FailureReason: 6 },
            _ => owned(id),
        };
        let rows = meet(db, [&mut a, &mut b], cancellation(&ids), end, (second, args)).await?;
        assert_eq!(rows.one()["Outcome"], outcome, "{second} {n}");
    }
    Ok(())
}

async fn a_fetch_passes_over_a_job_that_is_being_cancelled(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    let fetch = |queue: &str| ("FetchNextBatch", args! { WorkerId: "w1", Queues: [queue] });
    for (queue, end) in [("q1", End::Commit), ("q2", End::Rollback)] {
        let is_committed = matches!(end, End::Commit);
        let ids = [1, 2, 3].map(|n| format!("{queue} {n}"));
        arrange::many_pending(&mut a, queue, &ids).await?;
        a.begin().await?;
        a.call("CancelJobs", args! { JobIds: &ids[..2], CancelledBy: "ann" }).await?;
        let mut taken = beside(db, (&mut a, end), &mut b, fetch(queue)).await?.texts("JobId");
        if b.heeds_lock_hints() {
            assert_eq!(taken, ids[2..]);
        }
        taken.extend(b.call("FetchNextBatch", fetch(queue).1).await?.texts("JobId"));
        taken.sort();
        assert_eq!(taken, if is_committed { &ids[2..] } else { &ids[..] }, "{queue}");
    }
    Ok(())
}

async fn sets_in_opposite_order_never_deadlock(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    let count = |rows: &[Rows; 2], outcome: &str| {
        rows.iter().flat_map(|rows| &rows.rows).filter(|row| row["Outcome"] == outcome).count()
    };
    for round in 0..10 {
        let ids = arrange::ids(&format!("{round}-"), 100);
        let reversed: Vec<String> = ids.iter().rev().cloned().collect();
        arrange::many_pending(&mut a, "q", &ids).await?;
        arrange::fetch(&mut a, args! { WorkerId: "w1", BatchSize: 100 }).await?;
        let start = |ids: &[String]| args! { JobIds: ids, WorkerId: "w1" };
        let (x, y) = tokio::try_join!(
            a.call("MarkJobsAsProcessing", start(&ids)),
            b.call("MarkJobsAsProcessing", start(&reversed))
        )?;
        let rows = [x, y];
        assert_eq!((count(&rows, "started"), count(&rows, "already_started")), (100, 100));
        let end = |ids: &[String]| {
            let jobs: Vec<_> = ids.iter().map(|id| json!({"jobId": id, "attempt": 1})).collect();
            args! { Jobs: json!(jobs), WorkerId: "w1" }
        };
        let (x, y) = tokio::try_join!(
            a.call("ArchiveSucceededJobs", end(&ids)),
            b.call("ArchiveSucceededJobs", end(&reversed))
        )?;
        let rows = [x, y];
        assert_eq!((count(&rows, "archived"), count(&rows, "already_archived")), (100, 100));
    }
    Ok(())
}

async fn cancellations_and_workers_never_deadlock(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let ids = arrange::ids("j", 600);
    let reversed: Vec<String> = ids.iter().rev().cloned().collect();
    arrange::many_pending(&mut s, "q", &ids).await?;
    let [mut ann, mut bob] = db.sessions().await?;
    let cancel = async |s: &mut Session, ids: &[String], size: i64| {
        let args = args! { JobIds: ids, CancelledBy: "ann", BatchSize: size };
        let row = s.call_one("ArchiveCancelledBatch", args).await?;
        Ok::<_, SqlError>(row.int("CancelledCount"))
    };
    let workers: [Session; 2] = db.sessions().await?;
    let workers = workers.into_iter().zip(["w1", "w2"]).map(async |(mut s, worker)| {
        let mut archived = 0;
        loop {
            let ids = s.call("FetchNextBatch", args! { WorkerId: worker, BatchSize: 20 }).await?.texts("JobId");
            if ids.is_empty() {
                return Ok::<_, SqlError>(archived);
            }
            let started = s.call("MarkJobsAsProcessing", args! { JobIds: &ids, WorkerId: worker }).await?;
            let started = started.rows.iter().filter(|row| row["Outcome"] == "started");
            let jobs: Vec<_> = started.map(|row| json!({"jobId": row.text("JobId"), "attempt": 1})).collect();
            let ended = s.call("ArchiveSucceededJobs", args! { Jobs: json!(jobs), WorkerId: worker }).await?;
            assert!(ended.rows.iter().all(|row| row["Outcome"] == "archived"));
            archived += ended.rows.len() as i64;
        }
    });
    let (by_ann, by_bob, archived) =
        tokio::try_join!(cancel(&mut ann, &ids, 50), cancel(&mut bob, &reversed, 70), try_join_all(workers))?;
    let archived: i64 = archived.iter().sum();
    /* A fetch of nothing may have met a moment in which all was held. */
    let left = arrange::stats(&mut s, "q").await?;
    assert_eq!(by_ann + by_bob + archived + left.int("PendingCount"), 600);
    assert_eq!((left.int("FetchedCount"), left.int("ProcessingCount")), (0, 0));
    assert_eq!(left["SucceededTotal"], archived);
    assert_eq!(left["FailedTotal"], by_ann + by_bob);
    Ok(())
}
