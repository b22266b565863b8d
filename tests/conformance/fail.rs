//! usp_FailJob: the queue's retry policy decides.

use chokaq_tests::{Db, Result, Row, Scenario, Session, Value, args, scenarios};
use time::Duration;

use crate::arrange;

pub const SCENARIOS: &[Scenario] = scenarios![
    a_transient_failure_is_retried_until_the_attempts_are_used_up,
    the_delay_grows_by_the_policy_and_is_held_at_its_maximum,
    a_jitter_stays_within_its_seconds,
    a_worker_may_say_when_to_retry,
    fatal_rejected_and_cancelled_jobs_are_never_retried,
    a_job_too_old_for_its_next_run_has_expired,
    failing_again_says_so_to_the_same_owner,
    what_cannot_be_failed_says_why,
    a_worker_spelled_in_another_case_is_another_worker,
    an_error_is_kept_between_the_attempts,
];

async fn fail(s: &mut Session, id: &str, attempt: i64, reason: i64) -> Result<Row> {
    let args = args! { JobId: id, WorkerId: "w1", Attempt: attempt, FailureReason: reason, ErrorDetails: "e" };
    Ok(s.call_one("FailJob", args).await?)
}

/// Makes the queue's delayed jobs due and starts the first of them.
async fn start_next(s: &mut Session, id: &str) -> Result<()> {
    arrange::backdate(s, "q", "DueAtUtc", 1).await?;
    arrange::take(s, "q", id, true).await
}

async fn a_transient_failure_is_retried_until_the_attempts_are_used_up(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "a1").await?;
    for attempt in 1..=2 {
        let row = fail(&mut s, "a1", attempt, 8).await?;
        assert_eq!(row["Outcome"], "rescheduled");
        assert_eq!(row["FailureReason"], 8);
        start_next(&mut s, "a1").await?;
    }
    let row = fail(&mut s, "a1", 3, 8).await?;
    assert_eq!(row["Outcome"], "moved");
    assert_eq!(row["FailureReason"], 0);
    assert_eq!(row["ScheduledAtUtc"], Value::Null);
    let job = arrange::job(&mut s, "a1").await?;
    assert_eq!(job["Pillar"], "DLQ");
    assert_eq!(job["FailureReason"], 0);
    assert_eq!(job["AttemptCount"], 3);
    assert_eq!(arrange::stats(&mut s, "q").await?["RetriedTotal"], 2);
    Ok(())
}

async fn the_delay_grows_by_the_policy_and_is_held_at_its_maximum(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "a1").await?;
    arrange::set_queue(&mut s, "q", "MaxAttempts", 100).await?;
    arrange::set_queue(&mut s, "q", "BaseDelaySeconds", 10).await?;
    arrange::set_queue(&mut s, "q", "BackoffMultiplier", 3.0).await?;
    arrange::set_queue(&mut s, "q", "MaxDelaySeconds", 200).await?;
    for (attempt, delay) in [(1, 10), (2, 30), (3, 90), (4, 200), (5, 200)] {
        let now = s.now().await?;
        let due = fail(&mut s, "a1", attempt, 8).await?.time("ScheduledAtUtc");
        assert!(arrange::close(due, now + Duration::seconds(delay)), "attempt {attempt}: {}", due - now);
        start_next(&mut s, "a1").await?;
    }
    Ok(())
}

async fn a_jitter_stays_within_its_seconds(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let ids = arrange::ids("j", 30);
    arrange::many_processing(&mut s, "q", &ids).await?;
    arrange::set_queue(&mut s, "q", "JitterSeconds", 1000).await?;
    let mut delays = Vec::new();
    for id in &ids {
        let now = s.now().await?;
        delays.push((fail(&mut s, id, 1, 8).await?.time("ScheduledAtUtc") - now).whole_seconds());
    }
    assert!(delays.iter().all(|delay| (4..=1006).contains(delay)), "{delays:?}");
    /* Thirty of a thousand: that all fall on one value is no chance worth waiting for. */
    assert!(delays.iter().max() > delays.iter().min(), "{delays:?}");
    Ok(())
}

async fn a_worker_may_say_when_to_retry(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "a1").await?;
    let now = s.now().await?;
    let args = args! {
        JobId: "a1", WorkerId: "w1", Attempt: 1, FailureReason: 5, ErrorDetails: "429", RetryAfterSeconds: 7200,
    };
    let row = s.call_one("FailJob", args).await?;
    assert_eq!(row["Outcome"], "rescheduled");
    assert!(arrange::close(row.time("ScheduledAtUtc"), now + Duration::hours(2)));
    Ok(())
}

async fn fatal_rejected_and_cancelled_jobs_are_never_retried(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for reason in [1, 4, 6] {
        let id = format!("a{reason}");
        arrange::processing(&mut s, "q", &id).await?;
        let row = fail(&mut s, &id, 1, reason).await?;
        assert_eq!(row["Outcome"], "moved");
        assert_eq!(row["FailureReason"], reason);
        assert_eq!(arrange::job(&mut s, &id).await?["FailureReason"], reason);
    }
    for reason in [0, 2, 3, 5, 7, 8, 9, 10, 11] {
        let id = format!("a{reason}");
        arrange::processing(&mut s, "r", &id).await?;
        assert_eq!(fail(&mut s, &id, 1, reason).await?["Outcome"], "rescheduled", "reason {reason}");
    }
    Ok(())
}

async fn a_job_too_old_for_its_next_run_has_expired(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "young").await?;
    arrange::processing(&mut s, "q", "old").await?;
    arrange::set_queue(&mut s, "q", "MaxJobAgeSeconds", 100).await?;
    assert_eq!(fail(&mut s, "young", 1, 8).await?["Outcome"], "rescheduled");
    let args = args! {
        JobId: "old", WorkerId: "w1", Attempt: 1, FailureReason: 8, ErrorDetails: "e", RetryAfterSeconds: 101,
    };
    let row = s.call_one("FailJob", args).await?;
    assert_eq!(row["Outcome"], "moved");
    assert_eq!(row["FailureReason"], 10);
    Ok(())
}

async fn failing_again_says_so_to_the_same_owner(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "a1").await?;
    assert_eq!(fail(&mut s, "a1", 1, 6).await?["Outcome"], "moved");
    let again = fail(&mut s, "a1", 1, 8).await?;
    assert_eq!(again["Outcome"], "already_moved");
    assert_eq!(again["FailureReason"], 6);
    assert_eq!(fail(&mut s, "a1", 2, 6).await?["Outcome"], "stale_attempt");
    Ok(())
}

async fn what_cannot_be_failed_says_why(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::fetched(&mut s, "q", "fetched").await?;
    arrange::processing(&mut s, "q", "running").await?;
    arrange::archived(&mut s, "r", "done").await?;
    arrange::pending(&mut s, "q", "pending").await?;
    for (id, worker, attempt, outcome) in [
        ("running", "w2", 1, "not_owner"),
        ("running", "w1", 2, "stale_attempt"),
        ("fetched", "w1", 1, "not_processing"),
        ("pending", "w1", 1, "not_processing"),
        ("done", "w1", 1, "not_found"),
        ("nobody", "w1", 1, "not_found"),
    ] {
        let args = args! { JobId: id, WorkerId: worker, Attempt: attempt, FailureReason: 6, ErrorDetails: "e" };
        assert_eq!(s.outcome("FailJob", args).await?, outcome, "{id} by {worker}, attempt {attempt}");
    }
    assert_eq!(arrange::job(&mut s, "running").await?["Status"], 2);
    Ok(())
}

async fn an_error_is_kept_between_the_attempts(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "a1").await?;
    let args = args! { JobId: "a1", WorkerId: "w1", Attempt: 1, FailureReason: 8, ErrorDetails: "first" };
    s.call("FailJob", args).await?;
    assert_eq!(arrange::job(&mut s, "a1").await?["ErrorDetails"], "first");
    start_next(&mut s, "a1").await?;
    let args = args! { JobId: "a1", WorkerId: "w1", Attempt: 2, FailureReason: 6, ErrorDetails: "second" };
    s.call("FailJob", args).await?;
    assert_eq!(arrange::job(&mut s, "a1").await?["ErrorDetails"], "second");
    Ok(())
}

/// Whatever the database's own collation says.
async fn a_worker_spelled_in_another_case_is_another_worker(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let args = || args! { JobId: "a1", WorkerId: "W1", Attempt: 1, FailureReason: 8, ErrorDetails: "e" };
    arrange::fetched(&mut s, "q", "a1").await?;
    assert_eq!(s.outcome("FailJob", args()).await?, "not_owner");
    s.call("MarkAsProcessing", args! { JobId: "a1", WorkerId: "w1" }).await?;
    assert_eq!(s.outcome("FailJob", args()).await?, "not_owner");
    assert_eq!(fail(&mut s, "a1", 1, 8).await?["Outcome"], "rescheduled");
    Ok(())
}
