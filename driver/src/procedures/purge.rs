//! Deleting jobs of the DLQ for good; the operator history keeps that they were.

use time::OffsetDateTime;

use crate::call::{Call, Connection, one, procedures, rows};
use crate::client::Client;
use crate::error::Result;
use crate::procedures::DlqFilter;
use crate::shape::{outcome, row};

outcome! {
    /// The outcome of [`Client::purge_dlq_jobs`].
    pub enum PurgeDlqJobsOutcome {
        /// It is gone; the history keeps what it was.
        Purged = "purged",
        /// It is not in the DLQ.
        NotFound = "not_found",
    }
}

row! {
    /// One row of the answer of [`Client::purge_dlq_jobs`].
    pub struct PurgeDlqJobsResult {
        /// The job.
        pub job_id: String = "JobId",
        /// What became of it.
        pub outcome: PurgeDlqJobsOutcome = "Outcome",
    }
}

row! {
    /// The answer of [`Client::purge_dlq`].
    pub struct PurgeDlqResult {
        /// Different ids asked for.
        pub requested_count: i64 = "RequestedCount",
        /// Rows deleted.
        pub purged_count: i64 = "PurgedCount",
        /// Ids that are not in the DLQ.
        pub not_found_count: i64 = "NotFoundCount",
        /// Transactions that it took.
        pub batch_count: i64 = "BatchCount",
    }
}

/// The arguments of [`Client::purge_dlq_by_filter_batch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PurgeDlqByFilterBatch<'a> {
    /// Which jobs; at least one filter.
    pub filter: DlqFilter<'a>,
    /// The operator, 1-100 characters.
    pub purged_by: &'a str,
    /// Only count them; `false` deletes them.
    pub what_if: bool,
    /// 1-4000; 1000 without it.
    pub cleanup_batch_size: Option<i32>,
    /// Go on after this row: `last_failed_at` of the batch before.
    pub after_failed_at: Option<OffsetDateTime>,
    /// `last_job_id` of the batch before.
    pub after_job_id: Option<&'a str>,
}

impl<'a> PurgeDlqByFilterBatch<'a> {
    /// The preview of the first batch; `what_if: false` makes it the purge.
    pub fn new(filter: DlqFilter<'a>, purged_by: &'a str) -> Self {
        Self { filter, purged_by, what_if: true, cleanup_batch_size: None, after_failed_at: None, after_job_id: None }
    }
}

row! {
    /// The answer of [`Client::purge_dlq_by_filter_batch`].
    pub struct PurgeDlqByFilterBatchResult {
        /// Rows of this batch that pass the filter.
        pub matched_count: i64 = "MatchedCount",
        /// Rows deleted; 0 in a preview.
        pub purged_count: i64 = "PurgedCount",
        /// Rows that others hold.
        pub skipped_count: i64 = "SkippedCount",
        /// There may be more after `last_failed_at` and `last_job_id`.
        pub has_more: bool = "HasMore",
        /// The key that this batch ended at.
        #[serde(with = "time::serde::rfc3339::option")]
        pub last_failed_at: Option<OffsetDateTime> = "LastFailedAtUtc",
        /// The key that this batch ended at.
        pub last_job_id: Option<String> = "LastJobId",
    }
}

/// The arguments of [`Client::purge_dlq_by_filter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PurgeDlqByFilter<'a> {
    /// Which jobs; at least one filter.
    pub filter: DlqFilter<'a>,
    /// The operator, 1-100 characters.
    pub purged_by: &'a str,
    /// Only count them; `false` deletes them.
    pub what_if: bool,
    /// At most so many; 1000 without it.
    pub max_jobs: Option<i32>,
    /// 1-4000; 1000 without it.
    pub cleanup_batch_size: Option<i32>,
}

impl<'a> PurgeDlqByFilter<'a> {
    /// The preview; `what_if: false` makes it the purge.
    ///
    /// ```
    /// use chokaq::{DlqFilter, PurgeDlqByFilter};
    ///
    /// let filter = DlqFilter { queue: Some("mail"), ..DlqFilter::default() };
    /// let preview = PurgeDlqByFilter::new(filter, "ann");
    /// assert!(preview.what_if);
    /// let purge = PurgeDlqByFilter { what_if: false, ..preview };
    /// ```
    pub fn new(filter: DlqFilter<'a>, purged_by: &'a str) -> Self {
        Self { filter, purged_by, what_if: true, max_jobs: None, cleanup_batch_size: None }
    }
}

row! {
    /// The answer of [`Client::purge_dlq_by_filter`].
    pub struct PurgeDlqByFilterResult {
        /// Rows that pass the filter, `max_jobs` at most.
        pub matched_count: i64 = "MatchedCount",
        /// Rows deleted; 0 in a preview.
        pub purged_count: i64 = "PurgedCount",
        /// Transactions that it took; 0 for a preview.
        pub batch_count: i64 = "BatchCount",
        /// Rows that others still held at its end.
        pub skipped_count: i64 = "SkippedCount",
        /// More rows than `max_jobs` pass the filter.
        pub has_more: bool = "HasMore",
    }
}

impl<C: Connection> Client<C> {
    /// Deletes up to 4000 jobs from the DLQ in one transaction, and answers for each.
    ///
    /// SQL: `procedures/mssql/usp_PurgeDLQJobs.sql`, `procedures/postgres/purge_dlq_jobs.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn purge_dlq_jobs<S: AsRef<str> + Sync>(
        &self,
        job_ids: &[S],
        purged_by: &str,
    ) -> Result<Vec<PurgeDlqJobsResult>> {
        let call = Call::new(procedures::PURGE_DLQ_JOBS).texts("job_ids", Some(job_ids)).text("purged_by", purged_by);
        rows(&self.connection, call).await
    }

    /// Deletes any number of jobs from the DLQ, batch by batch; without `cleanup_batch_size` in batches of 1000.
    ///
    /// SQL: `procedures/mssql/usp_PurgeDLQ.sql`, `procedures/postgres/purge_dlq.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), [`InTransaction`](crate::ErrorKind::InTransaction).
    pub async fn purge_dlq<S: AsRef<str> + Sync>(
        &self,
        job_ids: &[S],
        purged_by: &str,
        cleanup_batch_size: Option<i32>,
    ) -> Result<PurgeDlqResult> {
        let call = Call::new(procedures::PURGE_DLQ)
            .texts("job_ids", Some(job_ids))
            .text("purged_by", purged_by)
            .int("cleanup_batch_size", cleanup_batch_size);
        one(&self.connection, call).await
    }
    /// One batch of [`purge_dlq_by_filter`](Self::purge_dlq_by_filter), able to join a transaction.
    ///
    /// SQL: `procedures/mssql/usp_PurgeDLQByFilterBatch.sql`, `procedures/postgres/purge_dlq_by_filter_batch.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), [`FilterRequired`](crate::ErrorKind::FilterRequired).
    pub async fn purge_dlq_by_filter_batch(
        &self,
        purge: &PurgeDlqByFilterBatch<'_>,
    ) -> Result<PurgeDlqByFilterBatchResult> {
        let call = purge
            .filter
            .call(procedures::PURGE_DLQ_BY_FILTER_BATCH)
            .int("cleanup_batch_size", purge.cleanup_batch_size)
            .text("purged_by", purge.purged_by)
            .required_flag("what_if", purge.what_if)
            .time("after_failed_at_utc", purge.after_failed_at)
            .text("after_job_id", purge.after_job_id)
            .repeatable(purge.what_if);
        one(&self.connection, call).await
    }

    /// Counts the jobs of the DLQ that pass a filter, or deletes them, oldest first and batch by batch. It may run for
    /// minutes: see [`with_timeout`](Client::with_timeout).
    ///
    /// SQL: `procedures/mssql/usp_PurgeDLQByFilter.sql`, `procedures/postgres/purge_dlq_by_filter.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), [`FilterRequired`](crate::ErrorKind::FilterRequired),
    /// [`InTransaction`](crate::ErrorKind::InTransaction).
    pub async fn purge_dlq_by_filter(&self, purge: &PurgeDlqByFilter<'_>) -> Result<PurgeDlqByFilterResult> {
        let call = purge
            .filter
            .call(procedures::PURGE_DLQ_BY_FILTER)
            .int("max_jobs", purge.max_jobs)
            .text("purged_by", purge.purged_by)
            .required_flag("what_if", purge.what_if)
            .int("cleanup_batch_size", purge.cleanup_batch_size);
        one(&self.connection, call).await
    }
}
