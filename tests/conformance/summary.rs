//! usp_SummarizeDLQ, usp_GetSummaryStats and usp_GetJobHistory: what an operator looks at first, and last.

use chokaq_tests::{Args, Db, Result, Row, Scenario, Session, Value, args, scenarios, values};
use time::{Duration, OffsetDateTime};

use crate::arrange;

pub const SCENARIOS: &[Scenario] = scenarios![
    the_dlq_is_summed_up_by_queue_type_and_reason,
    a_summary_leaves_what_its_filters_say,
    a_group_tells_its_oldest_its_newest_and_its_last_hour,
    what_leaves_the_dlq_leaves_the_summary,
    the_totals_of_all_queues_are_one_row,
    without_queues_every_total_is_zero,
    the_history_of_a_job_tells_its_whole_story,
    every_act_of_an_operator_is_told_oldest_first,
    a_job_that_nobody_touched_has_no_history,
];

/// A job of that queue and type, dead for that reason.
async fn dead(s: &mut Session, id: &str, queue: &str, kind: &str, reason: i64) -> Result<()> {
    s.call("Enqueue", args! { Queue: queue, Type: kind, JobId: id }).await?;
    assert_eq!(s.outcome("MoveToDLQ", args! { JobId: id, FailureReason: reason }).await?, "moved");
    Ok(())
}

/// Each group as `queue/type/reason: count`.
async fn groups(s: &mut Session, args: Args) -> Result<Vec<String>> {
    let group = |row: &Row| {
        let names = ["Queue", "Type", "FailureReasonName"].map(|column| row.text(column)).join("/");
        format!("{names}: {}", row.int("JobCount"))
    };
    Ok(s.call("SummarizeDLQ", args).await?.rows.iter().map(group).collect())
}

/// Two queues and two types, alike but for a letter's case.
async fn several_dead(s: &mut Session) -> Result<()> {
    for (id, queue, kind, reason) in [
        ("a1", "q", "t", 7),
        ("a2", "q", "t", 7),
        ("a3", "q", "t", 1),
        ("a4", "q", "T", 7),
        ("a5", "Q", "t", 7),
        ("a6", "q", "t", 7),
        ("a7", "r", "t", 11),
        ("a8", "q", "t", 0),
        ("a9", "q", "t", 10),
    ] {
        dead(s, id, queue, kind, reason).await?;
    }
    Ok(())
}

async fn the_dlq_is_summed_up_by_queue_type_and_reason(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    assert!(s.call("SummarizeDLQ", args! {}).await?.rows.is_empty());
    several_dead(&mut s).await?;
    arrange::archived(&mut s, "r", "done").await?;
    arrange::pending(&mut s, "r", "pending").await?;
    let expected = [
        "Q/t/Timeout: 1",
        "q/T/Timeout: 1",
        "q/t/MaxRetriesExceeded: 1",
        "q/t/Cancelled: 1",
        "q/t/Timeout: 3",
        "q/t/RetryLifetimeExpired: 1",
        "r/t/Unknown: 1",
    ];
    assert_eq!(groups(&mut s, args! {}).await?, expected);
    let reasons = s.call("SummarizeDLQ", args! { Queue: "q", Type: "t" }).await?.column("FailureReason");
    assert_eq!(reasons, [0, 1, 7, 10].map(Value::Int));
    Ok(())
}

async fn a_summary_leaves_what_its_filters_say(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    several_dead(&mut s).await?;
    for (args, expected) in [
        (args! { Queue: "Q" }, vec!["Q/t/Timeout: 1"]),
        (args! { Queue: "r" }, vec!["r/t/Unknown: 1"]),
        (args! { Type: "T" }, vec!["q/T/Timeout: 1"]),
        (args! { Queue: "Q", Type: "T" }, vec![]),
        (args! { Queue: "nowhere" }, vec![]),
        (args! { Type: "nothing" }, vec![]),
    ] {
        assert_eq!(groups(&mut s, args.clone()).await?, expected, "{args:?}");
    }
    let of_t = groups(&mut s, args! { Type: "t" }).await?;
    assert_eq!(of_t.len(), 6);
    assert_eq!((&*of_t[0], &*of_t[5]), ("Q/t/Timeout: 1", "r/t/Unknown: 1"));
    Ok(())
}

async fn a_group_tells_its_oldest_its_newest_and_its_last_hour(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    /* Whole microseconds, which both engines keep. */
    let now = s.now().await?.replace_nanosecond(0)?;
    let ages = [("a1", 59), ("a2", 61), ("a3", 1), ("a4", 60 * 24 * 400), ("b1", 90)];
    for (id, minutes) in ages {
        dead(&mut s, id, if id == "b1" { "b" } else { "a" }, "t", 6).await?;
        let at = now - Duration::minutes(minutes);
        s.sql("UPDATE chokaq.JobsDLQ SET FailedAtUtc = @P1 WHERE Id = @P2", &values![at, id]).await?;
    }
    let rows = s.call("SummarizeDLQ", args! {}).await?.rows;
    for (row, queue, count, oldest, newest, last_hour) in
        [(&rows[0], "a", 4, 60 * 24 * 400, 1, 2), (&rows[1], "b", 1, 90, 90, 0)]
    {
        assert_eq!(row["Queue"], queue);
        assert_eq!(row["JobCount"], count, "{queue}");
        assert_eq!(row.time("OldestFailedAtUtc"), now - Duration::minutes(oldest), "{queue}");
        assert_eq!(row.time("NewestFailedAtUtc"), now - Duration::minutes(newest), "{queue}");
        assert_eq!(row["FailedLastHour"], last_hour, "{queue}");
    }
    Ok(())
}

async fn what_leaves_the_dlq_leaves_the_summary(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for id in ["a1", "a2", "a3"] {
        dead(&mut s, id, "q", "t", 7).await?;
    }
    s.call("Resurrect", args! { JobId: "a1", ResurrectedBy: "ann" }).await?;
    assert_eq!(groups(&mut s, args! {}).await?, ["q/t/Timeout: 2"]);
    s.call("PurgeDLQ", args! { JobIds: ["a2", "a3"], PurgedBy: "ann" }).await?;
    assert!(groups(&mut s, args! {}).await?.is_empty());
    s.call("CancelJobs", args! { JobIds: ["a1"], CancelledBy: "ann" }).await?;
    assert_eq!(groups(&mut s, args! {}).await?, ["q/t/Cancelled: 1"]);
    Ok(())
}

async fn the_totals_of_all_queues_are_one_row(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for queue in ["q", "r"] {
        let id = |what: &str| format!("{queue} {what}");
        arrange::archived(&mut s, queue, &id("done")).await?;
        arrange::dead(&mut s, queue, &id("dead")).await?;
        arrange::dead(&mut s, queue, &id("purged")).await?;
        s.call("PurgeDLQ", args! { JobIds: [&*id("purged")], PurgedBy: "ann" }).await?;
        arrange::processing(&mut s, queue, &id("retried")).await?;
        s.call("RescheduleForRetry", args! { JobId: id("retried"), DelaySeconds: 60 }).await?;
        arrange::dead(&mut s, queue, &id("back")).await?;
        s.call("Resurrect", args! { JobId: id("back"), ResurrectedBy: "ann" }).await?;
        arrange::take(&mut s, queue, &id("back"), true).await?;
        arrange::fetched(&mut s, queue, &id("fetched")).await?;
        arrange::pending(&mut s, queue, &id("pending")).await?;
    }
    arrange::pending(&mut s, "r", "one more").await?;
    s.call("SetQueuePaused", args! { Queue: "empty", IsPaused: true, ModifiedBy: "ann" }).await?;

    let totals = s.call_one("GetSummaryStats", args! {}).await?;
    for (column, value) in [
        ("QueueCount", 3),
        ("PendingCount", 5),
        ("FetchedCount", 2),
        ("ProcessingCount", 2),
        ("EnqueuedTotal", 15),
        ("SucceededTotal", 2),
        ("FailedTotal", 2),
        ("RetriedTotal", 2),
        ("DeadLetteredTotal", 6),
        ("ResurrectedTotal", 2),
        ("PurgedTotal", 2),
    ] {
        assert_eq!(totals[column], value, "{column}");
    }
    let queues = s.call("GetQueueStats", args! {}).await?.rows;
    let last: Option<OffsetDateTime> =
        queues.iter().filter(|row| row["Queue"] != "empty").map(|row| row.time("LastActivityUtc")).max();
    assert_eq!(Some(totals.time("LastActivityUtc")), last);
    Ok(())
}

async fn without_queues_every_total_is_zero(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let totals = s.call_one("GetSummaryStats", args! {}).await?;
    for column in [
        "QueueCount",
        "PendingCount",
        "FetchedCount",
        "ProcessingCount",
        "EnqueuedTotal",
        "SucceededTotal",
        "FailedTotal",
        "RetriedTotal",
        "DeadLetteredTotal",
        "ResurrectedTotal",
        "PurgedTotal",
    ] {
        assert_eq!(totals[column], 0, "{column}");
    }
    assert_eq!(totals["LastActivityUtc"], Value::Null);
    Ok(())
}

/// Runs the job and lets it fail for good; the instant is the failure's.
async fn run_and_fail(s: &mut Session, id: &str, reason: i64, error: &str) -> Result<OffsetDateTime> {
    arrange::take(s, "q", id, true).await?;
    let args = args! { JobId: id, WorkerId: "w1", Attempt: 1, FailureReason: reason, ErrorDetails: error };
    assert_eq!(s.outcome("FailJob", args).await?, "moved");
    Ok(arrange::job(s, id).await?.time("FailedAtUtc"))
}

/// Edit, resurrection, second failure and purge: who did what, with the first payload and the first error still there.
async fn the_history_of_a_job_tells_its_whole_story(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let broken = r#"{"to": "ann" "subject": "hello 🙂"}"#;
    let args = args! {
        Queue: "q", Type: "mail", JobId: "a1", Payload: broken, Tags: "new", Priority: 7, IdempotencyKey: "k",
    };
    s.call("Enqueue", args).await?;
    let first = run_and_fail(&mut s, "a1", 6, "a comma is missing").await?;
    let args = args! { JobId: "a1", Payload: r#"{"to": "ann"}"#, Tags: "repaired", ModifiedBy: "ann" };
    assert_eq!(s.outcome("UpdateDLQJobData", args).await?, "updated");
    assert_eq!(s.outcome("Resurrect", args! { JobId: "a1", ResurrectedBy: "bob" }).await?, "resurrected");
    let second = run_and_fail(&mut s, "a1", 4, "ann is unknown").await?;
    assert_eq!(s.outcome("PurgeDLQJobs", args! { JobIds: ["a1"], PurgedBy: "eve" }).await?, "purged");
    assert_eq!(arrange::pillar(&mut s, "a1").await?, "");

    let rows = s.call("GetJobHistory", args! { JobId: "a1" }).await?;
    assert_eq!(rows.texts("Action"), ["edited", "resurrected", "purged"]);
    assert_eq!(rows.texts("Actor"), ["ann", "bob", "eve"]);
    assert_eq!(rows.texts("FailureReasonName"), ["FatalError", "FatalError", "Rejected"]);
    assert_eq!(rows.column("FailureReason"), [6, 6, 4].map(Value::Int));
    assert_eq!(rows.texts("ErrorDetails"), ["a comma is missing", "a comma is missing", "ann is unknown"]);
    assert_eq!(rows.column("FailedAtUtc"), [first, first, second].map(Value::Time));
    assert_eq!(rows.column("AttemptCount"), [1, 1, 1].map(Value::Int));
    assert_eq!(rows.column("OldPayload"), [broken.into(), Value::Null, Value::Null]);
    assert_eq!(rows.column("OldTags"), ["new".into(), Value::Null, "repaired".into()]);
    assert_eq!(rows.column("OldPriority"), [Value::Null, 7.into(), 10.into()]);
    assert_eq!(rows.column("OldIdempotencyKey"), [Value::Null, "k".into(), Value::Null]);
    for row in &rows.rows {
        for (column, value) in [("JobId", "a1"), ("Queue", "q"), ("Type", "mail")] {
            assert_eq!(row[column], value, "{column}");
        }
        assert!(!row.text("Login").is_empty());
        assert!(arrange::close(row.time("AtUtc"), s.now().await?));
    }
    let numbers: Vec<i64> = rows.rows.iter().map(|row| row.int("HistoryId")).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    Ok(())
}

async fn every_act_of_an_operator_is_told_oldest_first(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for id in ["a1", "A1"] {
        arrange::pending(&mut s, "q", id).await?;
    }
    for (procedure, args, outcome) in [
        ("UpdateJobData", args! { JobId: "a1", Priority: 3, ModifiedBy: "ann" }, "updated"),
        ("CancelJobs", args! { JobIds: ["a1"], CancelledBy: "bob" }, "cancelled"),
        ("ResurrectJobs", args! { JobIds: ["a1"], ResurrectedBy: "eve" }, "resurrected"),
        ("MoveToDLQ", args! { JobId: "a1", FailureReason: 4, MovedBy: "dan" }, "moved"),
        ("UpdateDLQJobData", args! { JobId: "a1", Tags: "x", ModifiedBy: "ann" }, "updated"),
        ("Resurrect", args! { JobId: "a1", ResurrectedBy: "bob" }, "resurrected"),
    ] {
        assert_eq!(s.outcome(procedure, args).await?, outcome, "{procedure}");
    }
    s.call("UpdateJobData", args! { JobId: "A1", Priority: 4, ModifiedBy: "fay" }).await?;
    let rows = s.call("GetJobHistory", args! { JobId: "a1" }).await?;
    assert_eq!(rows.texts("Action"), ["edited", "cancelled", "resurrected", "isolated", "edited", "resurrected"]);
    assert_eq!(rows.texts("Actor"), ["ann", "bob", "eve", "dan", "ann", "bob"]);
    assert_eq!(s.call("GetJobHistory", args! { JobId: "A1" }).await?.texts("Actor"), ["fay"]);
    Ok(())
}

async fn a_job_that_nobody_touched_has_no_history(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "a1").await?;
    arrange::dead(&mut s, "q", "a2").await?;
    s.call("UpdateDLQJobData", args! { JobId: "a2", Tags: "x", ModifiedBy: "ann" }).await?;
    for id in ["nobody", "a1", "A2"] {
        assert!(s.call("GetJobHistory", args! { JobId: id }).await?.rows.is_empty(), "{id}");
    }
    Ok(())
}
