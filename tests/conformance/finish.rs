//! usp_ArchiveSucceeded, usp_RescheduleForRetry and usp_MoveToDLQ: the three ways out of Processing.

use chokaq_tests::{Args, Db, Result, Row, Scenario, Session, Value, args, scenarios};
use time::Duration;

use crate::arrange;

pub const SCENARIOS: &[Scenario] = scenarios![
    a_job_that_ran_well_goes_to_the_archive,
    archiving_again_says_so_to_the_same_owner,
    what_cannot_be_archived_says_why,
    a_duration_that_is_none_is_no_value_and_no_error,
    a_retry_goes_back_to_its_queue,
    a_retry_without_an_error_keeps_the_last_one,
    what_cannot_be_rescheduled_says_why,
    a_job_moves_to_the_dlq_with_everything,
    moving_again_says_so_to_the_same_owner,
    what_cannot_be_moved_says_why,
    a_pending_job_can_be_moved_without_an_owner,
    an_isolation_by_a_person_is_written_to_the_history,
    an_old_attempt_of_the_same_worker_ends_nothing,
    a_run_from_before_a_resurrection_ends_nothing_after_it,
];

async fn a_job_that_ran_well_goes_to_the_archive(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let args = args! {
        Queue: "q", Type: "t", JobId: "a1", Payload: "p", Tags: "x", Priority: 4, IdempotencyKey: "k", CreatedBy: "me",
    };
    s.call("Enqueue", args).await?;
    arrange::take(&mut s, "q", "a1", true).await?;
    let before = arrange::job(&mut s, "a1").await?;
    let args = args! { JobId: "a1", WorkerId: "w1", Attempt: 1, DurationMs: 12.5 };
    let row = s.call_one("ArchiveSucceeded", args).await?;
    assert_eq!(row["Outcome"], "archived");
    assert_eq!(row["JobId"], "a1");

    let job = arrange::job(&mut s, "a1").await?;
    assert_eq!(job["Pillar"], "Archive");
    assert_eq!(job["DurationMs"], Value::Float(12.5));
    assert!(arrange::close(job.time("FinishedAtUtc"), s.now().await?));
    for column in [
        "Queue",
        "Type",
        "Payload",
        "Tags",
        "Priority",
        "IdempotencyKey",
        "CreatedBy",
        "CreatedAtUtc",
        "AttemptCount",
        "WorkerId",
        "StartedAtUtc",
        "ScheduledAtUtc",
        "ResurrectCount",
    ] {
        assert_eq!(job[column], before[column], "{column}");
    }
    let stats = arrange::stats(&mut s, "q").await?;
    assert_eq!(stats["SucceededTotal"], 1);
    assert_eq!(stats["PendingCount"], 0);
    Ok(())
}

async fn archiving_again_says_so_to_the_same_owner(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::archived(&mut s, "q", "a1").await?;
    for (args, outcome) in [
        (args! { JobId: "a1", WorkerId: "w1", Attempt: 1 }, "already_archived"),
        (args! { JobId: "a1" }, "already_archived"),
        (args! { JobId: "a1", WorkerId: "w2" }, "not_owner"),
        (args! { JobId: "a1", WorkerId: "w1", Attempt: 2 }, "stale_attempt"),
    ] {
        assert_eq!(s.outcome("ArchiveSucceeded", args.clone()).await?, outcome, "{args:?}");
    }
    assert_eq!(arrange::stats(&mut s, "q").await?["SucceededTotal"], 1);
    Ok(())
}

/// A job in every state but the right one, and who asks.
async fn misses(s: &mut Session, procedure: &str, extra: impl Fn() -> Args) -> Result<()> {
    arrange::fetched(s, "m", "fetched").await?;
    arrange::processing(s, "m", "running").await?;
    arrange::pending(s, "m", "pending").await?;
    for (args, outcome) in [
        (args! { JobId: "running", WorkerId: "w2", Attempt: 1 }, "not_owner"),
        (args! { JobId: "running", WorkerId: "W1", Attempt: 1 }, "not_owner"),
        (args! { JobId: "running", WorkerId: "w1", Attempt: 2 }, "stale_attempt"),
        (args! { JobId: "running", Attempt: 2 }, "stale_attempt"),
        (args! { JobId: "fetched", WorkerId: "w1", Attempt: 1 }, "not_processing"),
        (args! { JobId: "fetched", WorkerId: "w2" }, "not_owner"),
        (args! { JobId: "pending" }, "not_processing"),
        (args! { JobId: "nobody", WorkerId: "w1", Attempt: 1 }, "not_found"),
        (args! { JobId: "Running" }, "not_found"),
    ] {
        let args = args.into_iter().chain(extra()).collect::<Args>();
        assert_eq!(s.outcome(procedure, args.clone()).await?, outcome, "{args:?}");
    }
    assert_eq!(arrange::job(s, "running").await?["Status"], 2);
    assert_eq!(arrange::job(s, "fetched").await?["Status"], 1);
    assert_eq!(arrange::job(s, "pending").await?["Status"], 0);
    Ok(())
}

async fn what_cannot_be_archived_says_why(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    misses(&mut s, "ArchiveSucceeded", Args::new).await?;
    arrange::dead(&mut s, "q", "dead").await?;
    assert_eq!(s.outcome("ArchiveSucceeded", args! { JobId: "dead" }).await?, "not_found");
    Ok(())
}

async fn a_duration_that_is_none_is_no_value_and_no_error(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (id, duration) in [("a1", Value::Float(-0.5)), ("a2", Value::Null), ("a3", Value::Int(-1))] {
        arrange::processing(&mut s, "q", id).await?;
        assert_eq!(s.outcome("ArchiveSucceeded", args! { JobId: id, DurationMs: duration }).await?, "archived");
        assert_eq!(arrange::job(&mut s, id).await?["DurationMs"], Value::Null, "{id}");
    }
    /* T-SQL's float has no such values. */
    if db.engine == chokaq_tests::Engine::Postgres {
        for (id, duration) in [("b1", f64::NAN), ("b2", f64::INFINITY), ("b3", f64::NEG_INFINITY)] {
            arrange::processing(&mut s, "q", id).await?;
            assert_eq!(s.outcome("ArchiveSucceeded", args! { JobId: id, DurationMs: duration }).await?, "archived");
            assert_eq!(arrange::job(&mut s, id).await?["DurationMs"], Value::Null, "{id}");
        }
    }
    arrange::processing(&mut s, "q", "c1").await?;
    s.call("ArchiveSucceeded", args! { JobId: "c1", DurationMs: 0.0 }).await?;
    assert_eq!(arrange::job(&mut s, "c1").await?["DurationMs"], Value::Float(0.0));
    Ok(())
}

async fn a_retry_goes_back_to_its_queue(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "a1").await?;
    let args = args! { JobId: "a1", WorkerId: "w1", Attempt: 1, DelaySeconds: 60, ErrorDetails: "broken pipe" };
    let row = s.call_one("RescheduleForRetry", args).await?;
    assert_eq!(row["Outcome"], "rescheduled");
    let now = s.now().await?;
    assert!(arrange::close(row.time("ScheduledAtUtc"), now + Duration::MINUTE));

    let job = arrange::job(&mut s, "a1").await?;
    assert_eq!(job["Status"], 0);
    assert_eq!(job["AttemptCount"], 1);
    assert_eq!(job["ErrorDetails"], "broken pipe");
    assert_eq!(job["ScheduledAtUtc"], row["ScheduledAtUtc"]);
    for column in ["WorkerId", "FetchedAtUtc", "StartedAtUtc", "HeartbeatUtc"] {
        assert_eq!(job[column], Value::Null, "{column}");
    }
    assert!(arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?.is_empty());
    assert_eq!(arrange::stats(&mut s, "q").await?["RetriedTotal"], 1);
    Ok(())
}

async fn a_retry_without_an_error_keeps_the_last_one(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "a1").await?;
    s.call("RescheduleForRetry", args! { JobId: "a1", ErrorDetails: "first" }).await?;
    arrange::take(&mut s, "q", "a1", true).await?;
    assert_eq!(s.outcome("RescheduleForRetry", args! { JobId: "a1", Attempt: 2 }).await?, "rescheduled");
    let job = arrange::job(&mut s, "a1").await?;
    assert_eq!(job["ErrorDetails"], "first");
    assert_eq!(job["AttemptCount"], 2);
    Ok(())
}

async fn what_cannot_be_rescheduled_says_why(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    misses(&mut s, "RescheduleForRetry", Args::new).await?;
    arrange::archived(&mut s, "q", "done").await?;
    let row = s.call_one("RescheduleForRetry", args! { JobId: "done" }).await?;
    assert_eq!(row["Outcome"], "not_found");
    assert_eq!(row["ScheduledAtUtc"], Value::Null);
    Ok(())
}

async fn a_job_moves_to_the_dlq_with_everything(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let args = args! {
        Queue: "q", Type: "t", JobId: "a1", Payload: "{broken", Tags: "x", Priority: 4, IdempotencyKey: "k", CreatedBy: "me",
    };
    s.call("Enqueue", args).await?;
    arrange::take(&mut s, "q", "a1", true).await?;
    let before = arrange::job(&mut s, "a1").await?;
    let args =
        args! { JobId: "a1", FailureReason: 7, ErrorDetails: "too slow\r\n  at f()", WorkerId: "w1", Attempt: 1 };
    let row = s.call_one("MoveToDLQ", args).await?;
    assert_eq!(row["Outcome"], "moved");
    assert_eq!(row["Queue"], "q");
    assert_eq!(row["AttemptCount"], 1);
    assert!(arrange::close(row.time("FailedAtUtc"), s.now().await?));

    let job = s.call_one("GetDLQJob", args! { JobId: "a1" }).await?;
    assert_eq!(job["FailureReason"], 7);
    assert_eq!(job["FailureReasonName"], "Timeout");
    assert_eq!(job["ErrorDetails"], "too slow\r\n  at f()");
    assert_eq!(job["FailedAtUtc"], row["FailedAtUtc"]);
    for column in [
        "Queue",
        "Type",
        "Payload",
        "Tags",
        "Priority",
        "IdempotencyKey",
        "CreatedBy",
        "CreatedAtUtc",
        "AttemptCount",
        "WorkerId",
        "StartedAtUtc",
        "HeartbeatUtc",
        "ScheduledAtUtc",
        "ResurrectCount",
    ] {
        assert_eq!(job[column], before[column], "{column}");
    }
    assert_ne!(job["Revision"], before["Revision"]);
    assert!(arrange::history(&mut s, "a1").await?.is_empty(), "a worker's failure is no act of an operator");
    let stats = arrange::stats(&mut s, "q").await?;
    assert_eq!(stats["DeadLetteredTotal"], 1);
    assert_eq!(stats["FailedTotal"], 1);
    Ok(())
}

async fn moving_again_says_so_to_the_same_owner(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "a1").await?;
    let args = || args! { JobId: "a1", FailureReason: 6, WorkerId: "w1", Attempt: 1 };
    let first = s.call_one("MoveToDLQ", args()).await?;
    let again = s.call_one("MoveToDLQ", args()).await?;
    assert_eq!(again["Outcome"], "already_moved");
    for column in ["Queue", "AttemptCount", "FailedAtUtc"] {
        assert_eq!(again[column], first[column], "{column}");
    }
    for (args, outcome) in [
        (args! { JobId: "a1", FailureReason: 6 }, "already_moved"),
        (args! { JobId: "a1", FailureReason: 6, WorkerId: "w2" }, "not_owner"),
        (args! { JobId: "a1", FailureReason: 6, WorkerId: "w1", Attempt: 2 }, "stale_attempt"),
    ] {
        assert_eq!(s.outcome("MoveToDLQ", args.clone()).await?, outcome, "{args:?}");
    }
    assert_eq!(arrange::stats(&mut s, "q").await?["DeadLetteredTotal"], 1);
    Ok(())
}

async fn what_cannot_be_moved_says_why(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "running").await?;
    arrange::pending(&mut s, "q", "pending").await?;
    arrange::archived(&mut s, "r", "done").await?;
    for (args, outcome) in [
        (args! { JobId: "running", WorkerId: "w2" }, "not_owner"),
        (args! { JobId: "running", WorkerId: "w1", Attempt: 2 }, "stale_attempt"),
        (args! { JobId: "running", Attempt: 0 }, "stale_attempt"),
        (args! { JobId: "pending", WorkerId: "w1" }, "not_owner"),
        (args! { JobId: "done" }, "not_found"),
        (args! { JobId: "nobody" }, "not_found"),
    ] {
        let args = args.into_iter().chain(args! { FailureReason: 6 }).collect::<Args>();
        assert_eq!(s.outcome("MoveToDLQ", args.clone()).await?, outcome, "{args:?}");
    }
    assert_eq!(arrange::job(&mut s, "running").await?["Status"], 2);
    Ok(())
}

async fn a_pending_job_can_be_moved_without_an_owner(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "q", "a1").await?;
    arrange::fetched(&mut s, "r", "a2").await?;
    for id in ["a1", "a2"] {
        assert_eq!(s.outcome("MoveToDLQ", args! { JobId: id, FailureReason: 1 }).await?, "moved");
        assert_eq!(arrange::pillar(&mut s, id).await?, "DLQ");
    }
    Ok(())
}

async fn an_isolation_by_a_person_is_written_to_the_history(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "q", "a1").await?;
    let args = args! { JobId: "a1", FailureReason: 4, ErrorDetails: "poison", MovedBy: "ann" };
    assert_eq!(s.outcome("MoveToDLQ", args).await?, "moved");
    let rows = arrange::history(&mut s, "a1").await?;
    assert_eq!(rows.len(), 1);
    for (column, value) in
        [("Action", "isolated"), ("Queue", "q"), ("Type", "t"), ("Actor", "ann"), ("ErrorDetails", "poison")]
    {
        assert_eq!(rows[0][column], value, "{column}");
    }
    assert_eq!(rows[0]["FailureReason"], 4);
    assert!(!rows[0].text("Login").is_empty());
    assert_eq!(arrange::job(&mut s, "a1").await?["LastModifiedBy"], "ann");
    Ok(())
}

async fn an_old_attempt_of_the_same_worker_ends_nothing(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "a1").await?;
    s.call("RescheduleForRetry", args! { JobId: "a1" }).await?;
    arrange::take(&mut s, "q", "a1", true).await?;
    for (procedure, extra) in [
        ("ArchiveSucceeded", args! {}),
        ("RescheduleForRetry", args! {}),
        ("MoveToDLQ", args! { FailureReason: 6 }),
        ("FailJob", args! { FailureReason: 6, ErrorDetails: "e" }),
    ] {
        let args = args! { JobId: "a1", WorkerId: "w1", Attempt: 1 }.into_iter().chain(extra).collect::<Args>();
        assert_eq!(s.outcome(procedure, args).await?, "stale_attempt", "{procedure}");
    }
    assert_eq!(s.outcome("ArchiveSucceeded", args! { JobId: "a1", WorkerId: "w1", Attempt: 2 }).await?, "archived");
    Ok(())
}

/// Attempts count from 0 again then, so worker and attempt alone look the same.
async fn a_run_from_before_a_resurrection_ends_nothing_after_it(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "q", "a1").await?;
    let fetch = args! { WorkerId: "w1", StartNow: true };
    let first = s.call_one("FetchNextBatch", fetch.clone()).await?;
    s.call("ArchiveZombies", args! { TimeoutSeconds: 0 }).await?;
    s.call("Resurrect", args! { JobId: "a1", ResurrectedBy: "ann" }).await?;
    let second = s.call_one("FetchNextBatch", fetch).await?;
    assert_eq!(first["AttemptCount"], second["AttemptCount"]);

    let run = |row: &Row, more: Args| {
        let mut args = args! {
            JobId: "a1", WorkerId: "w1", Attempt: row.int("AttemptCount"), ResurrectCount: row.int("ResurrectCount"),
        };
        args.extend(more);
        args
    };
    let ends = [
        ("ArchiveSucceeded", args! {}),
        ("RescheduleForRetry", args! {}),
        ("MoveToDLQ", args! { FailureReason: 6 }),
        ("FailJob", args! { FailureReason: 8, ErrorDetails: "e" }),
    ];
    for (procedure, more) in ends {
        assert_eq!(s.outcome(procedure, run(&first, more)).await?, "stale_attempt", "{procedure}");
    }
    assert_eq!(arrange::job(&mut s, "a1").await?["Status"], 2);
    assert_eq!(s.outcome("ArchiveSucceeded", run(&second, args! {})).await?, "archived");
    /* The late run did not do it, and is not told that it did. */
    assert_eq!(s.outcome("ArchiveSucceeded", run(&first, args! {})).await?, "stale_attempt");
    assert_eq!(s.outcome("ArchiveSucceeded", run(&second, args! {})).await?, "already_archived");
    Ok(())
}
