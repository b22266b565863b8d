//! The operator history: who did what to a job, and for how long that is kept.

use time::OffsetDateTime;

use crate::call::{Call, Connection, one, procedures, rows};
use crate::client::Client;
use crate::error::Result;
use crate::shape::{outcome, row};
use crate::types::FailureReason;

outcome! {
    /// What an operator did to a job.
    pub enum HistoryAction {
        /// Changed its payload, tags or priority.
        Edited = "edited",
        /// Brought it back from the DLQ.
        Resurrected = "resurrected",
        /// Deleted it from the DLQ.
        Purged = "purged",
        /// Moved it to the DLQ.
        Isolated = "isolated",
        /// Cancelled it before it started.
        Cancelled = "cancelled",
    }
}

row! {
    /// An act on a job, and the job as it was before.
    pub struct JobHistoryEntry {
        /// Grows with time.
        pub history_id: i64 = "HistoryId",
        /// When.
        #[serde(with = "time::serde::rfc3339")]
        pub at: OffsetDateTime = "AtUtc",
        /// What was done.
        pub action: HistoryAction = "Action",
        /// The job.
        pub job_id: String = "JobId",
        /// Its queue.
        pub queue: Option<String> = "Queue",
        /// Its type.
        pub r#type: Option<String> = "Type",
        /// The operator, by the name that was given.
        pub actor: Option<String> = "Actor",
        /// The operator, by the login that the server knows.
        pub login: String = "Login",
        /// The same for all jobs of one call.
        pub batch_id: Option<String> = "BatchId",
        /// Why it had failed.
        pub failure_reason: Option<FailureReason> = "FailureReason",
        /// The reason's name.
        pub failure_reason_name: Option<String> = "FailureReasonName",
        /// Its error.
        pub error_details: Option<String> = "ErrorDetails",
        /// Executions that had started.
        pub attempt_count: Option<i32> = "AttemptCount",
        /// When it had failed.
        #[serde(with = "time::serde::rfc3339::option")]
        pub failed_at: Option<OffsetDateTime> = "FailedAtUtc",
        /// The payload that was changed.
        pub old_payload: Option<String> = "OldPayload",
        /// The tags that were changed.
        pub old_tags: Option<String> = "OldTags",
        /// The priority that was changed.
        pub old_priority: Option<i32> = "OldPriority",
        /// The idempotency key that was dropped.
        pub old_idempotency_key: Option<String> = "OldIdempotencyKey",
    }
}

/// The arguments of [`Client::purge_history_batch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PurgeHistoryBatch<'a> {
    /// What is from strictly before this instant.
    pub older_than: OffsetDateTime,
    /// 1-4000; 1000 without it.
    pub cleanup_batch_size: Option<i32>,
    /// The operator, for the history.
    pub purged_by: Option<&'a str>,
    /// Go on after this row: `last_at` of the batch before.
    pub after_at: Option<OffsetDateTime>,
    /// `last_history_id` of the batch before.
    pub after_history_id: Option<i64>,
}

impl PurgeHistoryBatch<'_> {
    /// The first batch of what is from before `older_than`.
    pub fn new(older_than: OffsetDateTime) -> Self {
        Self { older_than, cleanup_batch_size: None, purged_by: None, after_at: None, after_history_id: None }
    }
}

row! {
    /// The answer of [`Client::purge_history_batch`].
    pub struct PurgeHistoryBatchResult {
        /// Rows of the history deleted.
        pub deleted_count: i64 = "DeletedCount",
        /// Metric buckets deleted.
        pub deleted_bucket_count: i64 = "DeletedBucketCount",
        /// There may be more after `last_at` and `last_history_id`.
        pub has_more: bool = "HasMore",
        /// The key that this batch ended at.
        #[serde(with = "time::serde::rfc3339::option")]
        pub last_at: Option<OffsetDateTime> = "LastAtUtc",
        /// The key that this batch ended at.
        pub last_history_id: Option<i64> = "LastHistoryId",
    }
}

row! {
    /// The answer of [`Client::purge_history`].
    pub struct PurgeHistoryResult {
        /// Rows of the history deleted.
        pub deleted_count: i64 = "DeletedCount",
        /// Metric buckets deleted.
        pub deleted_bucket_count: i64 = "DeletedBucketCount",
        /// Transactions that it took.
        pub batch_count: i64 = "BatchCount",
    }
}

impl<C: Connection> Client<C> {
    /// Reads what operators did to a job, oldest first; nothing when they did nothing, or when there is no such job.
    ///
    /// SQL: `procedures/mssql/usp_GetJobHistory.sql`, `procedures/postgres/get_job_history.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn get_job_history(&self, job_id: &str) -> Result<Vec<JobHistoryEntry>> {
        rows(&self.connection, Call::new(procedures::GET_JOB_HISTORY).text("job_id", job_id)).await
    }

    /// One batch of [`purge_history`](Self::purge_history), able to join a transaction.
    ///
    /// SQL: `procedures/mssql/usp_PurgeHistoryBatch.sql`, `procedures/postgres/purge_history_batch.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn purge_history_batch(&self, purge: &PurgeHistoryBatch<'_>) -> Result<PurgeHistoryBatchResult> {
        let call = Call::new(procedures::PURGE_HISTORY_BATCH)
            .time("older_than_utc", purge.older_than)
            .int("cleanup_batch_size", purge.cleanup_batch_size)
            .text("purged_by", purge.purged_by)
            .time("after_at_utc", purge.after_at)
            .big("after_history_id", purge.after_history_id);
        one(&self.connection, call).await
    }

    /// Deletes rows of the operator history and metric buckets from strictly before `older_than`, batch by batch;
    /// without `cleanup_batch_size` in batches of 1000. That it was done, and by whom, stays in the history. It may run
    /// for minutes: see [`with_timeout`](Client::with_timeout).
    ///
    /// SQL: `procedures/mssql/usp_PurgeHistory.sql`, `procedures/postgres/purge_history.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), [`InTransaction`](crate::ErrorKind::InTransaction).
    pub async fn purge_history(
        &self,
        older_than: OffsetDateTime,
        cleanup_batch_size: Option<i32>,
        purged_by: Option<&str>,
    ) -> Result<PurgeHistoryResult> {
        let call = Call::new(procedures::PURGE_HISTORY)
            .time("older_than_utc", older_than)
            .int("cleanup_batch_size", cleanup_batch_size)
            .text("purged_by", purged_by);
        one(&self.connection, call).await
    }
}
