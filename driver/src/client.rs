//! The client: the procedures as methods, over its own pool or over a connection of the caller.

use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::deploy::Deploy;
use crate::error::Result;
use crate::mssql::OnMssql;
use crate::pool::Pooled;
use crate::postgres::OnPostgres;

/// The procedures as methods.
///
/// [`Client::connect`] makes one with a pool of its own; it is cheap to clone. [`on_postgres`] and [`on_mssql`] make
/// one over a connection of the caller, whose transaction the calls then join.
#[derive(Debug, Clone)]
pub struct Client<C = Pooled> {
    pub(crate) connection: C,
}

impl Client {
    /// Connects with the defaults of [`Builder`].
    ///
    /// # Errors
    /// [`Configuration`](crate::ErrorKind::Configuration) for a URL that makes no sense,
    /// [`Connection`](crate::ErrorKind::Connection) when the server does not answer or refuses the login,
    /// [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) when the database speaks another version of the contract, and
    /// what else goes wrong when it is asked for that, see [`Builder::check_version`].
    pub async fn connect(url: &str) -> Result<Self> {
        Self::builder().connect(url).await
    }

    /// Starts from the defaults.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The same client and pool with another limit for each call; `None` lets a call run as long as it takes.
    #[must_use]
    pub fn with_timeout(&self, timeout: impl Into<Option<Duration>>) -> Self {
        Self { connection: self.connection.with_timeout(timeout.into()) }
    }

    /// What it connects to.
    pub fn config(&self) -> &Config {
        self.connection.config()
    }

    /// The deployment of tables and procedures into this client's database.
    pub fn deploy(&self) -> Deploy {
        Deploy::new(self.config().clone())
    }
}

/// The options of a [`Client`].
#[derive(Debug, Clone)]
pub struct Builder {
    pub(crate) pool_size: u32,
    pub(crate) connect_timeout: Duration,
    pub(crate) timeout: Option<Duration>,
    pub(crate) retry: Retry,
    pub(crate) prepared: bool,
    check_version: bool,
}

impl Default for Builder {
    /// Ten connections, 15 seconds for a connection, 30 seconds for a call, [`Retry::default`], prepared calls, and
    /// the check of the version.
    fn default() -> Self {
        Self {
            pool_size: 10,
            connect_timeout: Duration::from_secs(15),
            timeout: Some(Duration::from_secs(30)),
            retry: Retry::default(),
            prepared: true,
            check_version: true,
        }
    }
}

impl Builder {
    /// The most connections that are open at once; at least one.
    #[must_use]
    pub fn pool_size(mut self, connections: u32) -> Self {
        self.pool_size = connections.max(1);
        self
    }

    /// How long a call waits for a connection: one of the pool that is free, or a new one, which is tried again and again
    /// while the server cannot be reached or takes no more. Then the call is an error of kind
    /// [`Connection`](crate::ErrorKind::Connection) that says why, and was not sent. [`Builder::connect`] itself tries once.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long a call may take, each try by itself; `None` for no limit.
    #[must_use]
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.timeout = timeout.into();
        self
    }

    /// How calls are retried that are safe to repeat.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Whether connecting asks once which version of the contract the database speaks, and refuses a newer or an older
    /// one than [`CONTRACT_VERSION`](crate::CONTRACT_VERSION). A database with nothing deployed passes, so that it can be
    /// deployed to, and so does a login that may not ask; [`Client::check_version`] lets neither pass. Without the check a
    /// client can deploy to whatever is there.
    #[must_use]
    pub fn check_version(mut self, check: bool) -> Self {
        self.check_version = check;
        self
    }

    /// Whether PostgreSQL keeps a call that is made again over the same connection as a prepared statement, at most 100
    /// of each connection; that saves a fifth of a short call. So does `prepared=false` in the URL.
    ///
    /// **Switch it off behind a proxy that pools transactions and does not keep statements apart**: PgBouncer before
    /// 1.21 or with `max_prepared_statements = 0`, in pool mode `transaction` or `statement`. There one client may meet
    /// the statement of another under the same name. A pool that notices stops to prepare, but it may notice too late.
    /// It does not matter to [`on_postgres`], which prepares nothing, nor to T-SQL.
    #[must_use]
    pub fn prepared(mut self, prepared: bool) -> Self {
        self.prepared = prepared;
        self
    }

    /// Connects, and checks that the server answers and which version it speaks.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub async fn connect(self, url: &str) -> Result<Client> {
        let config: Config = url.parse()?;
        let check_version = self.check_version;
        let client = Client { connection: Pooled::connect(Arc::new(config), self).await? };
        if check_version {
            client.refuse_other_contract().await?;
        }
        Ok(client)
    }
}

/// How a call is retried: after a deadlock, a lock timeout or a serialization failure, which undid it; and after a lost
/// connection when a second sending can neither claim or move another job, nor end another run, nor undo what somebody
/// did meanwhile. Those are the calls that read, [`keep_alive`](Client::keep_alive), enqueues with ids of their own, and
/// ends that name worker, attempt and resurrect count. Looping procedures are never repeated. Neither is anything on a
/// connection of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Tries after the first; 0 for none.
    pub times: usize,
    /// The first wait; the following ones double, each with up to as much again at random.
    pub first_delay: Duration,
    /// The longest wait.
    pub max_delay: Duration,
}

impl Default for Retry {
    /// Five times, after 20 milliseconds and up to 2 seconds.
    fn default() -> Self {
        Self { times: 5, first_delay: Duration::from_millis(20), max_delay: Duration::from_secs(2) }
    }
}

/// The procedures over a connection, or a transaction, of the caller.
///
/// ```no_run
/// # async fn example(mut connection: tokio_postgres::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let transaction = connection.transaction().await?;
/// transaction.execute("UPDATE orders SET paid = true WHERE id = $1", &[&42_i64]).await?;
/// chokaq::on_postgres(&transaction).enqueue(&chokaq::Enqueue::new("mail", "receipt_v1")).await?;
/// transaction.commit().await?; // both, or neither
/// # Ok(())
/// # }
/// ```
pub fn on_postgres<T>(connection: &T) -> Client<OnPostgres<'_, T>>
where
    T: tokio_postgres::GenericClient + Sync,
{
    Client { connection: OnPostgres::new(connection) }
}

/// The procedures over a connection of the caller, inside the transaction that it may have begun.
///
/// An error of a call dooms that transaction, as it does in PostgreSQL; SQL Server rolls it back by itself then
/// (`XACT_ABORT`), so look at `@@TRANCOUNT` before you say ROLLBACK. A miss is an outcome and no error.
///
/// ```no_run
/// # async fn example<S>(mut connection: tiberius::Client<S>) -> Result<(), Box<dyn std::error::Error>>
/// # where S: futures_util::AsyncRead + futures_util::AsyncWrite + Unpin + Send {
/// connection.simple_query("BEGIN TRANSACTION").await?.into_results().await?;
/// chokaq::on_mssql(&mut connection).enqueue(&chokaq::Enqueue::new("mail", "receipt_v1")).await?;
/// connection.simple_query("COMMIT TRANSACTION").await?.into_results().await?;
/// # Ok(())
/// # }
/// ```
pub fn on_mssql<S>(connection: &mut tiberius::Client<S>) -> Client<OnMssql<'_, S>>
where
    S: futures_util::AsyncRead + futures_util::AsyncWrite + Unpin + Send,
{
    Client { connection: OnMssql::new(connection) }
}
