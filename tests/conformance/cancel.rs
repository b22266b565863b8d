//! usp_CancelJobs and usp_ArchiveCancelledBatch.

use chokaq_tests::{Code, Db, Result, Rows, Scenario, Session, Value, args, assert_refused, scenarios, values};

use crate::arrange::{self, assert_outcomes};

pub const SCENARIOS: &[Scenario] = scenarios![
    a_job_that_waits_is_cancelled_with_everything,
    a_fetched_job_is_cancelled_under_its_worker,
    each_job_says_what_its_cancellation_did,
    a_reason_stands_before_the_last_error,
    a_reason_of_any_length_is_kept_to_the_letter,
    the_key_of_a_cancelled_job_is_free_again,
    every_cancellation_is_in_the_history,
    a_cancelled_job_is_counted_as_dead_lettered,
    a_cancelled_job_may_be_resurrected_and_cancelled_again,
    a_poison_row_stops_no_other_cancellation,
    four_thousand_ids_are_the_most_of_one_cancellation,
    any_number_of_jobs_is_cancelled_in_batches,
    a_cancellation_of_no_ids_does_nothing,
];

async fn cancel(s: &mut Session, ids: impl Into<Value>) -> Result<Rows> {
    Ok(s.call("CancelJobs", args! { JobIds: ids.into(), CancelledBy: "ann" }).await?)
}

async fn a_job_that_waits_is_cancelled_with_everything(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let args = args! {
        Queue: "q", Type: "t", JobId: "a1", Payload: "{broken", Tags: "x", Priority: 4, DelaySeconds: 60,
        IdempotencyKey: "k", CreatedBy: "me",
    };
    s.call("Enqueue", args).await?;
    let before = arrange::job(&mut s, "a1").await?;
    let args = args! { JobIds: ["a1"], CancelledBy: "ann", Reason: "sent by hand" };
    assert_outcomes(&s.call("CancelJobs", args).await?, &[("a1", "cancelled")]);
    assert_eq!(arrange::pillar(&mut s, "a1").await?, "DLQ");
    let job = s.call_one("GetDLQJob", args! { JobId: "a1" }).await?;
    assert_eq!(job["FailureReason"], 1);
    for (column, value) in
        [("FailureReasonName", "Cancelled"), ("ErrorDetails", "sent by hand"), ("LastModifiedBy", "ann")]
    {
        assert_eq!(job[column], value, "{column}");
    }
    assert!(arrange::close(job.time("FailedAtUtc"), s.now().await?));
    for column in [
        "Queue",
        "Type",
        "Payload",
        "Tags",
        "IdempotencyKey",
        "Priority",
        "AttemptCount",
        "WorkerId",
        "ScheduledAtUtc",
        "StartedAtUtc",
        "HeartbeatUtc",
        "CreatedAtUtc",
        "CreatedBy",
        "ResurrectCount",
    ] {
        assert_eq!(job[column], before[column], "{column}");
    }
    assert_ne!(job["Revision"], before["Revision"]);
    Ok(())
}

async fn a_fetched_job_is_cancelled_under_its_worker(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::fetched(&mut s, "q", "a1").await?;
    assert_outcomes(&cancel(&mut s, ["a1"]).await?, &[("a1", "cancelled")]);
    assert_eq!(arrange::job(&mut s, "a1").await?["WorkerId"], "w1");
    for procedure in ["MarkAsProcessing", "ReleaseJob"] {
        let args = args! { JobId: "a1", WorkerId: "w1" };
        assert_eq!(s.outcome(procedure, args).await?, "not_found", "{procedure}");
    }
    assert_eq!(s.outcome("MarkJobsAsProcessing", args! { JobIds: ["a1"], WorkerId: "w1" }).await?, "not_found");
    assert_eq!(s.outcome("KeepAlive", args! { JobIds: ["a1"], WorkerId: "w1" }).await?, "lost");
    Ok(())
}

async fn each_job_says_what_its_cancellation_did(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::archived(&mut s, "q", "done").await?;
    arrange::dead(&mut s, "q", "dead").await?;
    arrange::processing(&mut s, "q", "rejected").await?;
    let args = args! { JobId: "rejected", WorkerId: "w1", Attempt: 1, FailureReason: 1, ErrorDetails: "e" };
    assert_eq!(s.outcome("FailJob", args).await?, "moved");
    arrange::processing(&mut s, "q", "running").await?;
    arrange::fetched(&mut s, "q", "fetched").await?;
    for id in ["later", "pending", "Pending"] {
        arrange::pending(&mut s, "q", id).await?;
    }
    let before = arrange::job(&mut s, "running").await?;
    let ids = ["running", "pending", "nobody", "dead", "fetched", "pending", "done", "rejected"];
    let expected = [
        ("running", "not_cancellable"),
        ("pending", "cancelled"),
        ("nobody", "not_found"),
        ("dead", "not_found"),
        ("fetched", "cancelled"),
        ("done", "not_found"),
        ("rejected", "already_cancelled"),
    ];
    assert_outcomes(&cancel(&mut s, ids).await?, &expected);
    let repeated = ["fetched", "later", "pending"];
    let expected = [("fetched", "already_cancelled"), ("later", "cancelled"), ("pending", "already_cancelled")];
    assert_outcomes(&cancel(&mut s, repeated).await?, &expected);

    let after = arrange::job(&mut s, "running").await?;
    for column in ["Status", "WorkerId", "HeartbeatUtc", "LastUpdatedUtc", "Revision"] {
        assert_eq!(after[column], before[column], "{column}");
    }
    assert_eq!(arrange::job(&mut s, "Pending").await?["Status"], 0);
    assert_eq!(arrange::job(&mut s, "dead").await?["FailureReason"], 6);
    Ok(())
}

async fn a_reason_stands_before_the_last_error(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (id, reason, error) in [
        ("a1", Value::Null, "first"),
        ("a2", "no use".into(), "no use\nThe attempt before ended with: first"),
        ("a3", "".into(), "\nThe attempt before ended with: first"),
    ] {
        arrange::processing(&mut s, "q", id).await?;
        let args = args! { JobId: id, DelaySeconds: 60, ErrorDetails: "first" };
        assert_eq!(s.outcome("RescheduleForRetry", args).await?, "rescheduled");
        let args = args! { JobIds: [id], CancelledBy: "ann", Reason: reason };
        assert_outcomes(&s.call("CancelJobs", args).await?, &[(id, "cancelled")]);
        let job = arrange::job(&mut s, id).await?;
        assert_eq!(job["ErrorDetails"], error, "{id}");
        assert_eq!(job["AttemptCount"], 1, "{id}");
        assert_eq!(arrange::history(&mut s, id).await?[0]["ErrorDetails"], error, "{id}");
    }
    for (id, reason) in [("a4", Value::Null), ("a5", "no use".into()), ("a6", "".into())] {
        arrange::pending(&mut s, "q", id).await?;
        s.call("CancelJobs", args! { JobIds: [id], CancelledBy: "ann", Reason: reason.clone() }).await?;
        assert_eq!(arrange::job(&mut s, id).await?["ErrorDetails"], reason, "{id}");
    }
    Ok(())
}

async fn a_reason_of_any_length_is_kept_to_the_letter(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let long = "the customer (ü🙂) called\r\n\t".repeat(50_000);
    for (procedure, id) in [("CancelJobs", "a1"), ("ArchiveCancelledBatch", "a2")] {
        arrange::pending(&mut s, "q", id).await?;
        s.call(procedure, args! { JobIds: [id], CancelledBy: "ann", Reason: &long }).await?;
        assert!(arrange::job(&mut s, id).await?["ErrorDetails"] == long, "{procedure}");
        assert!(arrange::history(&mut s, id).await?[0]["ErrorDetails"] == long, "{procedure}");
    }
    Ok(())
}

async fn the_key_of_a_cancelled_job_is_free_again(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let job = |id: &'static str| args! { Queue: "q", Type: "t", JobId: id, IdempotencyKey: "k" };
    assert_eq!(s.outcome("Enqueue", job("a1")).await?, "enqueued");
    assert_eq!(s.outcome("Enqueue", job("a2")).await?, "duplicate_key");
    cancel(&mut s, ["a1"]).await?;
    assert_eq!(s.outcome("Enqueue", job("a2")).await?, "enqueued");
    assert_eq!(arrange::job(&mut s, "a1").await?["IdempotencyKey"], "k");
    Ok(())
}

async fn every_cancellation_is_in_the_history(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::fetched(&mut s, "q", "a").await?;
    arrange::pending(&mut s, "r", "b").await?;
    arrange::pending(&mut s, "q", "c").await?;
    s.call("CancelJobs", args! { JobIds: ["b", "nobody", "a"], CancelledBy: "ann", Reason: "no use" }).await?;
    s.call("CancelJobs", args! { JobIds: ["c", "a"], CancelledBy: "bob", Reason: "neither" }).await?;
    let mut batches = Vec::new();
    for (id, queue, actor, reason) in
        [("a", "q", "ann", "no use"), ("b", "r", "ann", "no use"), ("c", "q", "bob", "neither")]
    {
        let row = s.call_one("GetJobHistory", args! { JobId: id }).await?;
        let texts = [
            ("Action", "cancelled"),
            ("JobId", id),
            ("Queue", queue),
            ("Type", "t"),
            ("Actor", actor),
            ("FailureReasonName", "Cancelled"),
            ("ErrorDetails", reason),
        ];
        for (column, value) in texts {
            assert_eq!(row[column], value, "{id}: {column}");
        }
        assert_eq!(row["FailureReason"], 1, "{id}");
        assert!(!row.text("Login").is_empty(), "{id}");
        let dead = arrange::job(&mut s, id).await?;
        assert_eq!(row["AttemptCount"], dead["AttemptCount"], "{id}");
        assert_eq!(row["FailedAtUtc"], dead["FailedAtUtc"], "{id}");
        batches.push(row.text("BatchId"));
    }
    assert_eq!(batches[0], batches[1]);
    assert_ne!(batches[0], batches[2]);
    Ok(())
}

async fn a_cancelled_job_is_counted_as_dead_lettered(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::many_pending(&mut s, "q", &arrange::ids("a", 3)).await?;
    arrange::many_pending(&mut s, "r", &arrange::ids("b", 2)).await?;
    cancel(&mut s, ["a00003", "b00001", "a00001"]).await?;
    cancel(&mut s, ["a00003", "nobody"]).await?;
    for (queue, cancelled, pending) in [("q", 2, 1), ("r", 1, 1)] {
        let stats = arrange::stats(&mut s, queue).await?;
        for (column, value) in [
            ("DeadLetteredTotal", cancelled),
            ("FailedTotal", cancelled),
            ("PendingCount", pending),
            ("EnqueuedTotal", cancelled + pending),
            ("PurgedTotal", 0),
        ] {
            assert_eq!(stats[column], value, "{queue}: {column}");
        }
    }
    Ok(())
}

async fn a_cancelled_job_may_be_resurrected_and_cancelled_again(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::fetched(&mut s, "q", "a1").await?;
    for round in 1..=2 {
        assert_outcomes(&cancel(&mut s, ["a1"]).await?, &[("a1", "cancelled")]);
        assert_eq!(s.outcome("Resurrect", args! { JobId: "a1", ResurrectedBy: "bob" }).await?, "resurrected");
        let job = arrange::job(&mut s, "a1").await?;
        assert_eq!(job["ResurrectCount"], round);
        assert_eq!(job["WorkerId"], Value::Null);
    }
    arrange::take(&mut s, "q", "a1", true).await?;
    assert_outcomes(&cancel(&mut s, ["a1"]).await?, &[("a1", "not_cancellable")]);
    assert_eq!(s.outcome("ArchiveSucceeded", args! { JobId: "a1", WorkerId: "w1", Attempt: 1 }).await?, "archived");
    let actions = s.call("GetJobHistory", args! { JobId: "a1" }).await?.texts("Action");
    assert_eq!(actions, ["cancelled", "resurrected", "cancelled", "resurrected"]);
    Ok(())
}

async fn a_poison_row_stops_no_other_cancellation(db: &Db<'_>) -> Result<()> {
    db.expect_broken_accounts();
    let mut s = db.session().await?;
    for (table, queue) in [("JobsDLQ", "q"), ("JobsArchive", "r")] {
        let ids = arrange::ids(queue, 5);
        arrange::many_pending(&mut s, queue, &ids).await?;
        arrange::force(&mut s, &ids[2], table).await?;
        let rows = cancel(&mut s, &ids[1..4]).await?;
        assert_eq!(rows.texts("Outcome"), ["cancelled", "id_conflict", "cancelled"], "{table}");
        let args = args! { JobIds: &ids, CancelledBy: "ann" };
        let row = s.call_one("ArchiveCancelledBatch", args).await?;
        for (column, value) in [("CancelledCount", 2), ("AlreadyCancelledCount", 2), ("ConflictCount", 1)] {
            assert_eq!(row[column], value, "{table}: {column}");
        }
        let hot = "SELECT COUNT(*) AS N FROM chokaq.JobsHot WHERE Queue = @P1";
        assert_eq!(s.count(hot, &values![queue]).await?, 1, "{table}");
        assert_eq!(arrange::stats(&mut s, queue).await?["DeadLetteredTotal"], 4, "{table}");
        assert!(arrange::history(&mut s, &ids[2]).await?.is_empty(), "{table}");
    }
    Ok(())
}

async fn four_thousand_ids_are_the_most_of_one_cancellation(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let ids = arrange::ids("j", 4_001);
    arrange::many_pending(&mut s, "q", &ids).await?;
    let result = s.call("CancelJobs", args! { JobIds: &ids, CancelledBy: "ann" }).await;
    assert_refused(result, db.engine, Code::InvalidArgument, "JobIds");
    assert_eq!(arrange::stats(&mut s, "q").await?["PendingCount"], 4_001);
    let rows = cancel(&mut s, &ids[1..]).await?;
    assert_eq!(rows.texts("JobId"), ids[1..]);
    assert!(rows.rows.iter().all(|row| row["Outcome"] == "cancelled"));
    let stats = arrange::stats(&mut s, "q").await?;
    assert_eq!((stats.int("PendingCount"), stats.int("FailedTotal")), (1, 4_000));
    Ok(())
}

async fn any_number_of_jobs_is_cancelled_in_batches(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let mut ids = arrange::ids("j", 25);
    arrange::many_pending(&mut s, "q", &ids).await?;
    arrange::dead(&mut s, "r", "dead").await?;
    arrange::processing(&mut s, "r", "running").await?;
    arrange::fetched(&mut s, "r", "fetched").await?;
    for id in ["dead", "running", "fetched", "nobody", "j00003"] {
        ids.push(id.to_owned());
    }
    let args = args! { JobIds: &ids, CancelledBy: "ann", Reason: "all of them", BatchSize: 10 };
    let row = s.call_one("ArchiveCancelledBatch", args.clone()).await?;
    for (column, value) in [
        ("RequestedCount", 29),
        ("CancelledCount", 26),
        ("AlreadyCancelledCount", 0),
        ("NotFoundCount", 2),
        ("NotCancellableCount", 1),
        ("ConflictCount", 0),
        ("BatchCount", 3),
    ] {
        assert_eq!(row[column], value, "{column}");
    }
    let sql = "SELECT COUNT(*) AS N FROM chokaq.OperatorHistory
        WHERE Action = 'cancelled' AND Actor = 'ann' AND ErrorDetails = 'all of them'";
    assert_eq!(s.count(sql, &[]).await?, 26);
    let sql = "SELECT COUNT(DISTINCT BatchId) AS N FROM chokaq.OperatorHistory WHERE Action = 'cancelled'";
    assert_eq!(s.count(sql, &[]).await?, 3);
    let row = s.call_one("ArchiveCancelledBatch", args).await?;
    assert_eq!((row.int("CancelledCount"), row.int("AlreadyCancelledCount")), (0, 26));
    Ok(())
}

async fn a_cancellation_of_no_ids_does_nothing(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "q", "a1").await?;
    let none: [&str; 0] = [];
    assert!(cancel(&mut s, none).await?.rows.is_empty());
    let row = s.call_one("ArchiveCancelledBatch", args! { JobIds: none, CancelledBy: "ann" }).await?;
    assert_eq!((row.int("RequestedCount"), row.int("CancelledCount"), row.int("BatchCount")), (0, 0, 0));
    let result = s.call("ArchiveCancelledBatch", args! { JobIds: none, CancelledBy: "" }).await;
    assert_refused(result, db.engine, Code::InvalidArgument, "CancelledBy");
    assert_eq!(arrange::job(&mut s, "a1").await?["Status"], 0);
    Ok(())
}
