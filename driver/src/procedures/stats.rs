//! Counters and the version.

use std::cmp::Ordering;

use time::OffsetDateTime;

use crate::call::{Call, Connection, one, procedures, rows};
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::shape::row;

/// The version of the contract that this driver speaks.
pub const CONTRACT_VERSION: i32 = 1;

row! {
    /// The counters of one queue.
    pub struct QueueStats {
        /// The queue.
        pub queue: String = "Queue",
        /// Jobs waiting for their turn or their time.
        pub pending_count: i64 = "PendingCount",
        /// Jobs claimed and not started.
        pub fetched_count: i64 = "FetchedCount",
        /// Jobs running.
        pub processing_count: i64 = "ProcessingCount",
        /// Jobs ever enqueued.
        pub enqueued_total: i64 = "EnqueuedTotal",
        /// Jobs that ever reached the Archive.
        pub succeeded_total: i64 = "SucceededTotal",
        /// Rows in the DLQ now.
        pub failed_total: i64 = "FailedTotal",
        /// Times a job was rescheduled.
        pub retried_total: i64 = "RetriedTotal",
        /// Times a job went to the DLQ.
        pub dead_lettered_total: i64 = "DeadLetteredTotal",
        /// Times a job came back from it.
        pub resurrected_total: i64 = "ResurrectedTotal",
        /// Jobs purged from it.
        pub purged_total: i64 = "PurgedTotal",
        /// When anything was last counted.
        #[serde(with = "time::serde::rfc3339::option")]
        pub last_activity: Option<OffsetDateTime> = "LastActivityUtc",
    }
}

row! {
    /// The counters of all queues together.
    pub struct SummaryStats {
        /// Queues.
        pub queue_count: i64 = "QueueCount",
        /// Jobs waiting for their turn or their time.
        pub pending_count: i64 = "PendingCount",
        /// Jobs claimed and not started.
        pub fetched_count: i64 = "FetchedCount",
        /// Jobs running.
        pub processing_count: i64 = "ProcessingCount",
        /// Jobs ever enqueued.
        pub enqueued_total: i64 = "EnqueuedTotal",
        /// Jobs that ever reached the Archive.
        pub succeeded_total: i64 = "SucceededTotal",
        /// Rows in the DLQ now.
        pub failed_total: i64 = "FailedTotal",
        /// Times a job was rescheduled.
        pub retried_total: i64 = "RetriedTotal",
        /// Times a job went to the DLQ.
        pub dead_lettered_total: i64 = "DeadLetteredTotal",
        /// Times a job came back from it.
        pub resurrected_total: i64 = "ResurrectedTotal",
        /// Jobs purged from it.
        pub purged_total: i64 = "PurgedTotal",
        /// When anything was last counted.
        #[serde(with = "time::serde::rfc3339::option")]
        pub last_activity: Option<OffsetDateTime> = "LastActivityUtc",
    }
}

row! {
    /// The answer of [`Client::fold_counters`].
    pub struct FoldCountersResult {
        /// Deltas that were folded.
        pub folded_count: i64 = "FoldedCount",
    }
}

row! {
    /// What is deployed.
    pub struct Version {
        /// The release, `0.1.0`.
        pub kit_version: String = "KitVersion",
        /// The contract's version.
        pub contract_version: i32 = "ContractVersion",
        /// `mssql` or `postgres`.
        pub dialect: String = "Dialect",
        /// The server's clock, by which all times and delays are counted.
        #[serde(with = "time::serde::rfc3339")]
        pub server_time: OffsetDateTime = "ServerTimeUtc",
    }
}

impl<C: Connection> Client<C> {
    /// Reads the counters of one queue, or of all.
    ///
    /// SQL: `procedures/mssql/usp_GetQueueStats.sql`, `procedures/postgres/get_queue_stats.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn get_queue_stats(&self, queue: Option<&str>) -> Result<Vec<QueueStats>> {
        rows(&self.connection, Call::new(procedures::GET_QUEUE_STATS).text("queue", queue)).await
    }

    /// Reads the counters of all queues together.
    ///
    /// SQL: `procedures/mssql/usp_GetSummaryStats.sql`, `procedures/postgres/get_summary_stats.sql`.
    ///
    /// # Errors
    /// What every call may meet.
    pub async fn get_summary_stats(&self) -> Result<SummaryStats> {
        one(&self.connection, Call::new(procedures::GET_SUMMARY_STATS)).await
    }

    /// Folds the counters' deltas, up to `batch_size` of them (10,000 without it).
    ///
    /// SQL: `procedures/mssql/usp_FoldCounters.sql`, `procedures/postgres/fold_counters.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn fold_counters(&self, batch_size: Option<i32>) -> Result<FoldCountersResult> {
        one(&self.connection, Call::new(procedures::FOLD_COUNTERS).int("batch_size", batch_size)).await
    }

    /// Says what is deployed.
    ///
    /// SQL: `procedures/mssql/usp_GetVersion.sql`, `procedures/postgres/get_version.sql`.
    ///
    /// # Errors
    /// [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) when nothing is.
    pub async fn get_version(&self) -> Result<Version> {
        one(&self.connection, Call::new(procedures::GET_VERSION)).await
    }

    /// Checks that the deployed procedures speak the contract that this driver speaks.
    ///
    /// # Errors
    /// [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) when they do not, or when nothing is deployed.
    pub async fn check_version(&self) -> Result<Version> {
        let version = self.get_version().await?;
        fits(&version)?;
        Ok(version)
    }

    /// The same for a new client, which passes where nothing is deployed yet or the login may not ask: so says the server,
    /// and so the first call will be told. Any other error is one of the connection or of the version.
    pub(crate) async fn refuse_other_contract(&self) -> Result<()> {
        match self.get_version().await {
            Ok(version) => fits(&version),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
            // With the server's own code: there is no such procedure. Without one its answer could not be read.
            Err(error) if error.kind() == ErrorKind::SchemaMismatch && error.code().is_some() => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn fits(version: &Version) -> Result<()> {
    let deployed = version.contract_version;
    let what_to_do = match deployed.cmp(&CONTRACT_VERSION) {
        Ordering::Equal => return Ok(()),
        Ordering::Greater => "it was deployed by a newer release, so take a newer driver",
        Ordering::Less => "it was deployed by an older release, so deploy this one to it",
    };
    let message = format!(
        "the database speaks version {deployed} of the contract (kit {}), this driver version {CONTRACT_VERSION}: {what_to_do}",
        version.kit_version
    );
    // As the procedures themselves would say it.
    let code = if version.dialect == "mssql" { "59002" } else { "QC002" };
    Err(Error::new(ErrorKind::SchemaMismatch, message).with_code(code).with_procedure(procedures::GET_VERSION.name))
}
