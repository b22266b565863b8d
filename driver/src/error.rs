//! One error for everything that can go wrong, sorted by what a caller can do about it.

use std::fmt;

/// What went wrong, for a caller to decide by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument is NULL, empty, over-long or out of range; the message names it (59001, QC001).
    InvalidArgument,
    /// Driver and procedures do not fit, or there are none (59002, QC002; a missing procedure or column).
    SchemaMismatch,
    /// A bulk call without a filter (59003, QC003).
    FilterRequired,
    /// A payload or an argument array is malformed JSON (59004, QC004).
    InvalidJson,
    /// A looping procedure was called inside a transaction (59010, 2D000).
    InTransaction,
    /// What must not happen did (59090, QC090).
    InvariantBroken,
    /// The server chose this call as the victim (1205, 40P01).
    Deadlock,
    /// The session's lock timeout ran out (1222, 55P03; of Babelfish, which has no number for it, the words).
    LockTimeout,
    /// A concurrent change under snapshot or serializable isolation (3960, 40001; of Babelfish the words).
    Serialization,
    /// The call's own time ran out. It was cancelled and its connection closed, but may have taken effect just before.
    Timeout,
    /// No connection, or it was lost: whether the call took effect is not known.
    Connection,
    /// The login may not call this (229, 42501).
    PermissionDenied,
    /// The URL or an option of the client does not make sense.
    Configuration,
    /// The deployment cannot go on: a changed or missing migration, or one that failed.
    Deployment,
    /// Any other error of the server.
    Database,
}

/// An error of a call, of a connection or of a deployment.
pub struct Error {
    kind: ErrorKind,
    code: Option<String>,
    procedure: Option<&'static str>,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, code: None, procedure: None, message: message.into(), source: None }
    }

    pub(crate) fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    pub(crate) fn with_procedure(mut self, procedure: &'static str) -> Self {
        self.procedure = Some(procedure);
        self
    }

    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What a caller decides by.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The server's own code: a SQLSTATE (`QC001`) or an error number (`59001`).
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// The method that was called, `move_to_dlq`.
    pub fn procedure(&self) -> Option<&'static str> {
        self.procedure
    }

    /// The server's message, or the driver's.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// True when the server has undone the whole call for a reason that passes: a deadlock, a lock timeout
    /// or a serialization failure. Inside a transaction of the caller it is that transaction that must be repeated.
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind, ErrorKind::Deadlock | ErrorKind::LockTimeout | ErrorKind::Serialization)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(procedure) = self.procedure {
            write!(f, "{procedure}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.code {
            Some(code) => write!(f, " ({code})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.kind)
            .field("code", &self.code)
            .field("procedure", &self.procedure)
            .field("message", &self.message)
            .field("source", &self.source)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
