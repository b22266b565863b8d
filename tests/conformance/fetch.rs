//! usp_FetchNextBatch.

use chokaq_tests::{Db, Result, Scenario, Value, args, scenarios, values};

use crate::arrange;

pub const SCENARIOS: &[Scenario] = scenarios![
    jobs_come_by_priority_then_due_time_then_arrival,
    the_order_holds_across_queues,
    a_claimed_job_is_the_workers,
    start_now_starts_in_the_same_write,
    a_claimed_job_is_not_fetched_again,
    ten_jobs_is_the_default,
    only_the_named_queues_are_fetched,
    no_queue_named_is_no_job,
    paused_and_inactive_queues_are_passed_over,
    a_full_queue_gives_no_more_than_max_workers,
    a_queue_of_no_workers_gives_nothing,
    a_job_that_became_due_is_fetched,
    a_delayed_job_of_high_priority_waits_for_its_time,
    an_unknown_queue_gives_nothing,
    a_big_batch_takes_everything_in_order,
];

async fn jobs_come_by_priority_then_due_time_then_arrival(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let now = s.now().await?;
    for (id, priority, due_in) in
        [("a", 10, -10), ("b", 20, -5), ("c", 20, -50), ("d", 10, -10), ("e", 10, -60), ("f", -1, -99)]
    {
        let due = now + time::Duration::seconds(due_in);
        s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: id, Priority: priority, ScheduledAtUtc: due }).await?;
    }
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?, ["c", "b", "e", "a", "d", "f"]);
    Ok(())
}

async fn the_order_holds_across_queues(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let mut expected = Vec::new();
    for n in 0..60_i64 {
        let id = format!("j{n:03}");
        let priority = n * 7 % 5;
        s.call("Enqueue", args! { Queue: format!("q{}", n % 4), Type: "t", JobId: &id, Priority: priority }).await?;
        expected.push((-priority, id));
    }
    expected.sort();
    for chunk in expected.chunks(9) {
        let ids: Vec<_> = chunk.iter().map(|(_, id)| id.clone()).collect();
        assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w1", BatchSize: 9 }).await?, ids);
    }
    Ok(())
}

async fn a_claimed_job_is_the_workers(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    s.call(
        "Enqueue",
        args! {
            Queue: "q", Type: "t", JobId: "a1", Payload: "p", Tags: "x", Priority: 3, IdempotencyKey: "k", CreatedBy: "me",
        },
    )
    .await?;
    let row = s.call_one("FetchNextBatch", args! { WorkerId: "w1" }).await?;
    for (column, value) in [
        ("JobId", "a1"),
        ("Queue", "q"),
        ("Type", "t"),
        ("Payload", "p"),
        ("Tags", "x"),
        ("IdempotencyKey", "k"),
        ("CreatedBy", "me"),
    ] {
        assert_eq!(row[column], value, "{column}");
    }
    for (column, value) in [("Priority", 3), ("AttemptCount", 0), ("ResurrectCount", 0)] {
        assert_eq!(row[column], value, "{column}");
    }
    assert_eq!(row["ScheduledAtUtc"], Value::Null);

    let job = arrange::job(&mut s, "a1").await?;
    assert_eq!(row["CreatedAtUtc"], job["CreatedAtUtc"]);
    assert_eq!(job["Status"], 1);
    assert_eq!(job["WorkerId"], "w1");
    assert_eq!(job["StartedAtUtc"], Value::Null);
    assert!(arrange::close(job.time("FetchedAtUtc"), s.now().await?));
    assert_eq!(job["HeartbeatUtc"], job["FetchedAtUtc"]);
    Ok(())
}

async fn start_now_starts_in_the_same_write(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "q", "a1").await?;
    let row = s.call_one("FetchNextBatch", args! { WorkerId: "w1", StartNow: true }).await?;
    assert_eq!(row["AttemptCount"], 1);
    let job = arrange::job(&mut s, "a1").await?;
    assert_eq!(job["Status"], 2);
    assert_eq!(job["AttemptCount"], 1);
    assert_eq!(job["StartedAtUtc"], job["FetchedAtUtc"]);
    Ok(())
}

async fn a_claimed_job_is_not_fetched_again(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::fetched(&mut s, "q", "a1").await?;
    arrange::processing(&mut s, "q", "a2").await?;
    assert!(arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?.is_empty());
    Ok(())
}

async fn ten_jobs_is_the_default(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::many_pending(&mut s, "q", &arrange::ids("j", 12)).await?;
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?.len(), 10);
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?.len(), 2);
    Ok(())
}

async fn only_the_named_queues_are_fetched(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (queue, id) in [("a", "1"), ("A", "2"), ("b", "3"), ("c", "4")] {
        arrange::pending(&mut s, queue, id).await?;
    }
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w1", Queues: ["b", "a", "b"] }).await?, ["1", "3"]);
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?, ["2", "4"]);
    Ok(())
}

async fn no_queue_named_is_no_job(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "q", "a1").await?;
    let none: [&str; 0] = [];
    assert!(arrange::fetch(&mut s, args! { WorkerId: "w1", Queues: none }).await?.is_empty());
    Ok(())
}

async fn paused_and_inactive_queues_are_passed_over(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for queue in ["paused", "inactive", "open"] {
        arrange::pending(&mut s, queue, queue).await?;
    }
    arrange::set_queue(&mut s, "paused", "IsPaused", true).await?;
    arrange::set_queue(&mut s, "inactive", "IsActive", false).await?;
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?, ["open"]);
    assert!(arrange::fetch(&mut s, args! { WorkerId: "w1", Queues: ["paused"] }).await?.is_empty());
    arrange::set_queue(&mut s, "paused", "IsPaused", false).await?;
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?, ["paused"]);
    Ok(())
}

async fn a_full_queue_gives_no_more_than_max_workers(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::many_pending(&mut s, "capped", &arrange::ids("c", 10)).await?;
    arrange::many_pending(&mut s, "open", &arrange::ids("o", 3)).await?;
    arrange::set_queue(&mut s, "capped", "MaxWorkers", 4).await?;
    let first = arrange::fetch(&mut s, args! { WorkerId: "w1", BatchSize: 5 }).await?;
    assert_eq!(first, ["c00001", "c00002", "c00003", "c00004", "o00001"]);
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w2", BatchSize: 5 }).await?, ["o00002", "o00003"]);

    /* Fetched and Processing both count; room comes back as jobs leave. */
    s.call("MarkAsProcessing", args! { JobId: "c00001", WorkerId: "w1" }).await?;
    assert!(arrange::fetch(&mut s, args! { WorkerId: "w2" }).await?.is_empty());
    s.call("ArchiveSucceeded", args! { JobId: "c00001" }).await?;
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w2" }).await?, ["c00005"]);
    Ok(())
}

async fn a_queue_of_no_workers_gives_nothing(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "q", "a1").await?;
    arrange::set_queue(&mut s, "q", "MaxWorkers", 0).await?;
    assert!(arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?.is_empty());
    Ok(())
}

async fn a_job_that_became_due_is_fetched(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: "a1", DelaySeconds: 3600, Priority: 20 }).await?;
    arrange::pending(&mut s, "q", "a2").await?;
    arrange::backdate(&mut s, "q", "DueAtUtc", 1).await?;
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?, ["a1", "a2"]);
    Ok(())
}

async fn a_delayed_job_of_high_priority_waits_for_its_time(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: "later", DelaySeconds: 3600, Priority: 99 }).await?;
    arrange::pending(&mut s, "q", "now").await?;
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?, ["now"]);
    Ok(())
}

async fn an_unknown_queue_gives_nothing(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    assert!(arrange::fetch(&mut s, args! { WorkerId: "w1", Queues: ["nowhere"] }).await?.is_empty());
    assert_eq!(s.count("SELECT COUNT(*) AS N FROM chokaq.Queues WHERE Queue = @P1", &values!["nowhere"]).await?, 0);
    Ok(())
}

async fn a_big_batch_takes_everything_in_order(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let ids = arrange::ids("j", 1_000);
    arrange::many_pending(&mut s, "q", &ids).await?;
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w1", BatchSize: 1000 }).await?, ids);
    Ok(())
}
