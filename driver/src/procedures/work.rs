//! Taking jobs and keeping them.

use time::OffsetDateTime;

use crate::call::{Call, Connection, one, procedures, rows};
use crate::client::Client;
use crate::error::Result;
use crate::shape::{outcome, row};

/// The arguments of [`Client::fetch_next_batch`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FetchNextBatch<'a> {
    /// Who takes the jobs, 1-100 characters.
    pub worker_id: &'a str,
    /// 1-1000; 10 without it.
    pub batch_size: Option<i32>,
    /// Only from these queues; from all without it.
    pub queues: Option<&'a [&'a str]>,
    /// Start them in the same write, for a worker that runs at once what it takes.
    pub start_now: bool,
}

impl<'a> FetchNextBatch<'a> {
    /// A fetch by `worker_id`, everything else left to the procedure.
    pub fn new(worker_id: &'a str) -> Self {
        Self { worker_id, ..Self::default() }
    }
}

row! {
    /// A job that this worker has claimed.
    pub struct FetchedJob {
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
        /// Higher first.
        pub priority: i32 = "Priority",
        /// Executions started so far, this one included when it was started by the fetch: the fence of a finaliser.
        pub attempt_count: i32 = "AttemptCount",
        /// Its idempotency key.
        pub idempotency_key: Option<String> = "IdempotencyKey",
        /// The time it was scheduled for, if it was.
        #[serde(with = "time::serde::rfc3339::option")]
        pub scheduled_at: Option<OffsetDateTime> = "ScheduledAtUtc",
        /// When it was first enqueued.
        #[serde(with = "time::serde::rfc3339")]
        pub created_at: OffsetDateTime = "CreatedAtUtc",
        /// By whom.
        pub created_by: Option<String> = "CreatedBy",
        /// How often it came back from the DLQ.
        pub resurrect_count: i32 = "ResurrectCount",
    }
}

outcome! {
    /// The outcome of [`Client::mark_as_processing`] and [`Client::mark_jobs_as_processing`].
    pub enum MarkAsProcessingOutcome {
        /// It runs; the attempt is counted.
        Started = "started",
        /// This worker had started it before; nothing is counted again.
        AlreadyStarted = "already_started",
        /// It is not in JobsHot.
        NotFound = "not_found",
        /// Another worker has it, or none.
        NotOwner = "not_owner",
        /// It is not in Fetched.
        NotFetched = "not_fetched",
    }
}

row! {
    /// The answer of [`Client::mark_as_processing`].
    pub struct MarkAsProcessingResult {
        /// What became of it.
        pub outcome: MarkAsProcessingOutcome = "Outcome",
        /// The attempt that runs now, to be given to the finaliser.
        pub attempt_count: Option<i32> = "AttemptCount",
    }
}

row! {
    /// One row of the answer of [`Client::mark_jobs_as_processing`].
    pub struct MarkJobsAsProcessingResult {
        /// The job.
        pub job_id: String = "JobId",
        /// What became of it.
        pub outcome: MarkAsProcessingOutcome = "Outcome",
        /// The attempt that runs now, to be given to the finaliser.
        pub attempt_count: Option<i32> = "AttemptCount",
    }
}

outcome! {
    /// The outcome of [`Client::keep_alive`].
    pub enum KeepAliveOutcome {
        /// It is this worker's and its heartbeat is now.
        Alive = "alive",
        /// It is not this worker's any more: stop working on it.
        Lost = "lost",
    }
}

row! {
    /// One row of the answer of [`Client::keep_alive`].
    pub struct KeepAliveResult {
        /// The job.
        pub job_id: String = "JobId",
        /// What became of it.
        pub outcome: KeepAliveOutcome = "Outcome",
    }
}

outcome! {
    /// The outcome of [`Client::release_job`].
    pub enum ReleaseJobOutcome {
        /// It is back in its queue.
        Released = "released",
        /// It is not in JobsHot.
        NotFound = "not_found",
        /// Another worker has it, or none.
        NotOwner = "not_owner",
        /// It runs already, and is never released by this.
        NotFetched = "not_fetched",
    }
}

row! {
    /// The answer of [`Client::release_job`].
    pub struct ReleaseJobResult {
        /// What became of it.
        pub outcome: ReleaseJobOutcome = "Outcome",
        /// The job.
        pub job_id: String = "JobId",
    }
}

row! {
    /// The answer of [`Client::release_worker`].
    pub struct ReleaseWorkerResult {
        /// Jobs that it had claimed and not started: back in their queues.
        pub released_count: i64 = "ReleasedCount",
        /// Jobs that it runs, or ran when it died: left as they are.
        pub processing_count: i64 = "ProcessingCount",
    }
}

impl<C: Connection> Client<C> {
    /// Claims the next due jobs and answers with them in claim order.
    ///
    /// Never sent again after a lost connection: it could claim other jobs. What was claimed and not seen comes back
    /// with [`recover_abandoned`](Self::recover_abandoned).
    ///
    /// SQL: `procedures/mssql/usp_FetchNextBatch.sql`, `procedures/postgres/fetch_next_batch.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn fetch_next_batch(&self, fetch: &FetchNextBatch<'_>) -> Result<Vec<FetchedJob>> {
        let call = Call::new(procedures::FETCH_NEXT_BATCH)
            .text("worker_id", fetch.worker_id)
            .int("batch_size", fetch.batch_size)
            .texts("queues", fetch.queues)
            .flag("start_now", fetch.start_now);
        rows(&self.connection, call).await
    }

    /// Starts a fetched job and counts the attempt.
    ///
    /// Not sent again after a lost connection: the worker may have lost the job and fetched it anew by then, and the second
    /// try would start that run too. Who knows that he has not may call it again: `already_started` means that it was done.
    ///
    /// SQL: `procedures/mssql/usp_MarkAsProcessing.sql`, `procedures/postgres/mark_as_processing.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn mark_as_processing(&self, job_id: &str, worker_id: &str) -> Result<MarkAsProcessingResult> {
        let call = Call::new(procedures::MARK_AS_PROCESSING).text("job_id", job_id).text("worker_id", worker_id);
        one(&self.connection, call).await
    }

    /// Starts up to 1000 fetched jobs of a worker in one transaction, and answers for each in order. After a lost connection
    /// as [`mark_as_processing`](Self::mark_as_processing).
    ///
    /// SQL: `procedures/mssql/usp_MarkJobsAsProcessing.sql`, `procedures/postgres/mark_jobs_as_processing.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn mark_jobs_as_processing<S: AsRef<str> + Sync>(
        &self,
        job_ids: &[S],
        worker_id: &str,
    ) -> Result<Vec<MarkJobsAsProcessingResult>> {
        let call =
            Call::new(procedures::MARK_JOBS_AS_PROCESSING).texts("job_ids", Some(job_ids)).text("worker_id", worker_id);
        rows(&self.connection, call).await
    }

    /// Renews the heartbeat of a worker's jobs.
    ///
    /// SQL: `procedures/mssql/usp_KeepAlive.sql`, `procedures/postgres/keep_alive.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn keep_alive<S: AsRef<str> + Sync>(
        &self,
        job_ids: &[S],
        worker_id: &str,
    ) -> Result<Vec<KeepAliveResult>> {
        let call = Call::new(procedures::KEEP_ALIVE)
            .texts("job_ids", Some(job_ids))
            .text("worker_id", worker_id)
            .repeatable(true);
        rows(&self.connection, call).await
    }

    /// Gives a fetched job back to its queue.
    ///
    /// SQL: `procedures/mssql/usp_ReleaseJob.sql`, `procedures/postgres/release_job.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn release_job(&self, job_id: &str, worker_id: &str) -> Result<ReleaseJobResult> {
        let call = Call::new(procedures::RELEASE_JOB).text("job_id", job_id).text("worker_id", worker_id);
        one(&self.connection, call).await
    }
    /// Gives every job back that a worker has claimed and not started, for a worker that is known to be dead. What it
    /// runs is only counted: [`archive_zombies`](Self::archive_zombies) takes that when its heartbeat is too old.
    ///
    /// SQL: `procedures/mssql/usp_ReleaseWorker.sql`, `procedures/postgres/release_worker.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn release_worker(&self, worker_id: &str) -> Result<ReleaseWorkerResult> {
        one(&self.connection, Call::new(procedures::RELEASE_WORKER).text("worker_id", worker_id)).await
    }
}
