//! Ending an execution: success, another try, or the DLQ. Worker and attempt together are the fence that keeps an old
//! execution from ending a newer one; `resurrect_count` keeps it up across a resurrection, after which attempts count
//! from 0 again. Only a call with all three is sent again after a lost connection.

use serde::Serialize;
use time::OffsetDateTime;

use crate::call::{Call, Connection, one, procedures, rows};
use crate::client::Client;
use crate::error::Result;
use crate::shape::{outcome, row};
use crate::types::FailureReason;

/// The arguments of [`Client::archive_succeeded`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ArchiveSucceeded<'a> {
    /// The job.
    pub job_id: &'a str,
    /// Only when it is this worker's.
    pub worker_id: Option<&'a str>,
    /// Only when this attempt runs.
    pub attempt: Option<i32>,
    /// How long it ran, in milliseconds; negative and NaN are stored as NULL.
    pub duration_ms: Option<f64>,
    /// Only when it was resurrected so often, as the fetch said: an attempt from before a resurrection is stale.
    pub resurrect_count: Option<i32>,
}

outcome! {
    /// The outcome of [`Client::archive_succeeded`].
    pub enum ArchiveSucceededOutcome {
        /// It is in JobsArchive.
        Archived = "archived",
        /// It was there already.
        AlreadyArchived = "already_archived",
        /// It is nowhere, or in the DLQ.
        NotFound = "not_found",
        /// Another worker has it, or none.
        NotOwner = "not_owner",
        /// It is not in Processing.
        NotProcessing = "not_processing",
        /// A newer attempt runs.
        StaleAttempt = "stale_attempt",
    }
}

row! {
    /// The answer of [`Client::archive_succeeded`].
    pub struct ArchiveSucceededResult {
        /// What became of it.
        pub outcome: ArchiveSucceededOutcome = "Outcome",
        /// The job.
        pub job_id: String = "JobId",
    }
}

/// A job that succeeded, one object of [`Client::archive_succeeded_jobs`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FinishedJob<'a> {
    /// The job.
    pub job_id: &'a str,
    /// Only when this attempt runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<i32>,
    /// How long it ran, in milliseconds; negative and NaN are stored as NULL.
    #[serde(skip_serializing_if = "is_no_number")]
    pub duration_ms: Option<f64>,
    /// Only when it was resurrected so often, as the fetch said: an attempt from before a resurrection is stale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resurrect_count: Option<i32>,
}

/// JSON has no NaN and no infinity.
fn is_no_number(duration: &Option<f64>) -> bool {
    !duration.is_some_and(f64::is_finite)
}

outcome! {
    /// The outcome of [`Client::archive_succeeded_jobs`].
    pub enum ArchiveSucceededJobsOutcome {
        /// It is in JobsArchive.
        Archived = "archived",
        /// It was there already.
        AlreadyArchived = "already_archived",
        /// It is nowhere, or in the DLQ.
        NotFound = "not_found",
        /// Another worker has it, or none.
        NotOwner = "not_owner",
        /// It is not in Processing.
        NotProcessing = "not_processing",
        /// A newer attempt runs.
        StaleAttempt = "stale_attempt",
        /// Its id is in JobsArchive too, which must not be; it stays in JobsHot.
        IdConflict = "id_conflict",
    }
}

row! {
    /// One row of the answer of [`Client::archive_succeeded_jobs`].
    pub struct ArchiveSucceededJobsResult {
        /// The job.
        pub job_id: String = "JobId",
        /// What became of it.
        pub outcome: ArchiveSucceededJobsOutcome = "Outcome",
    }
}

/// The arguments of [`Client::reschedule_for_retry`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RescheduleForRetry<'a> {
    /// The job.
    pub job_id: &'a str,
    /// Only when it is this worker's.
    pub worker_id: Option<&'a str>,
    /// Only when this attempt runs.
    pub attempt: Option<i32>,
    /// Seconds from the server's now; 0 without it.
    pub delay_seconds: Option<i32>,
    /// What went wrong. PostgreSQL and Babelfish cannot store U+0000: there it is recorded as U+FFFD.
    pub error_details: Option<&'a str>,
    /// Only when it was resurrected so often, as the fetch said: an attempt from before a resurrection is stale.
    pub resurrect_count: Option<i32>,
}

outcome! {
    /// The outcome of [`Client::reschedule_for_retry`].
    pub enum RescheduleForRetryOutcome {
        /// It is back in its queue, due at `scheduled_at`.
        Rescheduled = "rescheduled",
        /// It is not in JobsHot.
        NotFound = "not_found",
        /// Another worker has it, or none.
        NotOwner = "not_owner",
        /// It is not in Processing.
        NotProcessing = "not_processing",
        /// A newer attempt runs.
        StaleAttempt = "stale_attempt",
    }
}

row! {
    /// The answer of [`Client::reschedule_for_retry`].
    pub struct RescheduleForRetryResult {
        /// What became of it.
        pub outcome: RescheduleForRetryOutcome = "Outcome",
        /// When it will be due.
        #[serde(with = "time::serde::rfc3339::option")]
        pub scheduled_at: Option<OffsetDateTime> = "ScheduledAtUtc",
    }
}

/// The arguments of [`Client::move_to_dlq`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoveToDlq<'a> {
    /// The job.
    pub job_id: &'a str,
    /// Why it failed for good.
    pub failure_reason: FailureReason,
    /// What went wrong. PostgreSQL and Babelfish cannot store U+0000: there it is recorded as U+FFFD.
    pub error_details: Option<&'a str>,
    /// Only when it is this worker's.
    pub worker_id: Option<&'a str>,
    /// Only when this attempt runs.
    pub attempt: Option<i32>,
    /// Who moves it, when it is not its worker.
    pub moved_by: Option<&'a str>,
    /// Only when it was resurrected so often, as the fetch said: an attempt from before a resurrection is stale.
    pub resurrect_count: Option<i32>,
}

impl<'a> MoveToDlq<'a> {
    /// A move of `job_id` for `failure_reason`, everything else left to the procedure.
    pub fn new(job_id: &'a str, failure_reason: FailureReason) -> Self {
        Self {
            job_id,
            failure_reason,
            error_details: None,
            worker_id: None,
            attempt: None,
            moved_by: None,
            resurrect_count: None,
        }
    }
}

outcome! {
    /// The outcome of [`Client::move_to_dlq`].
    pub enum MoveToDlqOutcome {
        /// It is in JobsDLQ.
        Moved = "moved",
        /// It was there already.
        AlreadyMoved = "already_moved",
        /// It is nowhere, or in the Archive.
        NotFound = "not_found",
        /// Another worker has it, or none.
        NotOwner = "not_owner",
        /// A newer attempt runs.
        StaleAttempt = "stale_attempt",
    }
}

row! {
    /// The answer of [`Client::move_to_dlq`].
    pub struct MoveToDlqResult {
        /// What became of it.
        pub outcome: MoveToDlqOutcome = "Outcome",
        /// Its queue.
        pub queue: Option<String> = "Queue",
        /// Executions started.
        pub attempt_count: Option<i32> = "AttemptCount",
        /// When it was moved.
        #[serde(with = "time::serde::rfc3339::option")]
        pub failed_at: Option<OffsetDateTime> = "FailedAtUtc",
    }
}

/// The arguments of [`Client::fail_job`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailJob<'a> {
    /// The job.
    pub job_id: &'a str,
    /// The worker that ran it.
    pub worker_id: &'a str,
    /// The attempt that failed.
    pub attempt: i32,
    /// Why; FatalError, Rejected and Cancelled are never retried.
    pub failure_reason: FailureReason,
    /// What went wrong. PostgreSQL and Babelfish cannot store U+0000: there it is recorded as U+FFFD.
    pub error_details: Option<&'a str>,
    /// Seconds until the next try, instead of the queue's retry policy.
    pub retry_after_seconds: Option<i32>,
    /// Only when it was resurrected so often, as the fetch said: an attempt from before a resurrection is stale.
    pub resurrect_count: Option<i32>,
}

outcome! {
    /// The outcome of [`Client::fail_job`].
    pub enum FailJobOutcome {
        /// It will run again at `scheduled_at`.
        Rescheduled = "rescheduled",
        /// It is in JobsDLQ for `failure_reason`.
        Moved = "moved",
        /// It was there already.
        AlreadyMoved = "already_moved",
        /// It is nowhere, or in the Archive.
        NotFound = "not_found",
        /// Another worker has it, or none.
        NotOwner = "not_owner",
        /// It is not in Processing.
        NotProcessing = "not_processing",
        /// A newer attempt runs.
        StaleAttempt = "stale_attempt",
    }
}

row! {
    /// The answer of [`Client::fail_job`].
    pub struct FailJobResult {
        /// What became of it.
        pub outcome: FailJobOutcome = "Outcome",
        /// When it will run again.
        #[serde(with = "time::serde::rfc3339::option")]
        pub scheduled_at: Option<OffsetDateTime> = "ScheduledAtUtc",
        /// The reason as recorded, which the retry policy may have changed.
        pub failure_reason: Option<FailureReason> = "FailureReason",
    }
}

impl<C: Connection> Client<C> {
    /// Moves a job that succeeded to the Archive.
    ///
    /// SQL: `procedures/mssql/usp_ArchiveSucceeded.sql`, `procedures/postgres/archive_succeeded.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn archive_succeeded(&self, done: &ArchiveSucceeded<'_>) -> Result<ArchiveSucceededResult> {
        let call = Call::new(procedures::ARCHIVE_SUCCEEDED)
            .text("job_id", done.job_id)
            .text("worker_id", done.worker_id)
            .int("attempt", done.attempt)
            // SQL Server refuses the whole call for a NaN, and a metric must not stop a transition.
            .float("duration_ms", done.duration_ms.filter(|duration| duration.is_finite()))
            .int("resurrect_count", done.resurrect_count)
            .repeatable(is_fenced(done.worker_id, done.attempt, done.resurrect_count));
        one(&self.connection, call).await
    }

    /// Moves up to 1000 jobs of one worker that succeeded to the Archive in one transaction, and answers for each in
    /// order. A job that is named twice counts once, as it is first named.
    ///
    /// SQL: `procedures/mssql/usp_ArchiveSucceededJobs.sql`, `procedures/postgres/archive_succeeded_jobs.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn archive_succeeded_jobs(
        &self,
        jobs: &[FinishedJob<'_>],
        worker_id: &str,
    ) -> Result<Vec<ArchiveSucceededJobsResult>> {
        let call = Call::new(procedures::ARCHIVE_SUCCEEDED_JOBS)
            .objects("jobs", jobs)?
            .text("worker_id", worker_id)
            .repeatable(jobs.iter().all(|job| is_fenced(Some(worker_id), job.attempt, job.resurrect_count)));
        rows(&self.connection, call).await
    }

    /// Puts a job that failed back into its queue for a later try.
    ///
    /// After a lost connection a repeated call may answer `not_owner` or `not_processing` for what the first one did.
    ///
    /// SQL: `procedures/mssql/usp_RescheduleForRetry.sql`, `procedures/postgres/reschedule_for_retry.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn reschedule_for_retry(&self, retry: &RescheduleForRetry<'_>) -> Result<RescheduleForRetryResult> {
        let call = Call::new(procedures::RESCHEDULE_FOR_RETRY)
            .text("job_id", retry.job_id)
            .text("worker_id", retry.worker_id)
            .int("attempt", retry.attempt)
            .int("delay_seconds", retry.delay_seconds)
            .evidence("error_details", retry.error_details)
            .int("resurrect_count", retry.resurrect_count)
            .repeatable(is_fenced(retry.worker_id, retry.attempt, retry.resurrect_count));
        one(&self.connection, call).await
    }

    /// Moves a job that failed for good to the DLQ.
    ///
    /// SQL: `procedures/mssql/usp_MoveToDLQ.sql`, `procedures/postgres/move_to_dlq.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn move_to_dlq(&self, failure: &MoveToDlq<'_>) -> Result<MoveToDlqResult> {
        let call = Call::new(procedures::MOVE_TO_DLQ)
            .text("job_id", failure.job_id)
            .small("failure_reason", i16::from(failure.failure_reason))
            .evidence("error_details", failure.error_details)
            .text("worker_id", failure.worker_id)
            .int("attempt", failure.attempt)
            .text("moved_by", failure.moved_by)
            .int("resurrect_count", failure.resurrect_count)
            .repeatable(is_fenced(failure.worker_id, failure.attempt, failure.resurrect_count));
        one(&self.connection, call).await
    }

    /// Records a failure and lets the queue's retry policy decide what follows.
    ///
    /// After a lost connection a repeated call may answer `not_owner` or `not_processing` for what the first one did.
    ///
    /// SQL: `procedures/mssql/usp_FailJob.sql`, `procedures/postgres/fail_job.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn fail_job(&self, failure: &FailJob<'_>) -> Result<FailJobResult> {
        let call = Call::new(procedures::FAIL_JOB)
            .text("job_id", failure.job_id)
            .text("worker_id", failure.worker_id)
            .int("attempt", failure.attempt)
            .small("failure_reason", i16::from(failure.failure_reason))
            .required_evidence("error_details", failure.error_details)
            .int("retry_after_seconds", failure.retry_after_seconds)
            .int("resurrect_count", failure.resurrect_count)
            .repeatable(is_fenced(Some(failure.worker_id), Some(failure.attempt), failure.resurrect_count));
        one(&self.connection, call).await
    }
}

/// Whether a second sending can only meet the very run that is meant. By then the job may have been resurrected and be
/// in the first attempt of the same worker again.
fn is_fenced(worker_id: Option<&str>, attempt: Option<i32>, resurrect_count: Option<i32>) -> bool {
    worker_id.is_some() && attempt.is_some() && resurrect_count.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finished_job_becomes_an_object_with_only_what_was_given() {
        let job = FinishedJob { job_id: "a", attempt: Some(1), duration_ms: Some(12.5), resurrect_count: Some(0) };
        let json = serde_json::to_string(&job).unwrap();
        assert_eq!(json, r#"{"jobId":"a","attempt":1,"durationMs":12.5,"resurrectCount":0}"#);
        for duration_ms in [None, Some(f64::NAN), Some(f64::INFINITY)] {
            let json = serde_json::to_string(&FinishedJob { job_id: "a", duration_ms, ..FinishedJob::default() });
            assert_eq!(json.unwrap(), r#"{"jobId":"a"}"#);
        }
    }
}
