//! Queues and their settings.

use serde::Serialize;
use time::OffsetDateTime;

use crate::call::{Call, Connection, Procedure, one, procedures, rows};
use crate::client::Client;
use crate::error::Result;
use crate::shape::{outcome, row};
use crate::value::{FromRow, ReadError, Row};

row! {
    /// A queue and its settings.
    pub struct Queue {
        /// The queue.
        pub queue: String = "Queue",
        /// No job of it is fetched for now.
        pub is_paused: bool = "IsPaused",
        /// No job of it is fetched when this is off.
        pub is_active: bool = "IsActive",
        /// The most jobs of it that are claimed or run at once; no limit without it.
        pub max_workers: Option<i32> = "MaxWorkers",
        /// Seconds without a heartbeat until a running job is a zombie; 600 without it.
        pub zombie_timeout_seconds: Option<i32> = "ZombieTimeoutSeconds",
        /// Executions until a job is given up.
        pub max_attempts: i32 = "MaxAttempts",
        /// Seconds until the second execution.
        pub base_delay_seconds: i32 = "BaseDelaySeconds",
        /// What the delay grows by from one execution to the next.
        pub backoff_multiplier: f64 = "BackoffMultiplier",
        /// The longest delay, in seconds.
        pub max_delay_seconds: i32 = "MaxDelaySeconds",
        /// Up to so many seconds more at random.
        pub jitter_seconds: i32 = "JitterSeconds",
        /// A job that would run again later than so many seconds after it was first due is given up; none is without it.
        pub max_job_age_seconds: Option<i32> = "MaxJobAgeSeconds",
        /// When it was first named.
        #[serde(with = "time::serde::rfc3339")]
        pub created_at: OffsetDateTime = "CreatedAtUtc",
        /// The last change of its settings.
        #[serde(with = "time::serde::rfc3339")]
        pub last_updated: OffsetDateTime = "LastUpdatedUtc",
        /// The last operator who changed them.
        pub last_modified_by: Option<String> = "LastModifiedBy",
    }
}

outcome! {
    /// The outcome of a change of a queue's settings.
    pub enum SetQueueOutcome {
        /// The queue was not there; it is now, with this setting.
        Created = "created",
        /// It is changed.
        Updated = "updated",
        /// It was so already.
        Unchanged = "unchanged",
    }
}

/// The answer to a change of a queue's settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SetQueueResult {
    /// What became of it.
    #[serde(rename = "Outcome")]
    pub outcome: SetQueueOutcome,
    /// The queue as it is now.
    #[serde(flatten)]
    pub queue: Queue,
}

impl FromRow for SetQueueResult {
    fn from_row(row: &mut Row) -> std::result::Result<Self, ReadError> {
        Ok(Self { outcome: row.take("Outcome")?, queue: Queue::from_row(row)? })
    }
}

/// The arguments of [`Client::set_queue_retry_policy`]; what is left out is kept, and something must be given.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SetQueueRetryPolicy<'a> {
    /// The queue.
    pub queue: &'a str,
    /// The operator, 1-100 characters.
    pub modified_by: &'a str,
    /// Executions until a job is given up, at least 1.
    pub max_attempts: Option<i32>,
    /// Seconds until the second execution.
    pub base_delay_seconds: Option<i32>,
    /// What the delay grows by from one execution to the next, 1 to 1000.
    pub backoff_multiplier: Option<f64>,
    /// The longest delay, in seconds.
    pub max_delay_seconds: Option<i32>,
    /// Up to so many seconds more at random.
    pub jitter_seconds: Option<i32>,
    /// Give a job up that would run again later than so many seconds after it was first due.
    pub max_job_age_seconds: Option<i32>,
    /// Give none up for its age.
    pub clear_max_job_age: bool,
}

impl<'a> SetQueueRetryPolicy<'a> {
    /// A change of `queue` by `modified_by` that keeps everything.
    pub fn new(queue: &'a str, modified_by: &'a str) -> Self {
        Self { queue, modified_by, ..Self::default() }
    }
}

/// Each change creates a queue that is not there. None is sent again after a lost connection: it could put back what
/// another operator has changed since.
impl<C: Connection> Client<C> {
    /// Reads one queue, or all.
    ///
    /// SQL: `procedures/mssql/usp_GetQueues.sql`, `procedures/postgres/get_queues.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn get_queues(&self, queue: Option<&str>) -> Result<Vec<Queue>> {
        rows(&self.connection, Call::new(procedures::GET_QUEUES).text("queue", queue)).await
    }

    /// Stops the fetching of a queue's jobs for a while, or lets it go on.
    ///
    /// SQL: `procedures/mssql/usp_SetQueuePaused.sql`, `procedures/postgres/set_queue_paused.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn set_queue_paused(&self, queue: &str, is_paused: bool, modified_by: &str) -> Result<SetQueueResult> {
        let call = set_call(procedures::SET_QUEUE_PAUSED, queue, modified_by).required_flag("is_paused", is_paused);
        one(&self.connection, call).await
    }

    /// Takes a queue out of service, or back into it.
    ///
    /// SQL: `procedures/mssql/usp_SetQueueActive.sql`, `procedures/postgres/set_queue_active.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn set_queue_active(&self, queue: &str, is_active: bool, modified_by: &str) -> Result<SetQueueResult> {
        let call = set_call(procedures::SET_QUEUE_ACTIVE, queue, modified_by).required_flag("is_active", is_active);
        one(&self.connection, call).await
    }

    /// Limits how many jobs of a queue are claimed or run at once, 0 or more; `None` takes the limit away.
    ///
    /// SQL: `procedures/mssql/usp_SetQueueMaxWorkers.sql`, `procedures/postgres/set_queue_max_workers.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn set_queue_max_workers(
        &self,
        queue: &str,
        max_workers: Option<i32>,
        modified_by: &str,
    ) -> Result<SetQueueResult> {
        let call =
            set_call(procedures::SET_QUEUE_MAX_WORKERS, queue, modified_by).required_int("max_workers", max_workers);
        one(&self.connection, call).await
    }

    /// Says after how many seconds without a heartbeat a running job is a zombie, 1 or more; `None` is the default, 600.
    ///
    /// SQL: `procedures/mssql/usp_SetQueueZombieTimeout.sql`, `procedures/postgres/set_queue_zombie_timeout.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub async fn set_queue_zombie_timeout(
        &self,
        queue: &str,
        zombie_timeout_seconds: Option<i32>,
        modified_by: &str,
    ) -> Result<SetQueueResult> {
        let call = set_call(procedures::SET_QUEUE_ZOMBIE_TIMEOUT, queue, modified_by)
            .required_int("zombie_timeout_seconds", zombie_timeout_seconds);
        one(&self.connection, call).await
    }

    /// Changes how often and when a queue's failed jobs are tried again.
    ///
    /// SQL: `procedures/mssql/usp_SetQueueRetryPolicy.sql`, `procedures/postgres/set_queue_retry_policy.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), also when nothing is to be changed.
    pub async fn set_queue_retry_policy(&self, policy: &SetQueueRetryPolicy<'_>) -> Result<SetQueueResult> {
        let call = set_call(procedures::SET_QUEUE_RETRY_POLICY, policy.queue, policy.modified_by)
            .int("max_attempts", policy.max_attempts)
            .int("base_delay_seconds", policy.base_delay_seconds)
            .float("backoff_multiplier", policy.backoff_multiplier)
            .int("max_delay_seconds", policy.max_delay_seconds)
            .int("jitter_seconds", policy.jitter_seconds)
            .int("max_job_age_seconds", policy.max_job_age_seconds)
            .flag("clear_max_job_age", policy.clear_max_job_age);
        one(&self.connection, call).await
    }
}

fn set_call<'a>(procedure: &'static Procedure, queue: &'a str, modified_by: &'a str) -> Call<'a> {
    Call::new(procedure).text("queue", queue).text("modified_by", modified_by)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use time::macros::datetime;

    use super::*;
    use crate::value::Value;

    #[test]
    fn the_answer_to_a_change_shows_the_queue_beside_the_outcome() {
        let created_at = Value::Time(datetime!(2026-01-31 8:00 UTC));
        let (columns, values): (Vec<_>, Vec<_>) = [
            ("Outcome", Value::Text("updated".to_owned())),
            ("Queue", Value::Text("mail".to_owned())),
            ("IsPaused", Value::Flag(true)),
            ("IsActive", Value::Flag(true)),
            ("MaxWorkers", Value::Null),
            ("ZombieTimeoutSeconds", Value::Null),
            ("MaxAttempts", Value::Int(3)),
            ("BaseDelaySeconds", Value::Int(5)),
            ("BackoffMultiplier", Value::Float(2.0)),
            ("MaxDelaySeconds", Value::Int(3600)),
            ("JitterSeconds", Value::Int(0)),
            ("MaxJobAgeSeconds", Value::Null),
            ("CreatedAtUtc", created_at.clone()),
            ("LastUpdatedUtc", created_at),
            ("LastModifiedBy", Value::Text("ann".to_owned())),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .unzip();
        let columns: Arc<[String]> = Arc::from(columns);
        let mut row = Row::new(Arc::clone(&columns), values);

        let result = SetQueueResult::from_row(&mut row).unwrap();
        assert_eq!((result.outcome, result.queue.is_paused), (SetQueueOutcome::Updated, true));
        let shown = serde_json::to_value(&result).unwrap();
        assert_eq!((&shown["Outcome"], &shown["Queue"]), (&json!("updated"), &json!("mail")));
        assert_eq!(shown.as_object().unwrap().len(), columns.len());
    }
}
