//! The DLQ: reading it, and editing what lies in it.

use time::OffsetDateTime;

use crate::call::{Call, Connection, one, optional, procedures, rows};
use crate::client::Client;
use crate::error::Result;
use crate::procedures::DlqFilter;
use crate::shape::{outcome, row};
use crate::types::FailureReason;

/// The arguments of [`Client::list_dlq`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ListDlq<'a> {
    /// Which jobs; all of them without one.
    pub filter: DlqFilter<'a>,
    /// At most 1000; 100 without it.
    pub limit: Option<i32>,
    /// The page after this row: `failed_at` of the last one read.
    pub before_failed_at: Option<OffsetDateTime>,
    /// `job_id` of the last one read.
    pub before_job_id: Option<&'a str>,
}

row! {
    /// A row of [`Client::list_dlq`]: everything but payload and error in full.
    pub struct DlqListItem {
        /// Its id.
        pub job_id: String = "JobId",
        /// Its queue.
        pub queue: String = "Queue",
        /// Its type.
        pub r#type: String = "Type",
        /// Its tags.
        pub tags: Option<String> = "Tags",
        /// Its idempotency key.
        pub idempotency_key: Option<String> = "IdempotencyKey",
        /// Higher first.
        pub priority: i32 = "Priority",
        /// Executions started.
        pub attempt_count: i32 = "AttemptCount",
        /// The worker that had it.
        pub worker_id: Option<String> = "WorkerId",
        /// Why it failed.
        pub failure_reason: FailureReason = "FailureReason",
        /// The reason's name.
        pub failure_reason_name: String = "FailureReasonName",
        /// When it came here.
        #[serde(with = "time::serde::rfc3339")]
        pub failed_at: OffsetDateTime = "FailedAtUtc",
        /// The time it was scheduled for, if it was.
        #[serde(with = "time::serde::rfc3339::option")]
        pub scheduled_at: Option<OffsetDateTime> = "ScheduledAtUtc",
        /// When its last execution started.
        #[serde(with = "time::serde::rfc3339::option")]
        pub started_at: Option<OffsetDateTime> = "StartedAtUtc",
        /// When its worker last said that it lives.
        #[serde(with = "time::serde::rfc3339::option")]
        pub heartbeat: Option<OffsetDateTime> = "HeartbeatUtc",
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
        pub revision: i64 = "Revision",
        /// The payload's beginning.
        pub payload_preview: Option<String> = "PayloadPreview",
        /// The error's beginning.
        pub error_preview: Option<String> = "ErrorPreview",
        /// The payload's whole length, in characters as the server counts them.
        pub payload_length: Option<i64> = "PayloadLength",
    }
}

row! {
    /// A whole row of the DLQ.
    pub struct DlqJob {
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
        pub priority: i32 = "Priority",
        /// Executions started.
        pub attempt_count: i32 = "AttemptCount",
        /// The worker that had it.
        pub worker_id: Option<String> = "WorkerId",
        /// Why it failed.
        pub failure_reason: FailureReason = "FailureReason",
        /// The reason's name.
        pub failure_reason_name: String = "FailureReasonName",
        /// The error to the letter.
        pub error_details: Option<String> = "ErrorDetails",
        /// When it came here.
        #[serde(with = "time::serde::rfc3339")]
        pub failed_at: OffsetDateTime = "FailedAtUtc",
        /// The time it was scheduled for, if it was.
        #[serde(with = "time::serde::rfc3339::option")]
        pub scheduled_at: Option<OffsetDateTime> = "ScheduledAtUtc",
        /// When its last execution started.
        #[serde(with = "time::serde::rfc3339::option")]
        pub started_at: Option<OffsetDateTime> = "StartedAtUtc",
        /// When its worker last said that it lives.
        #[serde(with = "time::serde::rfc3339::option")]
        pub heartbeat: Option<OffsetDateTime> = "HeartbeatUtc",
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
        pub revision: i64 = "Revision",
    }
}

/// The arguments of [`Client::update_dlq_job_data`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UpdateDlqJobData<'a> {
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
}

outcome! {
    /// The outcome of [`Client::update_dlq_job_data`].
    pub enum UpdateDlqJobDataOutcome {
        /// It is changed.
        Updated = "updated",
        /// It is not in the DLQ.
        NotFound = "not_found",
        /// Somebody changed it after it was read.
        Changed = "changed",
    }
}

row! {
    /// The answer of [`Client::update_dlq_job_data`].
    pub struct UpdateDlqJobDataResult {
        /// What became of it.
        pub outcome: UpdateDlqJobDataOutcome = "Outcome",
        /// The job's revision now.
        pub revision: Option<i64> = "Revision",
    }
}

row! {
    /// The jobs of one queue and type that failed for one reason.
    pub struct DlqSummary {
        /// Their queue.
        pub queue: String = "Queue",
        /// Their type.
        pub r#type: String = "Type",
        /// Why they failed.
        pub failure_reason: FailureReason = "FailureReason",
        /// The reason's name.
        pub failure_reason_name: String = "FailureReasonName",
        /// How many.
        pub job_count: i64 = "JobCount",
        /// When the first of them failed.
        #[serde(with = "time::serde::rfc3339")]
        pub oldest_failed_at: OffsetDateTime = "OldestFailedAtUtc",
        /// When the last of them failed.
        #[serde(with = "time::serde::rfc3339")]
        pub newest_failed_at: OffsetDateTime = "NewestFailedAtUtc",
        /// How many of them failed within the last hour.
        pub failed_last_hour: i64 = "FailedLastHour",
    }
}

impl<C: Connection> Client<C> {
    /// Lists the DLQ, newest first.
    ///
    /// SQL: `procedures/mssql/usp_ListDLQ.sql`, `procedures/postgres/list_dlq.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn list_dlq(&self, list: &ListDlq<'_>) -> Result<Vec<DlqListItem>> {
        let call = list
            .filter
            .call(procedures::LIST_DLQ)
            .int("limit", list.limit)
            .time("before_failed_at_utc", list.before_failed_at)
            .text("before_job_id", list.before_job_id);
        rows(&self.connection, call).await
    }

    /// Counts the DLQ by queue, type and reason; one queue or one type of it when they are given.
    ///
    /// SQL: `procedures/mssql/usp_SummarizeDLQ.sql`, `procedures/postgres/summarize_dlq.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn summarize_dlq(&self, queue: Option<&str>, r#type: Option<&str>) -> Result<Vec<DlqSummary>> {
        let call = Call::new(procedures::SUMMARIZE_DLQ).text("queue", queue).text("type", r#type);
        rows(&self.connection, call).await
    }

    /// Reads one job of the DLQ whole.
    ///
    /// SQL: `procedures/mssql/usp_GetDLQJob.sql`, `procedures/postgres/get_dlq_job.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn get_dlq_job(&self, job_id: &str) -> Result<Option<DlqJob>> {
        optional(&self.connection, Call::new(procedures::GET_DLQ_JOB).text("job_id", job_id)).await
    }

    /// Repairs payload or tags of a job in the DLQ.
    ///
    /// SQL: `procedures/mssql/usp_UpdateDLQJobData.sql`, `procedures/postgres/update_dlq_job_data.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), [`InvalidJson`](crate::ErrorKind::InvalidJson).
    pub async fn update_dlq_job_data(&self, edit: &UpdateDlqJobData<'_>) -> Result<UpdateDlqJobDataResult> {
        let call = Call::new(procedures::UPDATE_DLQ_JOB_DATA)
            .text("job_id", edit.job_id)
            .text("payload", edit.payload)
            .text("tags", edit.tags)
            .text("modified_by", edit.modified_by)
            .flag("clear_payload", edit.clear_payload)
            .flag("clear_tags", edit.clear_tags)
            .flag("allow_invalid_json", edit.allow_invalid_json)
            .big("expected_revision", edit.expected_revision);
        one(&self.connection, call).await
    }
}
