//! Putting jobs into their queues.

use std::borrow::Cow;

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use time::OffsetDateTime;

use crate::call::{Call, Connection, one, procedures, rows};
use crate::client::Client;
use crate::error::Result;
use crate::shape::{outcome, row};
use crate::value::in_utc;

/// A new job, the arguments of [`Client::enqueue`]; also one object of [`Client::enqueue_many`].
///
/// ```
/// use chokaq::Enqueue;
///
/// let job = Enqueue { payload: Some(r#"{"to": "ann@example.com"}"#), ..Enqueue::new("mail", "email_v1") };
/// assert_eq!(job.priority, None); // left to the procedure: 10
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Enqueue<'a> {
    /// 1-255 characters, no white space at either end.
    pub queue: &'a str,
    /// 1-255 characters, no white space at either end.
    pub r#type: &'a str,
    /// Any text, kept to the letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<&'a str>,
    /// 1-50 characters; without it the server makes a time-sortable one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_id: Option<&'a str>,
    /// Up to 1000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<&'a str>,
    /// Higher first; 10 without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Seconds from the server's now; 0 without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_seconds: Option<i32>,
    /// An instant instead of a delay.
    #[serde(rename = "scheduledAtUtc", skip_serializing_if = "Option::is_none", serialize_with = "utc")]
    pub scheduled_at: Option<OffsetDateTime>,
    /// 1-255 characters: while a job with this key lives in JobsHot, another is answered `duplicate_key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<&'a str>,
    /// Who asks, 1-100 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<&'a str>,
}

impl<'a> Enqueue<'a> {
    /// A job for `queue` of `type`, everything else left to the procedure.
    pub fn new(queue: &'a str, r#type: &'a str) -> Self {
        Self { queue, r#type, ..Self::default() }
    }
}

/// The one form of an instant that both dialects read from JSON: UTC, with the 7 digits of `datetime2(7)` at most.
fn utc<S: Serializer>(instant: &Option<OffsetDateTime>, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    let utc = instant.map(|it| in_utc(it, "scheduledAtUtc")).transpose().map_err(S::Error::custom)?;
    let cut = utc.map(|it| it.replace_nanosecond(it.nanosecond() / 100 * 100).unwrap_or(it));
    time::serde::rfc3339::option::serialize(&cut, serializer)
}

outcome! {
    /// What became of a new job.
    pub enum EnqueueOutcome {
        /// It is in JobsHot.
        Enqueued = "enqueued",
        /// A live job holds its idempotency key; `job_id` is that job's.
        DuplicateKey = "duplicate_key",
        /// Its id is taken, in whichever table.
        DuplicateId = "duplicate_id",
    }
}

row! {
    /// The answer of [`Client::enqueue`].
    pub struct EnqueueResult {
        /// What became of it.
        pub outcome: EnqueueOutcome = "Outcome",
        /// The new job's, or the one in its way.
        pub job_id: String = "JobId",
    }
}

row! {
    /// One row of the answer of [`Client::enqueue_many`].
    pub struct EnqueueManyResult {
        /// The job's place in the array, from 1.
        pub ordinal: i64 = "Ordinal",
        /// What became of it.
        pub outcome: EnqueueOutcome = "Outcome",
        /// The new job's, or the one in its way.
        pub job_id: String = "JobId",
    }
}

impl<C: Connection> Client<C> {
    /// Puts one job into its queue.
    ///
    /// Sent again after a lost connection only when the job has an id; the second try may then answer `duplicate_id`
    /// for what the first one did. An idempotency key is not enough: it is free again when its job has ended, and an id only
    /// when its job was purged.
    ///
    /// SQL: `procedures/mssql/usp_Enqueue.sql`, `procedures/postgres/enqueue.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), and what every call may meet.
    pub async fn enqueue(&self, job: &Enqueue<'_>) -> Result<EnqueueResult> {
        let call = Call::new(procedures::ENQUEUE)
            .text("queue", job.queue)
            .text("type", job.r#type)
            .text("payload", job.payload)
            .text("job_id", job.job_id)
            .text("tags", job.tags)
            .int("priority", job.priority)
            .int("delay_seconds", job.delay_seconds)
            .time("scheduled_at_utc", job.scheduled_at)
            .text("idempotency_key", job.idempotency_key)
            .text("created_by", job.created_by)
            .repeatable(job.job_id.is_some());
        one(&self.connection, call).await
    }

    /// Puts up to 10,000 jobs into their queues in one transaction, and answers for each in its order.
    ///
    /// SQL: `procedures/mssql/usp_EnqueueMany.sql`, `procedures/postgres/enqueue_many.sql`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), which names the job: then none is enqueued.
    pub async fn enqueue_many(&self, jobs: &[Enqueue<'_>]) -> Result<Vec<EnqueueManyResult>> {
        let repeatable = jobs.iter().all(|job| job.job_id.is_some());
        let call = Call::new(procedures::ENQUEUE_MANY).objects("jobs", jobs)?.repeatable(repeatable);
        rows(&self.connection, call).await
    }

    /// The same with the array as JSON text: objects with the fields of [`Enqueue`] in camelCase.
    ///
    /// # Errors
    /// As [`enqueue_many`](Self::enqueue_many), and [`InvalidJson`](crate::ErrorKind::InvalidJson).
    pub async fn enqueue_many_json(&self, jobs: &str) -> Result<Vec<EnqueueManyResult>> {
        let call = Call::new(procedures::ENQUEUE_MANY).json("jobs", Cow::Borrowed(jobs));
        rows(&self.connection, call).await
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn a_job_becomes_an_object_with_only_what_was_given() {
        let job = Enqueue { payload: Some("{\"a\":1}"), priority: Some(-1), ..Enqueue::new("mail", "email_v1") };
        let json = serde_json::to_string(&job).unwrap();
        assert_eq!(json, r#"{"queue":"mail","type":"email_v1","payload":"{\"a\":1}","priority":-1}"#);
    }

    #[test]
    fn an_instant_is_sent_in_utc_with_seven_digits() {
        let scheduled_at = Some(datetime!(2026-01-31 10:00:00.123456789 +2));
        let json = serde_json::to_string(&Enqueue { scheduled_at, ..Enqueue::new("q", "t") }).unwrap();
        assert!(json.contains(r#""scheduledAtUtc":"2026-01-31T08:00:00.1234567Z""#), "{json}");
    }

    #[test]
    fn an_instant_that_the_engines_do_not_know_is_refused_by_name() {
        let scheduled_at = Some(datetime!(9999-12-31 23:59:59 -14));
        let error = serde_json::to_string(&Enqueue { scheduled_at, ..Enqueue::new("q", "t") }).unwrap_err();
        assert!(error.to_string().contains("scheduledAtUtc"), "{error}");
    }
}
