//! One job, wherever it is, and the edit of a pending one.

use time::OffsetDateTime;

use crate::call::{Call, Connection, one, optional, procedures};
use crate::client::Client;
use crate::error::Result;
use crate::shape::{outcome, row};
use crate::types::{FailureReason, JobStatus, Pillar};

row! {
    /// A job, wherever it is; what its table does not have is `None`.
    pub struct Job {
        /// The table it is in.
        pub pillar: Pillar = "Pillar",
        /// Its id.
        pub job_id: String = "JobId",
        /// Its queue.
        pub queue: String = "Queue",
        /// Its type.
        pub r#type: String = "Type",
        /// Its payload to the letter.
        pub payload: Option<String> = "Payload",
        /// Its tags.
        pub tags: Option<String> = "Tags",
        /// Its idempotency key.
        pub idempotency_key: Option<String> = "IdempotencyKey",
        /// Higher first.
        pub priority: Option<i32> = "Priority",
        /// Hot only.
        pub status: Option<JobStatus> = "Status",
        /// Executions started.
        pub attempt_count: i32 = "AttemptCount",
        /// The worker that has or had it.
        pub worker_id: Option<String> = "WorkerId",
        /// The time it was scheduled for, if it was.
        #[serde(with = "time::serde::rfc3339::option")]
        pub scheduled_at: Option<OffsetDateTime> = "ScheduledAtUtc",
        /// When it may run; Hot only.
        #[serde(with = "time::serde::rfc3339::option")]
        pub due_at: Option<OffsetDateTime> = "DueAtUtc",
        /// When it was claimed; Hot only.
        #[serde(with = "time::serde::rfc3339::option")]
        pub fetched_at: Option<OffsetDateTime> = "FetchedAtUtc",
        /// When its last execution started.
        #[serde(with = "time::serde::rfc3339::option")]
        pub started_at: Option<OffsetDateTime> = "StartedAtUtc",
        /// When its worker last said that it lives.
        #[serde(with = "time::serde::rfc3339::option")]
        pub heartbeat: Option<OffsetDateTime> = "HeartbeatUtc",
        /// When it succeeded; Archive only.
        #[serde(with = "time::serde::rfc3339::option")]
        pub finished_at: Option<OffsetDateTime> = "FinishedAtUtc",
        /// How long it ran, in milliseconds; Archive only.
        pub duration_ms: Option<f64> = "DurationMs",
        /// When it failed for good; DLQ only.
        #[serde(with = "time::serde::rfc3339::option")]
        pub failed_at: Option<OffsetDateTime> = "FailedAtUtc",
        /// Why; DLQ only.
        pub failure_reason: Option<FailureReason> = "FailureReason",
        /// The last error.
        pub error_details: Option<String> = "ErrorDetails",
        /// When it was first enqueued.
        #[serde(with = "time::serde::rfc3339")]
        pub created_at: OffsetDateTime = "CreatedAtUtc",
        /// By whom.
        pub created_by: Option<String> = "CreatedBy",
        /// The last change of the row.
        #[serde(with = "time::serde::rfc3339::option")]
        pub last_updated: Option<OffsetDateTime> = "LastUpdatedUtc",
        /// The last operator who changed it.
        pub last_modified_by: Option<String> = "LastModifiedBy",
        /// How often it came back from the DLQ.
        pub resurrect_count: i32 = "ResurrectCount",
        /// Changes with each edit; no two states of a job share one.
        pub revision: Option<i64> = "Revision",
    }
}

/// The arguments of [`Client::update_job_data`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UpdateJobData<'a> {
    /// The job.
    pub job_id: &'a str,
    /// The operator, 1-100 characters.
    pub modified_by: &'a str,
    /// The new payload; kept without it.
    pub payload: Option<&'a str>,
    /// The new tags; kept without it.
    pub tags: Option<&'a str>,
    /// Set the payload to NULL.
    pub clear_payload: bool,
    /// Set the tags to NULL.
    pub clear_tags: bool,
    /// Take a payload that is not JSON.
    pub allow_invalid_json: bool,
    /// Only when the job is still as it was read.
    pub expected_revision: Option<i64>,
    /// The new priority; kept without it.
    pub priority: Option<i32>,
}

outcome! {
    /// The outcome of [`Client::update_job_data`].
    pub enum UpdateJobDataOutcome {
        /// It is changed.
        Updated = "updated",
        /// It is not in JobsHot.
        NotFound = "not_found",
        /// A worker has it.
        NotPending = "not_pending",
        /// Somebody changed it after it was read.
        Changed = "changed",
    }
}

row! {
    /// The answer of [`Client::update_job_data`].
    pub struct UpdateJobDataResult {
        /// What became of it.
        pub outcome: UpdateJobDataOutcome = "Outcome",
        /// The job's revision now.
        pub revision: Option<i64> = "Revision",
    }
}

impl<C: Connection> Client<C> {
    /// Reads one job, wherever it is.
    ///
    /// SQL: `procedures/mssql/usp_GetJob.sql`, `procedures/postgres/get_job.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn get_job(&self, job_id: &str) -> Result<Option<Job>> {
        optional(&self.connection, Call::new(procedures::GET_JOB).text("job_id", job_id)).await
    }

    /// Changes payload, tags or priority of a pending job.
    ///
    /// SQL: `procedures/mssql/usp_UpdateJobData.sql`, `procedures/postgres/update_job_data.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), [`InvalidJson`](crate::ErrorKind::InvalidJson).
    pub async fn update_job_data(&self, edit: &UpdateJobData<'_>) -> Result<UpdateJobDataResult> {
        let call = Call::new(procedures::UPDATE_JOB_DATA)
            .text("job_id", edit.job_id)
            .text("payload", edit.payload)
            .text("tags", edit.tags)
            .text("modified_by", edit.modified_by)
            .flag("clear_payload", edit.clear_payload)
            .flag("clear_tags", edit.clear_tags)
            .flag("allow_invalid_json", edit.allow_invalid_json)
            .big("expected_revision", edit.expected_revision)
            .int("priority", edit.priority);
        one(&self.connection, call).await
    }
}
