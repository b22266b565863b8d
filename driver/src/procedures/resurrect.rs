//! Bringing jobs back from the DLQ.

use time::OffsetDateTime;

use crate::call::{Call, Connection, one, procedures, rows};
use crate::client::Client;
use crate::error::Result;
use crate::procedures::DlqFilter;
use crate::shape::{outcome, row};

/// The arguments of [`Client::resurrect`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resurrect<'a> {
    /// The job.
    pub job_id: &'a str,
    /// The operator, 1-100 characters.
    pub resurrected_by: &'a str,
    /// The repaired payload; kept without it.
    pub new_payload: Option<&'a str>,
    /// The new tags; kept without it.
    pub new_tags: Option<&'a str>,
    /// The new priority; 10 without it.
    pub new_priority: Option<i32>,
    /// Take a payload that is not JSON.
    pub allow_invalid_json: bool,
    /// Seconds from the server's now; 0 without it.
    pub delay_seconds: Option<i32>,
    /// Keep the idempotency key, which is cleared otherwise.
    pub keep_idempotency_key: bool,
    /// Only when the job is still as it was read.
    pub expected_revision: Option<i64>,
}

impl<'a> Resurrect<'a> {
    /// A resurrection of `job_id` as it is by `resurrected_by`.
    pub fn new(job_id: &'a str, resurrected_by: &'a str) -> Self {
        Self { job_id, resurrected_by, ..Self::default() }
    }
}

outcome! {
    /// The outcome of [`Client::resurrect`].
    pub enum ResurrectOutcome {
        /// It is in JobsHot again, Pending, as if new.
        Resurrected = "resurrected",
        /// It is not in the DLQ.
        NotFound = "not_found",
        /// Somebody changed it after it was read; it stays in the DLQ.
        Changed = "changed",
        /// A live job holds the key that was to be kept; it stays in the DLQ.
        KeyConflict = "key_conflict",
    }
}

row! {
    /// The answer of [`Client::resurrect`].
    pub struct ResurrectResult {
        /// What became of it.
        pub outcome: ResurrectOutcome = "Outcome",
        /// Its queue.
        pub queue: Option<String> = "Queue",
    }
}

outcome! {
    /// The outcome of [`Client::resurrect_jobs`].
    pub enum ResurrectJobsOutcome {
        /// It is in JobsHot again, Pending, as if new.
        Resurrected = "resurrected",
        /// It is not in the DLQ.
        NotFound = "not_found",
        /// Its id is in JobsHot too, which must not be; it stays in the DLQ.
        IdConflict = "id_conflict",
    }
}

row! {
    /// One row of the answer of [`Client::resurrect_jobs`].
    pub struct ResurrectJobsResult {
        /// The job.
        pub job_id: String = "JobId",
        /// What became of it.
        pub outcome: ResurrectJobsOutcome = "Outcome",
    }
}

row! {
    /// The answer of [`Client::resurrect_batch`].
    pub struct ResurrectBatchResult {
        /// Different ids asked for.
        pub requested_count: i64 = "RequestedCount",
        /// Jobs that came back.
        pub resurrected_count: i64 = "ResurrectedCount",
        /// Ids that are not in the DLQ.
        pub not_found_count: i64 = "NotFoundCount",
        /// Ids that are in JobsHot too and stay in the DLQ.
        pub conflict_count: i64 = "ConflictCount",
        /// Transactions that it took.
        pub batch_count: i64 = "BatchCount",
    }
}

/// The arguments of [`Client::resurrect_by_filter_batch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResurrectByFilterBatch<'a> {
    /// Which jobs; at least one filter.
    pub filter: DlqFilter<'a>,
    /// The operator, 1-100 characters.
    pub resurrected_by: &'a str,
    /// Only count them; `false` brings them back.
    pub what_if: bool,
    /// 1-4000; 1000 without it.
    pub batch_size: Option<i32>,
    /// Go on after this row: `last_failed_at` of the batch before.
    pub after_failed_at: Option<OffsetDateTime>,
    /// `last_job_id` of the batch before.
    pub after_job_id: Option<&'a str>,
}

impl<'a> ResurrectByFilterBatch<'a> {
    /// The preview of the first batch; `what_if: false` makes it the resurrection.
    pub fn new(filter: DlqFilter<'a>, resurrected_by: &'a str) -> Self {
        Self { filter, resurrected_by, what_if: true, batch_size: None, after_failed_at: None, after_job_id: None }
    }
}

row! {
    /// The answer of [`Client::resurrect_by_filter_batch`].
    pub struct ResurrectByFilterBatchResult {
        /// Jobs of this batch that pass the filter.
        pub matched_count: i64 = "MatchedCount",
        /// Jobs that came back; 0 in a preview.
        pub resurrected_count: i64 = "ResurrectedCount",
        /// Jobs whose id is in JobsHot too and that stay in the DLQ.
        pub conflict_count: i64 = "ConflictCount",
        /// Jobs that others hold.
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

/// The arguments of [`Client::resurrect_by_filter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResurrectByFilter<'a> {
    /// Which jobs; at least one filter.
    pub filter: DlqFilter<'a>,
    /// The operator, 1-100 characters.
    pub resurrected_by: &'a str,
    /// Only count them; `false` brings them back.
    pub what_if: bool,
    /// At most so many; 1000 without it.
    pub max_jobs: Option<i32>,
    /// 1-4000; 1000 without it.
    pub batch_size: Option<i32>,
}

impl<'a> ResurrectByFilter<'a> {
    /// The preview; `what_if: false` makes it the resurrection.
    ///
    /// ```
    /// use chokaq::{DlqFilter, ResurrectByFilter};
    ///
    /// let filter = DlqFilter { queue: Some("mail"), ..DlqFilter::default() };
    /// let preview = ResurrectByFilter::new(filter, "ann");
    /// assert!(preview.what_if);
    /// let resurrection = ResurrectByFilter { what_if: false, ..preview };
    /// ```
    pub fn new(filter: DlqFilter<'a>, resurrected_by: &'a str) -> Self {
        Self { filter, resurrected_by, what_if: true, max_jobs: None, batch_size: None }
    }
}

row! {
    /// The answer of [`Client::resurrect_by_filter`].
    pub struct ResurrectByFilterResult {
        /// Jobs that pass the filter, `max_jobs` at most.
        pub matched_count: i64 = "MatchedCount",
        /// Jobs that came back; 0 in a preview.
        pub resurrected_count: i64 = "ResurrectedCount",
        /// Jobs whose id is in JobsHot too and that stay in the DLQ.
        pub conflict_count: i64 = "ConflictCount",
        /// Transactions that it took; 0 for a preview.
        pub batch_count: i64 = "BatchCount",
        /// Jobs that others still held at its end.
        pub skipped_count: i64 = "SkippedCount",
        /// More jobs than `max_jobs` pass the filter.
        pub has_more: bool = "HasMore",
    }
}

impl<C: Connection> Client<C> {
    /// Repairs a job of the DLQ and brings it back, in one step.
    ///
    /// SQL: `procedures/mssql/usp_Resurrect.sql`, `procedures/postgres/resurrect.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), [`InvalidJson`](crate::ErrorKind::InvalidJson).
    pub async fn resurrect(&self, resurrection: &Resurrect<'_>) -> Result<ResurrectResult> {
        let call = Call::new(procedures::RESURRECT)
            .text("job_id", resurrection.job_id)
            .text("new_payload", resurrection.new_payload)
            .text("new_tags", resurrection.new_tags)
            .int("new_priority", resurrection.new_priority)
            .text("resurrected_by", resurrection.resurrected_by)
            .flag("allow_invalid_json", resurrection.allow_invalid_json)
            .int("delay_seconds", resurrection.delay_seconds)
            .flag("keep_idempotency_key", resurrection.keep_idempotency_key)
            .big("expected_revision", resurrection.expected_revision);
        one(&self.connection, call).await
    }

    /// Brings up to 4000 jobs back as they are in one transaction, and answers for each in order.
    ///
    /// SQL: `procedures/mssql/usp_ResurrectJobs.sql`, `procedures/postgres/resurrect_jobs.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn resurrect_jobs<S: AsRef<str> + Sync>(
        &self,
        job_ids: &[S],
        resurrected_by: &str,
    ) -> Result<Vec<ResurrectJobsResult>> {
        let call = Call::new(procedures::RESURRECT_JOBS)
            .texts("job_ids", Some(job_ids))
            .text("resurrected_by", resurrected_by);
        rows(&self.connection, call).await
    }

    /// Brings any number of jobs back as they are, batch by batch; without `batch_size` in batches of 1000.
    ///
    /// SQL: `procedures/mssql/usp_ResurrectBatch.sql`, `procedures/postgres/resurrect_batch.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), [`InTransaction`](crate::ErrorKind::InTransaction).
    pub async fn resurrect_batch<S: AsRef<str> + Sync>(
        &self,
        job_ids: &[S],
        resurrected_by: &str,
        batch_size: Option<i32>,
    ) -> Result<ResurrectBatchResult> {
        let call = Call::new(procedures::RESURRECT_BATCH)
            .texts("job_ids", Some(job_ids))
            .text("resurrected_by", resurrected_by)
            .int("batch_size", batch_size);
        one(&self.connection, call).await
    }
    /// One batch of [`resurrect_by_filter`](Self::resurrect_by_filter), able to join a transaction.
    ///
    /// SQL: `procedures/mssql/usp_ResurrectByFilterBatch.sql`, `procedures/postgres/resurrect_by_filter_batch.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), [`FilterRequired`](crate::ErrorKind::FilterRequired).
    pub async fn resurrect_by_filter_batch(
        &self,
        resurrection: &ResurrectByFilterBatch<'_>,
    ) -> Result<ResurrectByFilterBatchResult> {
        let call = resurrection
            .filter
            .call(procedures::RESURRECT_BY_FILTER_BATCH)
            .int("batch_size", resurrection.batch_size)
            .text("resurrected_by", resurrection.resurrected_by)
            .required_flag("what_if", resurrection.what_if)
            .time("after_failed_at_utc", resurrection.after_failed_at)
            .text("after_job_id", resurrection.after_job_id)
            .repeatable(resurrection.what_if);
        one(&self.connection, call).await
    }

    /// Counts the jobs of the DLQ that pass a filter, or brings them back as they are, oldest first and batch by batch.
    /// It may run for minutes: see [`with_timeout`](Client::with_timeout).
    ///
    /// SQL: `procedures/mssql/usp_ResurrectByFilter.sql`, `procedures/postgres/resurrect_by_filter.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), [`FilterRequired`](crate::ErrorKind::FilterRequired),
    /// [`InTransaction`](crate::ErrorKind::InTransaction).
    pub async fn resurrect_by_filter(&self, resurrection: &ResurrectByFilter<'_>) -> Result<ResurrectByFilterResult> {
        let call = resurrection
            .filter
            .call(procedures::RESURRECT_BY_FILTER)
            .int("max_jobs", resurrection.max_jobs)
            .text("resurrected_by", resurrection.resurrected_by)
            .required_flag("what_if", resurrection.what_if)
            .int("batch_size", resurrection.batch_size);
        one(&self.connection, call).await
    }
}
