//! Errors as the engines tell them, compared by the contract's names.

use std::fmt;

use crate::names;
use crate::session::Engine;

/// An error number or SQLSTATE with its message, or a broken connection.
#[derive(Clone, Debug)]
pub struct SqlError {
    pub code: String,
    pub message: String,
    /// The procedure that was called, if it was a call.
    pub procedure: Option<&'static str>,
}

/// The contract's error names, with each engine's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    InvalidArgument,
    FilterRequired,
    InvalidJson,
    InTransaction,
}

impl Code {
    pub fn on(self, engine: Engine) -> &'static str {
        match (self, engine) {
            (Self::InvalidArgument, Engine::Mssql) => "59001",
            (Self::InvalidArgument, Engine::Postgres) => "QC001",
            (Self::FilterRequired, Engine::Mssql) => "59003",
            (Self::FilterRequired, Engine::Postgres) => "QC003",
            (Self::InvalidJson, Engine::Mssql) => "59004",
            (Self::InvalidJson, Engine::Postgres) => "QC004",
            (Self::InTransaction, Engine::Mssql) => "59010",
            (Self::InTransaction, Engine::Postgres) => "2D000",
        }
    }
}

/// Asserts that a call was refused with that error, in a message that names the parameter in the engine's spelling.
pub fn assert_refused<T: fmt::Debug>(result: Result<T, SqlError>, engine: Engine, code: Code, parameter: &str) {
    match result {
        Err(error) => assert!(
            error.is(code, engine) && error.names(parameter, engine),
            "{code:?} naming {parameter} was expected, not {error}"
        ),
        Ok(value) => panic!("{code:?} naming {parameter} was expected, not {value:?}"),
    }
}

impl SqlError {
    pub fn other(error: impl fmt::Display) -> Self {
        Self::coded(String::new(), error.to_string())
    }

    fn coded(code: String, message: String) -> Self {
        Self { code, message, procedure: None }
    }

    pub fn is(&self, code: Code, engine: Engine) -> bool {
        self.code == code.on(engine)
    }

    /// True when the message names the parameter in the engine's own spelling.
    pub fn names(&self, parameter: &str, engine: Engine) -> bool {
        self.message.contains(&parameter_on(engine, parameter))
    }
}

/// `JobId` is `@JobId` or `p_job_id`.
pub fn parameter_on(engine: Engine, parameter: &str) -> String {
    match engine {
        Engine::Mssql => format!("@{parameter}"),
        Engine::Postgres => format!("p_{}", names::snake_case(parameter)),
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        match self.procedure {
            Some(procedure) => write!(f, " ({procedure})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SqlError {}

impl From<tokio_postgres::Error> for SqlError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(db) => Self::coded(db.code().code().to_owned(), db.message().to_owned()),
            None => Self::other(format!("{error:?}")),
        }
    }
}

impl From<tiberius::error::Error> for SqlError {
    fn from(error: tiberius::error::Error) -> Self {
        match &error {
            tiberius::error::Error::Server(token) => Self::coded(token.code().to_string(), token.message().to_owned()),
            _ => Self::other(error),
        }
    }
}
