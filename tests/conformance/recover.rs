//! usp_RecoverAbandoned and usp_ArchiveZombies, with their one-batch partners.

use chokaq_tests::{Db, Result, Scenario, Value, args, scenarios, values};

use crate::arrange;
use crate::rivals::{End, beside};

pub const SCENARIOS: &[Scenario] = scenarios![
    abandoned_jobs_go_back_to_pending,
    a_job_kept_alive_is_not_abandoned,
    a_running_job_is_never_recovered,
    abandoned_jobs_are_recovered_in_batches_to_the_last,
    one_batch_of_abandoned_jobs_says_where_to_go_on,
    zombies_go_to_the_dlq,
    a_zombie_keeps_the_error_of_the_attempt_before,
    each_queue_has_its_own_zombie_timeout,
    a_timeout_given_counts_for_every_queue,
    zombies_are_archived_in_batches_to_the_last,
    one_batch_of_zombies_says_where_to_go_on,
    a_sweep_of_nothing_does_nothing,
    a_job_held_by_another_session_is_reported_and_taken_later,
];

async fn abandoned_jobs_go_back_to_pending(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::fetched(&mut s, "q", "a1").await?;
    arrange::backdate(&mut s, "q", "HeartbeatUtc", 301).await?;
    arrange::fetched(&mut s, "r", "young").await?;
    let row = s.call_one("RecoverAbandoned", args! {}).await?;
    assert_eq!(row["RecoveredCount"], 1);
    assert_eq!(row["BatchCount"], 1);
    assert_eq!(row["SkippedCount"], 0);
    let job = arrange::job(&mut s, "a1").await?;
    assert_eq!(job["Status"], 0);
    assert_eq!(job["WorkerId"], Value::Null);
    assert_eq!(job["AttemptCount"], 0);
    assert_eq!(arrange::job(&mut s, "young").await?["Status"], 1);
    arrange::take(&mut s, "q", "a1", true).await
}

async fn a_job_kept_alive_is_not_abandoned(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::fetched(&mut s, "q", "a1").await?;
    arrange::backdate(&mut s, "q", "FetchedAtUtc", 1000).await?;
    arrange::backdate(&mut s, "q", "HeartbeatUtc", 1000).await?;
    s.call("KeepAlive", args! { JobIds: ["a1"], WorkerId: "w1" }).await?;
    assert_eq!(s.call_one("RecoverAbandoned", args! {}).await?["RecoveredCount"], 0);
    Ok(())
}

async fn a_running_job_is_never_recovered(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "a1").await?;
    assert_eq!(s.call_one("RecoverAbandoned", args! { TimeoutSeconds: 0 }).await?["RecoveredCount"], 0);
    assert_eq!(arrange::job(&mut s, "a1").await?["Status"], 2);
    Ok(())
}

async fn abandoned_jobs_are_recovered_in_batches_to_the_last(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for queue in ["a", "b"] {
        arrange::many_pending(&mut s, queue, &arrange::ids(queue, 12)).await?;
    }
    s.call("FetchNextBatch", args! { WorkerId: "w1", BatchSize: 24 }).await?;
    let row = s.call_one("RecoverAbandoned", args! { TimeoutSeconds: 0, BatchSize: 5 }).await?;
    assert_eq!(row["RecoveredCount"], 24);
    assert_eq!(row["BatchCount"], 5);
    assert_eq!(arrange::stats(&mut s, "a").await?["PendingCount"], 12);
    Ok(())
}

async fn one_batch_of_abandoned_jobs_says_where_to_go_on(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::many_pending(&mut s, "q", &arrange::ids("j", 5)).await?;
    s.call("FetchNextBatch", args! { WorkerId: "w1" }).await?;
    let row = s.call_one("RecoverAbandonedBatch", args! { TimeoutSeconds: 0, BatchSize: 3 }).await?;
    assert_eq!(row["RecoveredCount"], 3);
    assert_eq!(row["HasMore"], true);
    assert_eq!(row["LastQueue"], "q");
    assert_eq!(row["LastJobId"], "j00003");
    let args = args! { TimeoutSeconds: 0, BatchSize: 3, AfterQueue: "q", AfterJobId: "j00003" };
    let row = s.call_one("RecoverAbandonedBatch", args).await?;
    assert_eq!(row["RecoveredCount"], 2);
    assert_eq!(row["SkippedCount"], 0);
    assert_eq!(row["HasMore"], false);
    Ok(())
}

async fn zombies_go_to_the_dlq(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "a1").await?;
    arrange::backdate(&mut s, "q", "HeartbeatUtc", 601).await?;
    arrange::processing(&mut s, "r", "young").await?;
    arrange::fetched(&mut s, "f", "fetched").await?;
    arrange::backdate(&mut s, "f", "HeartbeatUtc", 601).await?;
    let row = s.call_one("ArchiveZombies", args! {}).await?;
    assert_eq!(row["MovedCount"], 1);
    assert_eq!(row["BatchCount"], 1);
    assert_eq!(row["SkippedCount"], 0);
    let job = s.call_one("GetDLQJob", args! { JobId: "a1" }).await?;
    assert_eq!(job["FailureReason"], 2);
    assert_eq!(job["FailureReasonName"], "Zombie");
    assert_eq!(job["WorkerId"], "w1");
    assert_eq!(job["AttemptCount"], 1);
    let error = job.text("ErrorDetails");
    assert!(error.contains("w1") && error.contains("600"), "{error}");
    for id in ["young", "fetched"] {
        assert_eq!(arrange::pillar(&mut s, id).await?, "Hot");
    }
    Ok(())
}

async fn a_zombie_keeps_the_error_of_the_attempt_before(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "a1").await?;
    s.call("RescheduleForRetry", args! { JobId: "a1", ErrorDetails: "first error 🙂" }).await?;
    arrange::take(&mut s, "q", "a1", true).await?;
    s.call("ArchiveZombies", args! { TimeoutSeconds: 0 }).await?;
    let error = arrange::job(&mut s, "a1").await?.text("ErrorDetails");
    assert!(error.contains("first error 🙂"), "{error}");
    Ok(())
}

async fn each_queue_has_its_own_zombie_timeout(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for queue in ["quick", "usual", "slow"] {
        arrange::processing(&mut s, queue, queue).await?;
        arrange::backdate(&mut s, queue, "HeartbeatUtc", 650).await?;
    }
    arrange::processing(&mut s, "quick", "fresh").await?;
    arrange::set_queue(&mut s, "quick", "ZombieTimeoutSeconds", 30).await?;
    arrange::set_queue(&mut s, "slow", "ZombieTimeoutSeconds", 3600).await?;
    assert_eq!(s.call_one("ArchiveZombies", args! {}).await?["MovedCount"], 2);
    for (id, pillar) in [("quick", "DLQ"), ("usual", "DLQ"), ("slow", "Hot"), ("fresh", "Hot")] {
        assert_eq!(arrange::pillar(&mut s, id).await?, pillar, "{id}");
    }
    Ok(())
}

async fn a_timeout_given_counts_for_every_queue(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "slow", "a1").await?;
    arrange::set_queue(&mut s, "slow", "ZombieTimeoutSeconds", 3600).await?;
    arrange::backdate(&mut s, "slow", "HeartbeatUtc", 20).await?;
    assert_eq!(s.call_one("ArchiveZombies", args! { TimeoutSeconds: 30 }).await?["MovedCount"], 0);
    assert_eq!(s.call_one("ArchiveZombies", args! { TimeoutSeconds: 10 }).await?["MovedCount"], 1);
    Ok(())
}

async fn zombies_are_archived_in_batches_to_the_last(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for queue in ["a", "b", "c"] {
        arrange::many_processing(&mut s, queue, &arrange::ids(queue, 11)).await?;
    }
    let row = s.call_one("ArchiveZombies", args! { TimeoutSeconds: 0, BatchSize: 10 }).await?;
    assert_eq!(row["MovedCount"], 33);
    assert_eq!(row["BatchCount"], 4);
    for queue in ["a", "b", "c"] {
        assert_eq!(arrange::stats(&mut s, queue).await?["FailedTotal"], 11, "{queue}");
    }
    Ok(())
}

async fn one_batch_of_zombies_says_where_to_go_on(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (queue, prefix) in [("b", "x"), ("a", "y")] {
        arrange::many_processing(&mut s, queue, &arrange::ids(prefix, 2)).await?;
    }
    let row = s.call_one("ArchiveZombiesBatch", args! { TimeoutSeconds: 0, BatchSize: 3 }).await?;
    assert_eq!(row["MovedCount"], 3);
    assert_eq!(row["HasMore"], true);
    assert_eq!(row["LastQueue"], "b");
    assert_eq!(row["LastJobId"], "x00001");
    let args = args! { TimeoutSeconds: 0, BatchSize: 3, AfterQueue: "b", AfterJobId: "x00001" };
    let row = s.call_one("ArchiveZombiesBatch", args).await?;
    assert_eq!(row["MovedCount"], 1);
    assert_eq!(row["SkippedCount"], 0);
    assert_eq!(row["HasMore"], false);
    Ok(())
}

async fn a_sweep_of_nothing_does_nothing(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let row = s.call_one("RecoverAbandoned", args! { TimeoutSeconds: 0 }).await?;
    assert_eq!((row.int("RecoveredCount"), row.int("BatchCount"), row.int("SkippedCount")), (0, 0, 0));
    let row = s.call_one("ArchiveZombies", args! { TimeoutSeconds: 0 }).await?;
    assert_eq!((row.int("MovedCount"), row.int("BatchCount"), row.int("SkippedCount")), (0, 0, 0));
    let row = s.call_one("ArchiveZombiesBatch", args! { TimeoutSeconds: 0 }).await?;
    assert_eq!(row["HasMore"], false);
    assert_eq!(row["LastJobId"], Value::Null);
    Ok(())
}

async fn a_job_held_by_another_session_is_reported_and_taken_later(db: &Db<'_>) -> Result<()> {
    let [mut s, mut holder] = db.sessions().await?;
    arrange::many_processing(&mut s, "q", &arrange::ids("j", 5)).await?;
    holder.begin().await?;
    holder.sql("UPDATE chokaq.JobsHot SET Tags = 'held' WHERE Id = @P1", &values!["j00002"]).await?;
    let sweep = ("ArchiveZombies", args! { TimeoutSeconds: 0, BatchSize: 2 });
    let row = beside(db, (&mut holder, End::Rollback), &mut s, sweep).await?.one();
    let left = i64::from(s.heeds_lock_hints());
    assert_eq!(row["MovedCount"], 5 - left);
    assert_eq!(row["SkippedCount"], left);
    let row = s.call_one("ArchiveZombies", args! { TimeoutSeconds: 0 }).await?;
    assert_eq!(row["MovedCount"], left);
    assert_eq!(row["SkippedCount"], 0);
    Ok(())
}
