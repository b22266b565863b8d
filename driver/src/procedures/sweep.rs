//! Bringing back what workers left behind.

use crate::call::{Call, Connection, one, procedures};
use crate::client::Client;
use crate::error::Result;
use crate::shape::row;

/// The arguments of [`Client::recover_abandoned_batch`] and [`Client::archive_zombies_batch`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweepBatch<'a> {
    /// Seconds without a sign of the worker; without it 300 for Fetched, and each queue's own for Processing.
    pub timeout_seconds: Option<i32>,
    /// 1-4000; 1000 without it.
    pub batch_size: Option<i32>,
    /// Go on after this queue and job: `last_queue` of the batch before.
    pub after_queue: Option<&'a str>,
    /// `last_job_id` of the batch before.
    pub after_job_id: Option<&'a str>,
}

row! {
    /// The answer of [`Client::recover_abandoned_batch`].
    pub struct RecoverAbandonedBatchResult {
        /// Jobs that went back to Pending.
        pub recovered_count: i64 = "RecoveredCount",
        /// Jobs that could not be taken.
        pub skipped_count: i64 = "SkippedCount",
        /// There may be more after `last_queue` and `last_job_id`.
        pub has_more: bool = "HasMore",
        /// The key that this batch ended at.
        pub last_queue: Option<String> = "LastQueue",
        /// The key that this batch ended at.
        pub last_job_id: Option<String> = "LastJobId",
    }
}

row! {
    /// The answer of [`Client::recover_abandoned`].
    pub struct RecoverAbandonedResult {
        /// Jobs that went back to Pending.
        pub recovered_count: i64 = "RecoveredCount",
        /// Transactions that it took.
        pub batch_count: i64 = "BatchCount",
        /// Jobs that could not be taken.
        pub skipped_count: i64 = "SkippedCount",
    }
}

row! {
    /// The answer of [`Client::archive_zombies_batch`].
    pub struct ArchiveZombiesBatchResult {
        /// Jobs that went to the DLQ as Zombie.
        pub moved_count: i64 = "MovedCount",
        /// Jobs that could not be taken.
        pub skipped_count: i64 = "SkippedCount",
        /// There may be more after `last_queue` and `last_job_id`.
        pub has_more: bool = "HasMore",
        /// The key that this batch ended at.
        pub last_queue: Option<String> = "LastQueue",
        /// The key that this batch ended at.
        pub last_job_id: Option<String> = "LastJobId",
    }
}

row! {
    /// The answer of [`Client::archive_zombies`].
    pub struct ArchiveZombiesResult {
        /// Jobs that went to the DLQ as Zombie.
        pub moved_count: i64 = "MovedCount",
        /// Transactions that it took.
        pub batch_count: i64 = "BatchCount",
        /// Jobs that could not be taken.
        pub skipped_count: i64 = "SkippedCount",
    }
}

impl<C: Connection> Client<C> {
    /// One batch of [`recover_abandoned`](Self::recover_abandoned), able to join a transaction.
    ///
    /// SQL: `procedures/mssql/usp_RecoverAbandonedBatch.sql`, `procedures/postgres/recover_abandoned_batch.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn recover_abandoned_batch(&self, batch: &SweepBatch<'_>) -> Result<RecoverAbandonedBatchResult> {
        one(&self.connection, sweep_call(procedures::RECOVER_ABANDONED_BATCH, batch)).await
    }

    /// Puts jobs that stayed in Fetched too long back to Pending, batch by batch.
    /// `None` is the procedure's default: 300 seconds, batches of 1000.
    ///
    /// SQL: `procedures/mssql/usp_RecoverAbandoned.sql`, `procedures/postgres/recover_abandoned.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), [`InTransaction`](crate::ErrorKind::InTransaction).
    pub async fn recover_abandoned(
        &self,
        timeout_seconds: Option<i32>,
        batch_size: Option<i32>,
    ) -> Result<RecoverAbandonedResult> {
        let sweep = SweepBatch { timeout_seconds, batch_size, ..SweepBatch::default() };
        one(&self.connection, sweep_call(procedures::RECOVER_ABANDONED, &sweep)).await
    }

    /// One batch of [`archive_zombies`](Self::archive_zombies), able to join a transaction.
    ///
    /// SQL: `procedures/mssql/usp_ArchiveZombiesBatch.sql`, `procedures/postgres/archive_zombies_batch.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn archive_zombies_batch(&self, batch: &SweepBatch<'_>) -> Result<ArchiveZombiesBatchResult> {
        one(&self.connection, sweep_call(procedures::ARCHIVE_ZOMBIES_BATCH, batch)).await
    }

    /// Moves jobs in Processing without a heartbeat to the DLQ as Zombie, batch by batch.
    /// `None` is the procedure's default: each queue's own timeout, batches of 1000.
    ///
    /// SQL: `procedures/mssql/usp_ArchiveZombies.sql`, `procedures/postgres/archive_zombies.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), [`InTransaction`](crate::ErrorKind::InTransaction).
    pub async fn archive_zombies(
        &self,
        timeout_seconds: Option<i32>,
        batch_size: Option<i32>,
    ) -> Result<ArchiveZombiesResult> {
        let sweep = SweepBatch { timeout_seconds, batch_size, ..SweepBatch::default() };
        one(&self.connection, sweep_call(procedures::ARCHIVE_ZOMBIES, &sweep)).await
    }
}

fn sweep_call<'a>(procedure: &'static crate::call::Procedure, sweep: &SweepBatch<'a>) -> Call<'a> {
    Call::new(procedure)
        .int("timeout_seconds", sweep.timeout_seconds)
        .int("batch_size", sweep.batch_size)
        .text("after_queue", sweep.after_queue)
        .text("after_job_id", sweep.after_job_id)
}
