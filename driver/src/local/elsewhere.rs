//! Where there is no Unix there is no embedded server: PostgreSQL must then be named by a URL.

use std::convert::Infallible;
use std::path::Path;
use std::process::ExitStatus;

use thiserror::Error;

/// Why there is no server.
#[derive(Debug, Error)]
#[error("a PostgreSQL of one's own is started on Unix systems only")]
pub struct LocalError;

impl LocalError {
    /// What the user may do about it.
    pub fn hint(&self) -> Option<String> {
        Some("name a database with --database-url".to_owned())
    }
}

/// A server that never is.
pub struct Server(Infallible);

impl Server {
    /// Says that there is none.
    pub fn start(_data: Option<&Path>, _port: Option<u16>) -> Result<Self, LocalError> {
        Err(LocalError)
    }

    /// Where clients would connect.
    pub fn url(&self) -> String {
        match self.0 {}
    }

    /// How it would have ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        match self.0 {}
    }
}
