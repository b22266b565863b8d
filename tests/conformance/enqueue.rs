//! usp_Enqueue and usp_EnqueueMany.

use chokaq_tests::{Code, Db, Result, Scenario, Value, args, assert_refused, scenarios};
use serde_json::json;
use time::Duration;

use crate::arrange;

pub const SCENARIOS: &[Scenario] = scenarios![
    a_job_is_stored_with_everything_it_was_given,
    the_defaults_are_the_contracts,
    an_id_is_made_that_sorts_by_time,
    a_second_job_of_the_same_id_is_a_duplicate,
    an_id_that_has_ended_is_never_used_again,
    a_live_key_is_a_duplicate_and_tells_the_live_jobs_id,
    a_key_is_free_again_when_its_job_has_ended,
    the_key_decides_before_the_id,
    a_delayed_job_is_due_by_the_servers_clock,
    a_scheduled_job_is_due_at_its_time,
    a_delay_and_a_time_together_are_refused,
    many_jobs_are_enqueued_in_order,
    many_jobs_meet_their_duplicates_one_by_one,
    many_jobs_come_in_as_they_stand_in_the_array,
    many_jobs_of_several_queues_are_counted_each,
    an_empty_array_enqueues_nothing,
    a_bad_element_refuses_the_whole_array_and_names_itself,
    ten_thousand_jobs_are_the_most,
];

async fn a_job_is_stored_with_everything_it_was_given(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let row = s
        .call_one(
            "Enqueue",
            args! {
                Queue: "mail", Type: "email_v1", Payload: r#"{"to":"ann@example.com"}"#, JobId: "a1", Tags: "x,y",
                Priority: -7, IdempotencyKey: "k1", CreatedBy: "shop",
            },
        )
        .await?;
    assert_eq!(row["Outcome"], "enqueued");
    assert_eq!(row["JobId"], "a1");

    let now = s.now().await?;
    let job = arrange::job(&mut s, "a1").await?;
    for (column, value) in [
        ("Pillar", "Hot"),
        ("Queue", "mail"),
        ("Type", "email_v1"),
        ("Payload", r#"{"to":"ann@example.com"}"#),
        ("Tags", "x,y"),
        ("IdempotencyKey", "k1"),
        ("CreatedBy", "shop"),
    ] {
        assert_eq!(job[column], value, "{column}");
    }
    for (column, value) in [("Priority", -7), ("Status", 0), ("AttemptCount", 0), ("ResurrectCount", 0)] {
        assert_eq!(job[column], value, "{column}");
    }
    for column in ["WorkerId", "ScheduledAtUtc", "FetchedAtUtc", "StartedAtUtc", "HeartbeatUtc", "LastModifiedBy"] {
        assert_eq!(job[column], Value::Null, "{column}");
    }
    assert!(arrange::close(job.time("CreatedAtUtc"), now));
    assert!(arrange::close(job.time("DueAtUtc"), now));
    assert_eq!(arrange::stats(&mut s, "mail").await?["EnqueuedTotal"], 1);
    Ok(())
}

async fn the_defaults_are_the_contracts(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let id = s.call_one("Enqueue", args! { Queue: "q", Type: "t" }).await?.text("JobId");
    let job = arrange::job(&mut s, &id).await?;
    assert_eq!(job["Priority"], 10);
    for column in ["Payload", "Tags", "IdempotencyKey", "ScheduledAtUtc", "CreatedBy"] {
        assert_eq!(job[column], Value::Null, "{column}");
    }
    Ok(())
}

async fn an_id_is_made_that_sorts_by_time(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(s.call_one("Enqueue", args! { Queue: "q", Type: "t" }).await?.text("JobId"));
        /* Ids sort by the millisecond they were made in. */
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    }
    assert!(ids.is_sorted(), "{ids:?}");
    assert!(ids.iter().all(|id| id.len() == 36 && id.as_bytes()[14] == b'7'), "{ids:?}");
    Ok(())
}

async fn a_second_job_of_the_same_id_is_a_duplicate(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "q", "a1").await?;
    let again = s.call_one("Enqueue", args! { Queue: "other", Type: "t", JobId: "a1", Payload: "new" }).await?;
    assert_eq!(again["Outcome"], "duplicate_id");
    assert_eq!(again["JobId"], "a1");
    assert_eq!(arrange::job(&mut s, "a1").await?["Payload"], "{}");
    Ok(())
}

async fn an_id_that_has_ended_is_never_used_again(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::archived(&mut s, "q", "done").await?;
    arrange::dead(&mut s, "q", "dead").await?;
    for id in ["done", "dead"] {
        let args = args! { Queue: "q", Type: "t", JobId: id };
        assert_eq!(s.outcome("Enqueue", args).await?, "duplicate_id");
    }
    let jobs = json!([
        {"queue": "q", "type": "t", "jobId": "done"},
        {"queue": "q", "type": "t", "jobId": "new"},
        {"queue": "q", "type": "t", "jobId": "dead"},
    ]);
    let rows = s.call("EnqueueMany", args! { Jobs: jobs }).await?;
    assert_eq!(rows.texts("Outcome"), ["duplicate_id", "enqueued", "duplicate_id"]);
    assert_eq!(rows.texts("JobId"), ["done", "new", "dead"]);
    assert_eq!(arrange::pillar(&mut s, "done").await?, "Archive");
    assert_eq!(arrange::pillar(&mut s, "dead").await?, "DLQ");
    assert_eq!(arrange::stats(&mut s, "q").await?["EnqueuedTotal"], 3);
    Ok(())
}

async fn a_live_key_is_a_duplicate_and_tells_the_live_jobs_id(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: "a1", IdempotencyKey: "k" }).await?;
    let again = s.call_one("Enqueue", args! { Queue: "r", Type: "t", IdempotencyKey: "k" }).await?;
    assert_eq!(again["Outcome"], "duplicate_key");
    assert_eq!(again["JobId"], "a1");
    let other_case = s.call_one("Enqueue", args! { Queue: "q", Type: "t", IdempotencyKey: "K" }).await?;
    assert_eq!(other_case["Outcome"], "enqueued");
    Ok(())
}

async fn a_key_is_free_again_when_its_job_has_ended(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for id in ["a1", "a2", "a3"] {
        let args = args! { Queue: "q", Type: "t", JobId: id, IdempotencyKey: "k" };
        assert_eq!(s.outcome("Enqueue", args).await?, "enqueued");
        if id == "a1" {
            arrange::kill(&mut s, id).await?;
        } else {
            arrange::take(&mut s, "q", id, true).await?;
            assert_eq!(s.outcome("ArchiveSucceeded", args! { JobId: id }).await?, "archived");
        }
    }
    Ok(())
}

async fn the_key_decides_before_the_id(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let args = || args! { Queue: "q", Type: "t", JobId: "a1", IdempotencyKey: "k" };
    assert_eq!(s.outcome("Enqueue", args()).await?, "enqueued");
    let again = s.call_one("Enqueue", args()).await?;
    assert_eq!(again["Outcome"], "duplicate_key");
    assert_eq!(again["JobId"], "a1");
    Ok(())
}

async fn a_delayed_job_is_due_by_the_servers_clock(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let now = s.now().await?;
    s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: "a1", DelaySeconds: 3600 }).await?;
    let job = arrange::job(&mut s, "a1").await?;
    assert!(arrange::close(job.time("DueAtUtc"), now + Duration::HOUR));
    assert_eq!(job["ScheduledAtUtc"], job["DueAtUtc"]);
    assert!(arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?.is_empty());
    Ok(())
}

async fn a_scheduled_job_is_due_at_its_time(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let now = s.now().await?;
    let [past, future] = [now - Duration::HOUR, now + Duration::HOUR];
    s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: "past", ScheduledAtUtc: past }).await?;
    s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: "future", ScheduledAtUtc: future }).await?;
    assert!(arrange::close(arrange::job(&mut s, "future").await?.time("DueAtUtc"), future));
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?, ["past"]);
    Ok(())
}

async fn a_delay_and_a_time_together_are_refused(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let args = args! { Queue: "q", Type: "t", DelaySeconds: 1, ScheduledAtUtc: s.now().await? };
    assert_refused(s.call("Enqueue", args).await, db.engine, Code::InvalidArgument, "DelaySeconds");
    Ok(())
}

async fn many_jobs_are_enqueued_in_order(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let jobs = json!([
        {"queue": "q", "type": "t", "jobId": "z", "payload": "{\"a\":1}", "tags": "x", "priority": 5, "createdBy": "me"},
        {"queue": "q", "type": "t", "jobId": "y", "delaySeconds": 60, "idempotencyKey": "k"},
        {"queue": "q", "type": "t", "jobId": "x", "scheduledAtUtc": "2026-01-31T08:00:00.1234567Z"},
        {"queue": "q", "type": "t", "payload": null},
    ]);
    let rows = s.call("EnqueueMany", args! { Jobs: jobs }).await?;
    assert_eq!(rows.column("Ordinal"), [1, 2, 3, 4].map(Value::Int));
    assert_eq!(rows.texts("JobId")[..3], ["z", "y", "x"]);
    assert!(rows.rows.iter().all(|row| row["Outcome"] == "enqueued"));

    let now = s.now().await?;
    let job = arrange::job(&mut s, "z").await?;
    assert_eq!(job["Payload"], r#"{"a":1}"#);
    assert_eq!(job["Tags"], "x");
    assert_eq!(job["Priority"], 5);
    assert_eq!(job["CreatedBy"], "me");
    let job = arrange::job(&mut s, "y").await?;
    assert_eq!(job["IdempotencyKey"], "k");
    assert_eq!(job["Priority"], 10);
    assert!(arrange::close(job.time("DueAtUtc"), now + Duration::MINUTE));
    let scheduled = arrange::job(&mut s, "x").await?.time("ScheduledAtUtc");
    assert!((scheduled - time::macros::datetime!(2026-01-31 08:00:00.1234567 UTC)).abs() < Duration::MICROSECOND);
    assert_eq!(arrange::job(&mut s, &rows.texts("JobId")[3]).await?["Payload"], Value::Null);
    Ok(())
}

async fn many_jobs_meet_their_duplicates_one_by_one(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: "old", IdempotencyKey: "k" }).await?;
    let jobs = json!([
        {"queue": "q", "type": "t", "jobId": "a"},
        {"queue": "q", "type": "t", "jobId": "old"},
        {"queue": "q", "type": "t", "jobId": "b", "idempotencyKey": "k"},
        {"queue": "q", "type": "t", "jobId": "a"},
        {"queue": "q", "type": "t", "jobId": "c", "idempotencyKey": "n"},
        {"queue": "q", "type": "t", "jobId": "d", "idempotencyKey": "n"},
        {"queue": "q", "type": "t", "jobId": "A"},
        {"queue": "q", "type": "t", "jobId": "old", "idempotencyKey": "n"},
    ]);
    let rows = s.call("EnqueueMany", args! { Jobs: jobs }).await?;
    assert_eq!(
        rows.texts("Outcome"),
        [
            "enqueued",
            "duplicate_id",
            "duplicate_key",
            "duplicate_id",
            "enqueued",
            "duplicate_key",
            "enqueued",
            "duplicate_key"
        ]
    );
    assert_eq!(rows.texts("JobId"), ["a", "old", "old", "a", "c", "c", "A", "c"]);
    assert_eq!(arrange::stats(&mut s, "q").await?["EnqueuedTotal"], 4);
    Ok(())
}

/// Also the one whose key stands first with a job that is a duplicate.
async fn many_jobs_come_in_as_they_stand_in_the_array(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "other", "old").await?;
    let jobs = json!([
        {"queue": "q", "type": "t", "jobId": "old", "idempotencyKey": "k"},
        {"queue": "q", "type": "t", "jobId": "b", "idempotencyKey": "k"},
        {"queue": "q", "type": "t", "jobId": "a"},
    ]);
    let rows = s.call("EnqueueMany", args! { Jobs: jobs }).await?;
    assert_eq!(rows.texts("Outcome"), ["duplicate_id", "enqueued", "enqueued"]);
    let rows = s.call("FetchNextBatch", args! { WorkerId: "w1", Queues: ["q"] }).await?;
    assert_eq!(rows.texts("JobId"), ["b", "a"]);
    assert_eq!(rows.column("ScheduledAtUtc"), [Value::Null, Value::Null]);
    Ok(())
}

async fn many_jobs_of_several_queues_are_counted_each(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let jobs: Vec<_> = (0..30).map(|n| json!({"queue": format!("q{}", n % 3), "type": "t"})).collect();
    s.call("EnqueueMany", args! { Jobs: json!(jobs) }).await?;
    for queue in ["q0", "q1", "q2"] {
        assert_eq!(arrange::stats(&mut s, queue).await?["EnqueuedTotal"], 10);
    }
    Ok(())
}

async fn an_empty_array_enqueues_nothing(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    assert!(s.call("EnqueueMany", args! { Jobs: json!([]) }).await?.rows.is_empty());
    Ok(())
}

async fn a_bad_element_refuses_the_whole_array_and_names_itself(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let long = "x".repeat(256);
    for (bad, field) in [
        (json!({"type": "t"}), "queue"),
        (json!({"queue": null, "type": "t"}), "queue"),
        (json!({"queue": " q", "type": "t"}), "queue"),
        (json!({"queue": "q"}), "type"),
        (json!({"queue": "q", "type": long}), "type"),
        (json!({"queue": "q", "type": "t", "jobId": "x".repeat(51)}), "jobId"),
        (json!({"queue": "q", "type": "t", "jobId": ""}), "jobId"),
        (json!({"queue": "q", "type": "t", "tags": "x".repeat(1001)}), "tags"),
        (json!({"queue": "q", "type": "t", "idempotencyKey": "k "}), "idempotencyKey"),
        (json!({"queue": "q", "type": "t", "createdBy": "x".repeat(101)}), "createdBy"),
        (json!({"queue": "q", "type": "t", "priority": 1.5}), "priority"),
        (json!({"queue": "q", "type": "t", "priority": "1"}), "priority"),
        (json!({"queue": "q", "type": "t", "priority": 2147483648_i64}), "priority"),
        (json!({"queue": "q", "type": "t", "delaySeconds": -1}), "delaySeconds"),
        (json!({"queue": "q", "type": "t", "scheduledAtUtc": "tomorrow"}), "scheduledAtUtc"),
        (json!({"queue": "q", "type": "t", "scheduledAtUtc": "2026-02-30T08:00:00Z"}), "scheduledAtUtc"),
        (json!({"queue": "q", "type": "t", "scheduledAtUtc": "2026-01-31T08:00:00+07:00"}), "scheduledAtUtc"),
        (
            json!({"queue": "q", "type": "t", "delaySeconds": 1, "scheduledAtUtc": "2026-01-31T08:00:00Z"}),
            "delaySeconds",
        ),
        (json!({"queue": "q", "type": "t", "payload": {"a": 1}}), "payload"),
        (json!({"queue": "q", "type": "t", "Queue": "q"}), "Queue"),
        (json!({"queue": "q", "type": "t", "x".repeat(9_000): 1}), "xxx is not a field"),
        (json!(["q", "t"]), "object"),
        (json!("q"), "object"),
    ] {
        let jobs = json!([{"queue": "q", "type": "t"}, bad]);
        let result = s.call("EnqueueMany", args! { Jobs: jobs }).await;
        let error = result.expect_err(&format!("{bad} was taken"));
        assert!(error.is(Code::InvalidArgument, db.engine) && error.names("Jobs", db.engine), "{bad}: {error}");
        assert!(error.message.contains("element 2") && error.message.contains(field), "{bad}: {error}");
    }
    assert_eq!(s.count("SELECT COUNT(*) AS N FROM chokaq.JobsHot", &[]).await?, 0);
    Ok(())
}

async fn ten_thousand_jobs_are_the_most(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let jobs = |count: usize| json!(vec![json!({"queue": "q", "type": "t"}); count]);
    assert_refused(s.call("EnqueueMany", args! { Jobs: jobs(10_001) }).await, db.engine, Code::InvalidArgument, "Jobs");
    let rows = s.call("EnqueueMany", args! { Jobs: jobs(10_000) }).await?;
    assert_eq!(rows.rows.len(), 10_000);
    assert_eq!(arrange::stats(&mut s, "q").await?["PendingCount"], 10_000);
    Ok(())
}
