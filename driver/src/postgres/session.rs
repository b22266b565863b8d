//! A connection of the pool.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::statements::Statements;
use super::{connect, from_call, query, read, storable};
use crate::call::{Call, Kind};
use crate::config::PostgresTarget;
use crate::error::{ErrorKind, Result};
use crate::pool::Session;
use crate::tls;
use crate::value::Row;

/// What every connection of a pool has in common.
pub(crate) struct Shared {
    target: PostgresTarget,
    tls: MakeRustlsConnect,
    /// Whether calls are prepared: until one of them finds that the server behind the connection is not always the
    /// same, or that another clears up after it.
    prepares: Arc<AtomicBool>,
}

/// A connection of the pool.
pub(crate) struct PostgresSession {
    client: Client,
    tls: MakeRustlsConnect,
    statements: Statements,
    prepares: Arc<AtomicBool>,
    /// A call was sent and not answered to its end.
    busy: bool,
    /// The server was told to give it up.
    cancelled: bool,
    /// A call ended with the connection; the client itself may learn that a moment later.
    lost: bool,
}

impl PostgresSession {
    /// Reads the trusted certificates, once for the whole pool.
    pub(crate) fn shared(target: &PostgresTarget, prepared: bool) -> Result<Shared> {
        let prepares = Arc::new(AtomicBool::new(prepared && target.prepared));
        Ok(Shared { target: target.clone(), tls: tls::connector(target)?, prepares })
    }

    /// Says a call the first time as it is, and prepares it when it is said again: most programs say few calls, each
    /// many times, and one that ends after its first call pays no second round trip.
    async fn answer(&mut self, call: &Call<'_>) -> Result<Vec<Row>> {
        let arguments = storable(call)?;
        // An error may come after a looping one has committed, and then nothing may be repeated.
        if call.procedure.kind == Kind::Looping || !self.prepares.load(Ordering::Relaxed) {
            return super::run(&self.client, call).await;
        }
        let known = self.statements.of(call, &arguments);
        let failure = match known.prepared(&self.client).await {
            Ok(None) => None,
            Ok(Some(prepared)) => {
                let values: Vec<&(dyn ToSql + Sync)> = arguments.iter().map(|argument| &**argument as _).collect();
                match self.client.query(&prepared.statement, &values).await {
                    Ok(rows) => return read(call, Ok(rows), Some(prepared.columns)),
                    Err(error) => Some(error),
                }
            }
            Err(error) => Some(error),
        };
        match failure {
            None => {}
            Some(error) if is_lost(&error) => self.prepares.store(false, Ordering::Relaxed),
            Some(error) if is_outdated(&error) => known.forget(),
            Some(error) => return read(call, Err(from_call(error)), None),
        }
        let rows = query(&self.client, &known.sql, &arguments).await;
        read(call, rows.map_err(from_call), None)
    }
}

/// The session has no statement of that name, or one of another client: a proxy moves this connection from server to
/// server, or tidies up behind it. The call itself has not begun.
fn is_lost(error: &tokio_postgres::Error) -> bool {
    let states = [SqlState::INVALID_SQL_STATEMENT_NAME, SqlState::DUPLICATE_PSTATEMENT];
    error.code().is_some_and(|code| states.contains(code))
}

/// A deployment has changed the procedure's result since. (Another error of this code has undone the call.)
fn is_outdated(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::FEATURE_NOT_SUPPORTED)
}

impl Session for PostgresSession {
    type Target = Shared;

    async fn open(shared: &Shared) -> Result<Self> {
        let client = connect(&shared.target, shared.tls.clone()).await?;
        Ok(Self {
            client,
            tls: shared.tls.clone(),
            statements: Statements::default(),
            prepares: Arc::clone(&shared.prepares),
            busy: false,
            cancelled: false,
            lost: false,
        })
    }

    async fn run(&mut self, call: &Call<'_>) -> Result<Vec<Row>> {
        self.busy = true;
        let outcome = self.answer(call).await;
        self.busy = false;
        self.lost = outcome.as_ref().is_err_and(|error| error.kind() == ErrorKind::Connection);
        outcome
    }

    async fn ping(&mut self) -> Result<()> {
        self.client.simple_query("").await.map_err(from_call)?;
        Ok(())
    }

    async fn cancel(&mut self) {
        // If the server cannot be reached there is nothing left to end.
        let _ = self.client.cancel_token().cancel_query(self.tls.clone()).await;
        self.cancelled = true;
    }

    fn is_usable(&self) -> bool {
        !self.busy && !self.lost && !self.client.is_closed()
    }
}

impl Drop for PostgresSession {
    /// PostgreSQL works on for a client that has gone: a call whose future was dropped is cancelled from here.
    fn drop(&mut self) {
        let unanswered = self.busy && !self.cancelled;
        if let (true, Ok(runtime)) = (unanswered, tokio::runtime::Handle::try_current()) {
            let (token, tls) = (self.client.cancel_token(), self.tls.clone());
            runtime.spawn(async move { token.cancel_query(tls).await });
        }
    }
}
