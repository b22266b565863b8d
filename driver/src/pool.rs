//! The client's own connections: how many, for how long, and what is tried again.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use backon::{ExponentialBuilder, Retryable};

use crate::call::{Call, Connection, Kind};
use crate::client::{Builder, Retry};
use crate::config::{Config, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::mssql::MssqlSession;
use crate::postgres::PostgresSession;
use crate::value::Row;

/// A connection that was quiet for longer is asked whether it still answers before it carries a call.
const TRUSTED_FOR: Duration = Duration::from_secs(5);

/// How long a server gets to acknowledge that a call is given up; it has been told long before.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection as the pool sees it.
pub(crate) trait Session: Sized + Send + 'static {
    /// What it connects to.
    type Target: Send + Sync + 'static;

    /// Connects.
    fn open(target: &Self::Target) -> impl Future<Output = Result<Self>> + Send;

    /// Runs a call. Dropped before its end, or failed without a clean end, it leaves the session unusable.
    fn run(&mut self, call: &Call<'_>) -> impl Future<Output = Result<Vec<Row>>> + Send;

    /// Asks the server for a sign of life.
    fn ping(&mut self) -> impl Future<Output = Result<()>> + Send;

    /// Makes the server give up the call that was dropped.
    fn cancel(&mut self) -> impl Future<Output = ()> + Send;

    /// False when a call, its answer or its transaction may still be open, or when the server is known to have gone.
    fn is_usable(&self) -> bool;
}

/// The pool of a [`Client`](crate::Client): what [`Client::connect`](crate::Client::connect) makes.
#[derive(Clone)]
pub struct Pooled {
    shared: Arc<Shared>,
    timeout: Option<Duration>,
}

struct Shared {
    config: Arc<Config>,
    engine: Engine,
    retry: Retry,
}

enum Engine {
    Mssql(Sessions<MssqlSession>),
    Postgres(Sessions<PostgresSession>),
}

impl std::fmt::Debug for Pooled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pooled").field("config", &self.shared.config).field("timeout", &self.timeout).finish()
    }
}

impl Pooled {
    pub(crate) async fn connect(config: Arc<Config>, options: Builder) -> Result<Self> {
        let engine = match &config.target {
            Target::Mssql(target) => Engine::Mssql(Sessions::connect((**target).clone(), &options).await?),
            Target::Postgres(target) => {
                Engine::Postgres(Sessions::connect(PostgresSession::shared(target, options.prepared)?, &options).await?)
            }
        };
        let shared = Shared { config, engine, retry: options.retry };
        Ok(Self { shared: Arc::new(shared), timeout: options.timeout })
    }

    pub(crate) fn with_timeout(&self, timeout: Option<Duration>) -> Self {
        Self { shared: Arc::clone(&self.shared), timeout }
    }

    pub(crate) fn config(&self) -> &Config {
        &self.shared.config
    }

    async fn once(&self, call: &Call<'_>) -> std::result::Result<Vec<Row>, Failure> {
        match &self.shared.engine {
            Engine::Mssql(sessions) => sessions.run(call, self.timeout).await,
            Engine::Postgres(sessions) => sessions.run(call, self.timeout).await,
        }
    }
}

impl Connection for Pooled {
    async fn run(&self, call: Call<'_>) -> Result<Vec<Row>> {
        let retry = self.shared.retry;
        let waits = ExponentialBuilder::new()
            .with_min_delay(retry.first_delay)
            .with_max_delay(retry.max_delay)
            .with_max_times(retry.times)
            .with_jitter();
        let once = || self.once(&call);
        let outcome = once.retry(waits).when(|failure| failure.sent && may_repeat(&call, failure.error.kind())).await;
        outcome.map_err(|failure| failure.error)
    }
}

/// A call that did not succeed.
struct Failure {
    error: Error,
    /// False when there was no connection to send it over; the pool has tried for long enough then.
    sent: bool,
}

/// Whether a call may be sent again.
fn may_repeat(call: &Call<'_>, failure: ErrorKind) -> bool {
    match failure {
        // What its earlier batches did is committed, and their counts would be lost.
        _ if call.procedure.kind == Kind::Looping => false,
        // The server has undone the whole call.
        ErrorKind::Deadlock | ErrorKind::LockTimeout | ErrorKind::Serialization => true,
        // It may have taken effect.
        ErrorKind::Connection => call.repeatable,
        _ => false,
    }
}

/// A pool of sessions of one engine.
struct Sessions<S: Session> {
    pool: bb8::Pool<Manager<S>>,
    size: u32,
    last_error: LastError,
    connect_timeout: Duration,
}

impl<S: Session> Sessions<S> {
    /// Opens the first connection itself, so that a wrong password is told at once and not after a time limit.
    async fn connect(target: S::Target, options: &Builder) -> Result<Self> {
        let first = within(Some(options.connect_timeout), S::open(&target)).await.unwrap_or_else(|| {
            let message = format!("the server did not answer within {:?}", options.connect_timeout);
            Err(Error::new(ErrorKind::Connection, message))
        })?;
        let last_error = LastError::default();
        let pool = bb8::Pool::builder()
            .max_size(options.pool_size)
            .connection_timeout(options.connect_timeout)
            .error_sink(Box::new(last_error.clone()))
            .build_unchecked(Manager { target, last_error: last_error.clone() });
        // There is room for it: the pool is new.
        let _ = pool.add(Slot { session: first, used: Instant::now() });
        Ok(Self { pool, size: options.pool_size, last_error, connect_timeout: options.connect_timeout })
    }

    async fn run(&self, call: &Call<'_>, timeout: Option<Duration>) -> std::result::Result<Vec<Row>, Failure> {
        let name = call.procedure.name;
        let mut slot = self.pool.get().await.map_err(|_| Failure { error: self.no_connection(name), sent: false })?;
        let outcome = match within(timeout, slot.session.run(call)).await {
            Some(outcome) => outcome,
            None => {
                // Acknowledged or not, the connection is closed.
                let _ = within(Some(CANCEL_TIMEOUT), slot.session.cancel()).await;
                let message = format!("gave up after {:?}", timeout.unwrap_or_default());
                Err(Error::new(ErrorKind::Timeout, message).with_procedure(name))
            }
        };
        slot.used = Instant::now();
        outcome.map_err(|error| Failure { error, sent: true })
    }

    fn no_connection(&self, procedure: &'static str) -> Error {
        let waited = format!("no connection within {:?}", self.connect_timeout);
        let error = match self.last_error.take() {
            Some(cause) => {
                let error = Error::new(ErrorKind::Connection, format!("{waited}: {}", cause.message()));
                let error = cause.code().map(str::to_owned).into_iter().fold(error, Error::with_code);
                error.with_source(cause)
            }
            None if self.pool.state().connections >= self.size => {
                let message = format!("{waited}: all {} of the pool are in use", self.size);
                Error::new(ErrorKind::Connection, message)
            }
            None => Error::new(ErrorKind::Connection, waited),
        };
        error.with_procedure(procedure)
    }
}

async fn within<T>(limit: Option<Duration>, work: impl Future<Output = T>) -> Option<T> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, work).await.ok(),
        None => Some(work.await),
    }
}

struct Slot<S> {
    session: S,
    used: Instant,
}

struct Manager<S: Session> {
    target: S::Target,
    last_error: LastError,
}

impl<S: Session> bb8::ManageConnection for Manager<S> {
    type Connection = Slot<S>;
    type Error = Error;

    async fn connect(&self) -> Result<Slot<S>> {
        let session = S::open(&self.target).await?;
        // What was wrong before is so no longer.
        self.last_error.take();
        Ok(Slot { session, used: Instant::now() })
    }

    async fn is_valid(&self, slot: &mut Slot<S>) -> Result<()> {
        if !slot.session.is_usable() {
            return Err(Error::new(ErrorKind::Connection, "the server closed a connection that was at rest"));
        }
        if slot.used.elapsed() > TRUSTED_FOR { slot.session.ping().await } else { Ok(()) }
    }

    fn has_broken(&self, slot: &mut Slot<S>) -> bool {
        !slot.session.is_usable()
    }
}

/// Why the pool could not connect; bb8 itself only says that time ran out.
#[derive(Debug, Clone, Default)]
struct LastError(Arc<Mutex<Option<Error>>>);

impl LastError {
    fn take(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl bb8::ErrorSink<Error> for LastError {
    fn sink(&self, error: Error) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    fn boxed_clone(&self) -> Box<dyn bb8::ErrorSink<Error>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::procedures;

    #[test]
    fn an_undone_call_is_repeated_unless_it_loops() {
        for procedure in procedures::ALL {
            for failure in [ErrorKind::Deadlock, ErrorKind::LockTimeout, ErrorKind::Serialization] {
                let repeats = may_repeat(&Call::new(procedure).repeatable(true), failure);
                assert_eq!(repeats, procedure.kind != Kind::Looping, "{}", procedure.name);
            }
        }
    }

    #[test]
    fn after_a_lost_connection_only_a_repeatable_call_is_sent_again() {
        for procedure in procedures::ALL {
            let repeats = may_repeat(&Call::new(procedure), ErrorKind::Connection);
            assert_eq!(repeats, procedure.kind == Kind::Reading, "{}", procedure.name);
        }
        assert!(may_repeat(&Call::new(procedures::KEEP_ALIVE).repeatable(true), ErrorKind::Connection));
        assert!(!may_repeat(&Call::new(procedures::PURGE_DLQ).repeatable(true), ErrorKind::Connection));
    }

    #[test]
    fn an_answer_that_would_come_again_is_not_asked_for_twice() {
        for failure in [ErrorKind::InvalidArgument, ErrorKind::Timeout, ErrorKind::Database, ErrorKind::InvariantBroken]
        {
            assert!(!may_repeat(&Call::new(procedures::GET_JOB), failure));
        }
    }
}
