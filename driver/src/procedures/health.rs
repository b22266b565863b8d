//! The health of the queues.

use time::OffsetDateTime;

use crate::call::{Call, Connection, procedures, rows};
use crate::client::Client;
use crate::error::Result;
use crate::shape::row;

row! {
    /// The health of one queue.
    pub struct QueueHealth {
        /// The queue.
        pub queue: String = "Queue",
        /// No job of it is fetched for now.
        pub is_paused: bool = "IsPaused",
        /// No job of it is fetched when this is off.
        pub is_active: bool = "IsActive",
        /// Jobs that are due and wait for their turn. Exact, like `scheduled_count`, unless there are 10,000 of both:
        /// then this is all that wait but for the 10,000 that `scheduled_count` says.
        pub pending_count: i64 = "PendingCount",
        /// Jobs that wait for their time.
        pub scheduled_count: i64 = "ScheduledCount",
        /// Jobs claimed and not started.
        pub fetched_count: i64 = "FetchedCount",
        /// Jobs running.
        pub processing_count: i64 = "ProcessingCount",
        /// Seconds that due jobs have waited on average, over the first 10,000 of them; 0 when none is due.
        pub average_lag_seconds: f64 = "AverageLagSeconds",
        /// Seconds that the longest waiting due job has waited; 0 when none is due.
        pub max_lag_seconds: f64 = "MaxLagSeconds",
        /// Jobs that succeeded, per second over the last minute.
        pub completed_per_second_one_minute: f64 = "CompletedPerSecondOneMinute",
        /// Jobs that succeeded, per second over the last five minutes.
        pub completed_per_second_five_minutes: f64 = "CompletedPerSecondFiveMinutes",
        /// Jobs that went to the DLQ, per second over the last minute.
        pub failed_per_second_one_minute: f64 = "FailedPerSecondOneMinute",
        /// Jobs that went to the DLQ, per second over the last five minutes.
        pub failed_per_second_five_minutes: f64 = "FailedPerSecondFiveMinutes",
        /// Rows in the DLQ.
        pub dlq_count: i64 = "DLQCount",
        /// When the oldest of them failed.
        #[serde(with = "time::serde::rfc3339::option")]
        pub oldest_failed_at: Option<OffsetDateTime> = "OldestFailedAtUtc",
    }
}

impl<C: Connection> Client<C> {
    /// Reads the health of one queue, or of all.
    ///
    /// SQL: `procedures/mssql/usp_GetHealth.sql`, `procedures/postgres/get_health.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn get_health(&self, queue: Option<&str>) -> Result<Vec<QueueHealth>> {
        rows(&self.connection, Call::new(procedures::GET_HEALTH).text("queue", queue)).await
    }
}
