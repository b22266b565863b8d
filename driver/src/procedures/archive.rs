//! Emptying the Archive.

use time::OffsetDateTime;

use crate::call::{Call, Connection, one, procedures};
use crate::client::Client;
use crate::error::Result;
use crate::shape::row;

/// The arguments of [`Client::purge_archive_batch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PurgeArchiveBatch<'a> {
    /// Rows that finished strictly before this instant.
    pub older_than: OffsetDateTime,
    /// 1-4000; 1000 without it.
    pub cleanup_batch_size: Option<i32>,
    /// The operator, for the history.
    pub purged_by: Option<&'a str>,
    /// Go on after this row: `last_finished_at` of the batch before.
    pub after_finished_at: Option<OffsetDateTime>,
    /// `last_job_id` of the batch before.
    pub after_job_id: Option<&'a str>,
}

impl PurgeArchiveBatch<'_> {
    /// The first batch of what finished before `older_than`.
    pub fn new(older_than: OffsetDateTime) -> Self {
        Self { older_than, cleanup_batch_size: None, purged_by: None, after_finished_at: None, after_job_id: None }
    }
}

row! {
    /// The answer of [`Client::purge_archive_batch`].
    pub struct PurgeArchiveBatchResult {
        /// Rows deleted.
        pub deleted_count: i64 = "DeletedCount",
        /// Rows that could not be taken.
        pub skipped_count: i64 = "SkippedCount",
        /// There may be more after `last_finished_at` and `last_job_id`.
        pub has_more: bool = "HasMore",
        /// The key that this batch ended at.
        #[serde(with = "time::serde::rfc3339::option")]
        pub last_finished_at: Option<OffsetDateTime> = "LastFinishedAtUtc",
        /// The key that this batch ended at.
        pub last_job_id: Option<String> = "LastJobId",
    }
}

/// The arguments of [`Client::purge_archive`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PurgeArchive<'a> {
    /// Rows that finished strictly before this instant.
    pub older_than: OffsetDateTime,
    /// 1-4000; 1000 without it.
    pub cleanup_batch_size: Option<i32>,
    /// Stop after so many batches.
    pub max_batches: Option<i32>,
    /// The operator, for the history.
    pub purged_by: Option<&'a str>,
}

impl PurgeArchive<'_> {
    /// A purge of everything that finished before `older_than`.
    pub fn new(older_than: OffsetDateTime) -> Self {
        Self { older_than, cleanup_batch_size: None, max_batches: None, purged_by: None }
    }
}

row! {
    /// The answer of [`Client::purge_archive`].
    pub struct PurgeArchiveResult {
        /// Rows deleted.
        pub deleted_count: i64 = "DeletedCount",
        /// Transactions that it took.
        pub batch_count: i64 = "BatchCount",
        /// Rows that could not be taken.
        pub skipped_count: i64 = "SkippedCount",
        /// It stopped at `max_batches` with more to do.
        pub has_more: bool = "HasMore",
    }
}

impl<C: Connection> Client<C> {
    /// One batch of [`purge_archive`](Self::purge_archive), able to join a transaction.
    ///
    /// SQL: `procedures/mssql/usp_PurgeArchiveBatch.sql`, `procedures/postgres/purge_archive_batch.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn purge_archive_batch(&self, purge: &PurgeArchiveBatch<'_>) -> Result<PurgeArchiveBatchResult> {
        let call = Call::new(procedures::PURGE_ARCHIVE_BATCH)
            .time("older_than_utc", purge.older_than)
            .int("cleanup_batch_size", purge.cleanup_batch_size)
            .text("purged_by", purge.purged_by)
            .time("after_finished_at_utc", purge.after_finished_at)
            .text("after_job_id", purge.after_job_id);
        one(&self.connection, call).await
    }

    /// Deletes old rows of the Archive, batch by batch. It may run for minutes: see
    /// [`with_timeout`](Client::with_timeout).
    ///
    /// SQL: `procedures/mssql/usp_PurgeArchive.sql`, `procedures/postgres/purge_archive.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), [`InTransaction`](crate::ErrorKind::InTransaction).
    pub async fn purge_archive(&self, purge: &PurgeArchive<'_>) -> Result<PurgeArchiveResult> {
        let call = Call::new(procedures::PURGE_ARCHIVE)
            .time("older_than_utc", purge.older_than)
            .int("cleanup_batch_size", purge.cleanup_batch_size)
            .int("max_batches", purge.max_batches)
            .text("purged_by", purge.purged_by);
        one(&self.connection, call).await
    }
}
