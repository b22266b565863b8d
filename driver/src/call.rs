//! A call: which procedure, with which named arguments, and what may be done when it fails. Both engines run it.

use std::borrow::Cow;
use std::future::Future;

use serde::Serialize;
use time::OffsetDateTime;

use crate::error::{Error, ErrorKind, Result};
use crate::value::{Argument, FromRow, Row};

/// How a procedure treats transactions; the contract's letters J, L and R.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One short transaction, joins the caller's.
    Joining,
    /// Commits each batch by itself, refuses to run inside a transaction.
    Looping,
    /// Changes nothing.
    Reading,
}

/// A procedure of the contract, by its PostgreSQL name; the T-SQL name follows from it.
#[derive(Debug, PartialEq, Eq)]
pub struct Procedure {
    /// `move_to_dlq`.
    pub name: &'static str,
    /// Joining, looping or reading.
    pub kind: Kind,
}

/// Every procedure that the driver calls.
#[rustfmt::skip]
pub mod procedures {
    use super::{Kind::{Joining, Looping, Reading}, Procedure};

    macro_rules! procedures {
        ($($constant:ident = $name:literal, $kind:ident;)+) => {
            $(pub const $constant: &Procedure = &Procedure { name: $name, kind: $kind };)+

            #[cfg(test)]
            pub const ALL: &[&Procedure] = &[$($constant,)+];
        };
    }

    procedures! {
        ENQUEUE                   = "enqueue",                   Joining;
        ENQUEUE_MANY              = "enqueue_many",              Joining;
        FETCH_NEXT_BATCH          = "fetch_next_batch",          Joining;
        MARK_AS_PROCESSING        = "mark_as_processing",        Joining;
        MARK_JOBS_AS_PROCESSING   = "mark_jobs_as_processing",   Joining;
        KEEP_ALIVE                = "keep_alive",                Joining;
        RELEASE_JOB               = "release_job",               Joining;
        RELEASE_WORKER            = "release_worker",            Joining;
        ARCHIVE_SUCCEEDED         = "archive_succeeded",         Joining;
        ARCHIVE_SUCCEEDED_JOBS    = "archive_succeeded_jobs",    Joining;
        RESCHEDULE_FOR_RETRY      = "reschedule_for_retry",      Joining;
        MOVE_TO_DLQ               = "move_to_dlq",               Joining;
        FAIL_JOB                  = "fail_job",                  Joining;
        RECOVER_ABANDONED_BATCH   = "recover_abandoned_batch",   Joining;
        RECOVER_ABANDONED         = "recover_abandoned",         Looping;
        ARCHIVE_ZOMBIES_BATCH     = "archive_zombies_batch",     Joining;
        ARCHIVE_ZOMBIES           = "archive_zombies",           Looping;
        LIST_DLQ                  = "list_dlq",                  Reading;
        GET_DLQ_JOB               = "get_dlq_job",               Reading;
        GET_JOB                   = "get_job",                   Reading;
        GET_JOB_HISTORY           = "get_job_history",           Reading;
        SUMMARIZE_DLQ             = "summarize_dlq",             Reading;
        UPDATE_JOB_DATA           = "update_job_data",           Joining;
        UPDATE_DLQ_JOB_DATA       = "update_dlq_job_data",       Joining;
        RESURRECT                 = "resurrect",                 Joining;
        RESURRECT_JOBS            = "resurrect_jobs",            Joining;
        RESURRECT_BATCH           = "resurrect_batch",           Looping;
        RESURRECT_BY_FILTER_BATCH = "resurrect_by_filter_batch", Joining;
        RESURRECT_BY_FILTER       = "resurrect_by_filter",       Looping;
        CANCEL_JOBS               = "cancel_jobs",               Joining;
        ARCHIVE_CANCELLED_BATCH   = "archive_cancelled_batch",   Looping;
        PURGE_DLQ_JOBS            = "purge_dlq_jobs",            Joining;
        PURGE_DLQ                 = "purge_dlq",                 Looping;
        PURGE_DLQ_BY_FILTER_BATCH = "purge_dlq_by_filter_batch", Joining;
        PURGE_DLQ_BY_FILTER       = "purge_dlq_by_filter",       Looping;
        PURGE_ARCHIVE_BATCH       = "purge_archive_batch",       Joining;
        PURGE_ARCHIVE             = "purge_archive",             Looping;
        PURGE_HISTORY_BATCH       = "purge_history_batch",       Joining;
        PURGE_HISTORY             = "purge_history",             Looping;
        SET_QUEUE_PAUSED          = "set_queue_paused",          Joining;
        SET_QUEUE_ACTIVE          = "set_queue_active",          Joining;
        SET_QUEUE_MAX_WORKERS     = "set_queue_max_workers",     Joining;
        SET_QUEUE_ZOMBIE_TIMEOUT  = "set_queue_zombie_timeout",  Joining;
        SET_QUEUE_RETRY_POLICY    = "set_queue_retry_policy",    Joining;
        GET_QUEUES                = "get_queues",                Reading;
        GET_QUEUE_STATS           = "get_queue_stats",           Reading;
        GET_SUMMARY_STATS         = "get_summary_stats",         Reading;
        GET_HEALTH                = "get_health",                Reading;
        FOLD_COUNTERS             = "fold_counters",             Joining;
        GET_VERSION               = "get_version",               Reading;
    }
}

/// One call of one procedure. Arguments that were not given are left to the procedure's defaults.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// What is called.
    pub procedure: &'static Procedure,
    /// By their PostgreSQL names without `p_`: `job_id`.
    pub arguments: Vec<(&'static str, Argument<'a>)>,
    /// A second run of it finds its own work done, and never claims or moves another job.
    pub repeatable: bool,
}

impl<'a> Call<'a> {
    pub(crate) fn new(procedure: &'static Procedure) -> Self {
        let repeatable = procedure.kind == Kind::Reading;
        Self { procedure, arguments: Vec::new(), repeatable }
    }

    /// Says whether the call may be sent again when its answer was lost with the connection.
    pub(crate) fn repeatable(mut self, repeatable: bool) -> Self {
        self.repeatable = repeatable;
        self
    }

    fn push(mut self, name: &'static str, argument: Option<Argument<'a>>) -> Self {
        self.arguments.extend(argument.map(|argument| (name, argument)));
        self
    }

    pub(crate) fn text(self, name: &'static str, value: impl Into<Option<&'a str>>) -> Self {
        let value = value.into().map(|text| Argument::Text(Some(Cow::Borrowed(text))));
        self.push(name, value)
    }

    /// Text that must be recorded, see [`Argument::Evidence`].
    pub(crate) fn evidence(self, name: &'static str, value: Option<&'a str>) -> Self {
        let value = value.map(|text| Argument::Evidence(Some(Cow::Borrowed(text))));
        self.push(name, value)
    }

    /// The same for a parameter without a default: NULL is said.
    pub(crate) fn required_evidence(self, name: &'static str, value: Option<&'a str>) -> Self {
        self.push(name, Some(Argument::Evidence(value.map(Cow::Borrowed))))
    }

    pub(crate) fn small(self, name: &'static str, value: impl Into<Option<i16>>) -> Self {
        let value = value.into().map(Argument::Small);
        self.push(name, value)
    }

    pub(crate) fn int(self, name: &'static str, value: impl Into<Option<i32>>) -> Self {
        let value = value.into().map(|number| Argument::Int(Some(number)));
        self.push(name, value)
    }

    /// The same for a parameter without a default: NULL is said.
    pub(crate) fn required_int(self, name: &'static str, value: Option<i32>) -> Self {
        self.push(name, Some(Argument::Int(value)))
    }

    pub(crate) fn big(self, name: &'static str, value: impl Into<Option<i64>>) -> Self {
        let value = value.into().map(Argument::Big);
        self.push(name, value)
    }

    pub(crate) fn float(self, name: &'static str, value: Option<f64>) -> Self {
        self.push(name, value.map(Argument::Float))
    }

    /// A flag whose default is off in both dialects.
    pub(crate) fn flag(self, name: &'static str, value: bool) -> Self {
        self.push(name, value.then_some(Argument::Flag(true)))
    }

    /// A flag that is said either way: it has no default, or one that nobody should have to know.
    pub(crate) fn required_flag(self, name: &'static str, value: bool) -> Self {
        self.push(name, Some(Argument::Flag(value)))
    }

    pub(crate) fn time(self, name: &'static str, value: impl Into<Option<OffsetDateTime>>) -> Self {
        let value = value.into().map(Argument::Time);
        self.push(name, value)
    }

    pub(crate) fn texts<S: AsRef<str>>(self, name: &'static str, values: Option<&'a [S]>) -> Self {
        let values = values.map(|values| Argument::Texts(values.iter().map(AsRef::as_ref).collect()));
        self.push(name, values)
    }

    pub(crate) fn json(self, name: &'static str, value: Cow<'a, str>) -> Self {
        self.push(name, Some(Argument::Json(value)))
    }

    /// An array of objects, each with the names of the contract.
    pub(crate) fn objects<T: Serialize>(self, name: &'static str, values: &[T]) -> Result<Self> {
        let json = serde_json::to_string(values).map_err(|error| {
            Error::new(ErrorKind::InvalidArgument, error.to_string())
                .with_procedure(self.procedure.name)
                .with_source(error)
        })?;
        Ok(self.json(name, Cow::Owned(json)))
    }
}

/// What a [`Client`](crate::Client) sends its calls over: its own pool, or a connection of the caller.
pub trait Connection: Send + Sync {
    /// Runs the call and reads its whole answer.
    #[doc(hidden)]
    fn run(&self, call: Call<'_>) -> impl Future<Output = Result<Vec<Row>>> + Send;
}

/// Runs a call and reads each row.
pub(crate) async fn rows<T: FromRow>(connection: &impl Connection, call: Call<'_>) -> Result<Vec<T>> {
    let procedure = call.procedure.name;
    let mut rows = connection.run(call).await?;
    rows.iter_mut()
        .map(T::from_row)
        .collect::<std::result::Result<_, _>>()
        .map_err(|error| Error::new(ErrorKind::SchemaMismatch, error.to_string()).with_procedure(procedure))
}

/// Runs a call that answers with no row or one.
pub(crate) async fn optional<T: FromRow>(connection: &impl Connection, call: Call<'_>) -> Result<Option<T>> {
    Ok(rows(connection, call).await?.pop())
}

/// Runs a call that answers with one row.
pub(crate) async fn one<T: FromRow>(connection: &impl Connection, call: Call<'_>) -> Result<T> {
    let procedure = call.procedure.name;
    optional(connection, call).await?.ok_or_else(|| {
        Error::new(ErrorKind::SchemaMismatch, "the procedure answered with no row").with_procedure(procedure)
    })
}
