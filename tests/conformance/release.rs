//! usp_ReleaseWorker: what a worker that died had fetched goes back to its queues.

use chokaq_tests::{Db, Result, Scenario, Session, Value, args, scenarios};

use crate::arrange;

pub const SCENARIOS: &[Scenario] = scenarios![
    the_fetched_jobs_of_a_worker_are_released_to_their_old_places,
    a_running_job_is_reported_and_left,
    what_other_workers_hold_stays_theirs,
    a_worker_that_holds_nothing_releases_nothing,
    any_number_of_jobs_is_released_at_once,
    a_released_job_leaves_its_place_under_a_limit,
];

/// ReleasedCount and ProcessingCount.
async fn release(s: &mut Session, worker: &str) -> Result<(i64, i64)> {
    let row = s.call_one("ReleaseWorker", args! { WorkerId: worker }).await?;
    Ok((row.int("ReleasedCount"), row.int("ProcessingCount")))
}

async fn the_fetched_jobs_of_a_worker_are_released_to_their_old_places(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for id in ["a1", "a2", "a3"] {
        arrange::pending(&mut s, "q", id).await?;
    }
    arrange::pending(&mut s, "r", "b1").await?;
    let args = args! { WorkerId: "w1", BatchSize: 2, Queues: ["q"] };
    assert_eq!(arrange::fetch(&mut s, args).await?, ["a1", "a2"]);
    arrange::take(&mut s, "r", "b1", false).await?;
    assert_eq!(release(&mut s, "w1").await?, (3, 0));
    for id in ["a1", "a2", "b1"] {
        let job = arrange::job(&mut s, id).await?;
        assert_eq!(job["Status"], 0, "{id}");
        assert_eq!(job["AttemptCount"], 0, "{id}");
        for column in ["WorkerId", "FetchedAtUtc", "HeartbeatUtc"] {
            assert_eq!(job[column], Value::Null, "{id}: {column}");
        }
    }
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w2", Queues: ["q"] }).await?, ["a1", "a2", "a3"]);
    assert_eq!(s.outcome("MarkAsProcessing", args! { JobId: "b1", WorkerId: "w1" }).await?, "not_fetched");
    Ok(())
}

async fn a_running_job_is_reported_and_left(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "running").await?;
    arrange::processing(&mut s, "r", "running too").await?;
    arrange::fetched(&mut s, "q", "fetched").await?;
    assert_eq!(release(&mut s, "w1").await?, (1, 2));
    assert_eq!(release(&mut s, "w1").await?, (0, 2));
    let job = arrange::job(&mut s, "running").await?;
    assert_eq!(job["Status"], 2);
    assert_eq!(job["WorkerId"], "w1");
    /* The worker lives after all: what it runs is still its own to end. */
    let args = args! { JobId: "running", WorkerId: "w1", Attempt: 1 };
    assert_eq!(s.outcome("ArchiveSucceeded", args).await?, "archived");
    assert_eq!(release(&mut s, "w1").await?, (0, 1));
    Ok(())
}

async fn what_other_workers_hold_stays_theirs(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for worker in ["w1", "W1", "w2"] {
        arrange::pending(&mut s, "q", worker).await?;
        assert_eq!(arrange::fetch(&mut s, args! { WorkerId: worker }).await?, [worker]);
        arrange::pending(&mut s, "q", &format!("{worker} runs")).await?;
        arrange::fetch(&mut s, args! { WorkerId: worker, StartNow: true }).await?;
    }
    assert_eq!(release(&mut s, "w1").await?, (1, 1));
    for (id, status) in [("w1", 0), ("W1", 1), ("w2", 1), ("w1 runs", 2), ("W1 runs", 2), ("w2 runs", 2)] {
        assert_eq!(arrange::job(&mut s, id).await?["Status"], status, "{id}");
    }
    assert_eq!(arrange::job(&mut s, "W1").await?["WorkerId"], "W1");
    Ok(())
}

async fn a_worker_that_holds_nothing_releases_nothing(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    assert_eq!(release(&mut s, "w1").await?, (0, 0));
    arrange::pending(&mut s, "q", "pending").await?;
    arrange::fetched(&mut s, "r", "fetched").await?;
    arrange::archived(&mut s, "s", "done").await?;
    assert_eq!(release(&mut s, "nobody").await?, (0, 0));
    assert_eq!(arrange::job(&mut s, "fetched").await?["Status"], 1);
    Ok(())
}

async fn any_number_of_jobs_is_released_at_once(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::many_pending(&mut s, "q", &arrange::ids("j", 2_100)).await?;
    let mut held = 0;
    while held < 2_100 {
        held += arrange::fetch(&mut s, args! { WorkerId: "w1", BatchSize: 1_000 }).await?.len();
    }
    assert_eq!(release(&mut s, "w1").await?, (2_100, 0));
    let stats = arrange::stats(&mut s, "q").await?;
    assert_eq!((stats.int("PendingCount"), stats.int("FetchedCount")), (2_100, 0));
    Ok(())
}

async fn a_released_job_leaves_its_place_under_a_limit(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for id in ["a1", "a2"] {
        arrange::pending(&mut s, "q", id).await?;
    }
    arrange::set_queue(&mut s, "q", "MaxWorkers", 1).await?;
    arrange::take(&mut s, "q", "a1", false).await?;
    assert!(arrange::fetch(&mut s, args! { WorkerId: "w2" }).await?.is_empty());
    assert_eq!(release(&mut s, "w1").await?, (1, 0));
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w2" }).await?, ["a1"]);
    Ok(())
}
