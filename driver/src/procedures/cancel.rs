//! Cancelling jobs that have not started.

use crate::call::{Call, Connection, one, procedures, rows};
use crate::client::Client;
use crate::error::Result;
use crate::shape::{outcome, row};

outcome! {
    /// The outcome of [`Client::cancel_jobs`].
    pub enum CancelJobsOutcome {
        /// It is in the DLQ as Cancelled.
        Cancelled = "cancelled",
        /// It was there already, and as Cancelled.
        AlreadyCancelled = "already_cancelled",
        /// It is nowhere, in the Archive, or in the DLQ for another reason.
        NotFound = "not_found",
        /// It runs.
        NotCancellable = "not_cancellable",
        /// Its id is in the DLQ or in the Archive too, which must not be; it stays in JobsHot.
        IdConflict = "id_conflict",
    }
}

row! {
    /// One row of the answer of [`Client::cancel_jobs`].
    pub struct CancelJobsResult {
        /// The job.
        pub job_id: String = "JobId",
        /// What became of it.
        pub outcome: CancelJobsOutcome = "Outcome",
    }
}

/// The arguments of [`Client::archive_cancelled_batch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveCancelledBatch<'a, S> {
    /// The jobs, any number; repeats count once.
    pub job_ids: &'a [S],
    /// The operator, 1-100 characters.
    pub cancelled_by: &'a str,
    /// Recorded as their error; they keep what they had without it. PostgreSQL and Babelfish cannot store U+0000:
    /// there it is recorded as U+FFFD.
    pub reason: Option<&'a str>,
    /// 1-4000; 1000 without it.
    pub batch_size: Option<i32>,
}

impl<'a, S> ArchiveCancelledBatch<'a, S> {
    /// A cancellation of `job_ids` by `cancelled_by`, everything else left to the procedure.
    pub fn new(job_ids: &'a [S], cancelled_by: &'a str) -> Self {
        Self { job_ids, cancelled_by, reason: None, batch_size: None }
    }
}

row! {
    /// The answer of [`Client::archive_cancelled_batch`]; the counts but the last add up to the first.
    pub struct ArchiveCancelledBatchResult {
        /// Different ids asked for.
        pub requested_count: i64 = "RequestedCount",
        /// Jobs that went to the DLQ as Cancelled.
        pub cancelled_count: i64 = "CancelledCount",
        /// Jobs that were there already, and as Cancelled.
        pub already_cancelled_count: i64 = "AlreadyCancelledCount",
        /// Ids that are nowhere, in the Archive, or in the DLQ for another reason.
        pub not_found_count: i64 = "NotFoundCount",
        /// Jobs that run.
        pub not_cancellable_count: i64 = "NotCancellableCount",
        /// Jobs whose id is in the DLQ or in the Archive too and that stay in JobsHot.
        pub conflict_count: i64 = "ConflictCount",
        /// Transactions that it took.
        pub batch_count: i64 = "BatchCount",
    }
}

impl<C: Connection> Client<C> {
    /// Moves up to 4000 jobs that have not started to the DLQ as Cancelled in one transaction, and answers for each in
    /// order. A `reason` is recorded as their error; without it they keep what they had. PostgreSQL and Babelfish cannot
    /// store U+0000: there it is recorded as U+FFFD. It is not sent again after a lost connection: a job that somebody
    /// brought back meanwhile would be cancelled twice.
    ///
    /// SQL: `procedures/mssql/usp_CancelJobs.sql`, `procedures/postgres/cancel_jobs.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn cancel_jobs<S: AsRef<str> + Sync>(
        &self,
        job_ids: &[S],
        cancelled_by: &str,
        reason: Option<&str>,
    ) -> Result<Vec<CancelJobsResult>> {
        let call = Call::new(procedures::CANCEL_JOBS)
            .texts("job_ids", Some(job_ids))
            .text("cancelled_by", cancelled_by)
            .evidence("reason", reason);
        rows(&self.connection, call).await
    }

    /// Moves any number of jobs that have not started to the DLQ as Cancelled, batch by batch. It may run for minutes:
    /// see [`with_timeout`](Client::with_timeout).
    ///
    /// SQL: `procedures/mssql/usp_ArchiveCancelledBatch.sql`, `procedures/postgres/archive_cancelled_batch.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), [`InTransaction`](crate::ErrorKind::InTransaction).
    pub async fn archive_cancelled_batch<S: AsRef<str> + Sync>(
        &self,
        cancellation: &ArchiveCancelledBatch<'_, S>,
    ) -> Result<ArchiveCancelledBatchResult> {
        let call = Call::new(procedures::ARCHIVE_CANCELLED_BATCH)
            .texts("job_ids", Some(cancellation.job_ids))
            .text("cancelled_by", cancellation.cancelled_by)
            .evidence("reason", cancellation.reason)
            .int("batch_size", cancellation.batch_size);
        one(&self.connection, call).await
    }
}
