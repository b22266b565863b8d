//! Why a command could not be done, as it is told on standard error: what, and what to do about it.

use std::fmt;
use std::io;

use anstyle::{AnsiColor, Style};
use chokaq::{Dialect, ErrorKind};

use super::output::visible;
use crate::local::LocalError;

/// An error with a hint. The exit code is 2, but for a reader that went away, which is no error.
#[derive(Debug)]
pub enum Failure {
    /// Whoever read our output has seen enough.
    ReaderGone,
    /// Anything else.
    Error {
        /// What went wrong.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
}

impl Failure {
    /// A failure that explains itself.
    pub fn new(message: impl fmt::Display) -> Self {
        Self::Error { message: message.to_string(), hint: None }
    }

    /// Adds what the user may do.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        match self {
            Self::Error { message, .. } => Self::Error { message, hint: Some(hint.into()) },
            Self::ReaderGone => self,
        }
    }

    /// Adds to what the user may do.
    pub fn also(self, more: &str) -> Self {
        match &self {
            Self::Error { hint: Some(hint), .. } => {
                let both = format!("{hint}; {more}");
                self.hint(both)
            }
            _ => self.hint(more),
        }
    }

    /// Writes the `error:` and `hint:` lines.
    pub fn report(&self) {
        let Self::Error { message, hint } = self else {
            return;
        };
        notice("error", AnsiColor::Red, message);
        if let Some(hint) = hint {
            notice("hint", AnsiColor::Cyan, hint);
        }
    }
}

/// A line for people about a command that went well: it must not be taken for data.
pub fn note(message: impl fmt::Display) {
    use io::Write;
    let _ = writeln!(anstream::stderr(), "{}", visible(&message.to_string()));
}

/// A `warning:` line: the command goes on.
pub fn warn(message: impl fmt::Display) {
    notice("warning", AnsiColor::Yellow, message);
}

/// Colour only where standard error is a terminal and `NO_COLOR` is not set; a closed standard error is nobody's loss.
fn notice(word: &str, color: AnsiColor, message: impl fmt::Display) {
    use io::Write;
    let style = Style::new().bold().fg_color(Some(color.into()));
    let message = visible(&message.to_string());
    let _ = writeln!(anstream::stderr(), "{style}{word}:{style:#} {message}");
}

impl Failure {
    /// A database that cannot be connected to, though its URL can be read. What is wrong with TLS is told in as many
    /// ways as there are servers, so that every hint but that of a refused login names the URL's words for it.
    pub fn to_connect(error: chokaq::Error, dialect: Dialect) -> Self {
        let is_unclear = matches!(error.kind(), ErrorKind::Connection | ErrorKind::Configuration)
            && !is_login_refused(error.code())
            && !is_crowded(&error);
        let failure = Self::from(error);
        if is_unclear {
            failure.hint(format!("check host, port and database of the URL; {}", tls_of(dialect)))
        } else {
            failure
        }
    }
}

fn tls_of(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Mssql => {
            "TLS: encrypt=true|strict|login|false, trust_server_certificate=true, trust_server_certificate_ca=FILE"
        }
        _ => "TLS: sslmode=disable|prefer|require|verify-full, sslrootcert=FILE, trust_server_certificate=true",
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::new(error),
        }
    }
}

impl From<LocalError> for Failure {
    fn from(error: LocalError) -> Self {
        let failure = Self::new(&error);
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<chokaq::Error> for Failure {
    fn from(error: chokaq::Error) -> Self {
        let failure = Self::new(&error);
        let hint = match (error.kind(), error.procedure()) {
            // No call, so a deployment.
            (ErrorKind::PermissionDenied, None) => {
                Some("deploying is for the owner of schema chokaq, or of the database")
            }
            // The versions differ; the message says which is older.
            (ErrorKind::SchemaMismatch, Some(_)) if matches!(error.code(), Some("59002" | "QC002")) => {
                Some("`chokaq version` shows both versions, `chokaq migrate verify` what differs")
            }
            _ if is_crowded(&error) => Some(
                "the server takes no more connections: end some that do nothing, use smaller pools, or allow more \
                 (PostgreSQL: max_connections)",
            ),
            (kind, _) => hint_for(kind, error.code()),
        };
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// Whether the user or the password is wrong: what PostgreSQL says by SQLSTATE, a TDS server by number, and Babelfish,
/// of a user that it does not know, by its number for whatever has none in T-SQL.
fn is_login_refused(code: Option<&str>) -> bool {
    matches!(code, Some("28P01" | "18456" | "33557097"))
}

/// Whether the server takes no more connections: PostgreSQL's code, SQL Server's and Azure's numbers, and the words of
/// Babelfish, which has no number for it.
fn is_crowded(error: &chokaq::Error) -> bool {
    error.kind() == ErrorKind::Connection
        && (matches!(error.code(), Some("53300" | "17809" | "10928" | "10929"))
            || error.message().contains("too many clients"))
}

fn hint_for(kind: ErrorKind, code: Option<&str>) -> Option<&'static str> {
    match kind {
        ErrorKind::SchemaMismatch => Some("`chokaq migrate up` deploys the procedures that this program knows"),
        ErrorKind::InvalidJson => {
            Some("mend the JSON, or keep it as it is with --allow-invalid-json where there is such an option")
        }
        ErrorKind::Deadlock | ErrorKind::LockTimeout | ErrorKind::Serialization => {
            Some("nothing was changed; run the command again")
        }
        ErrorKind::Timeout => Some("give it more time with --timeout, for instance --timeout 10m"),
        ErrorKind::Connection if is_login_refused(code) => Some("check user and password of the URL"),
        ErrorKind::Connection => Some("check host, port, database and TLS settings of the URL"),
        ErrorKind::Configuration => {
            Some("a URL looks like postgres://user:password@host/database or mssql://user:password@host/database")
        }
        ErrorKind::PermissionDenied => Some(
            "the login needs a role: chokaq_reader to look, chokaq_worker to work, chokaq_operator to repair, \
             chokaq_admin to purge",
        ),
        ErrorKind::InvariantBroken => {
            Some("a rule of the tables was broken by something else than the procedures; see procedures/README.md")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_hint_stands_beside_the_first() {
        for (failure, told) in [(Failure::new("no").also("b"), "b"), (Failure::new("no").hint("a").also("b"), "a; b")] {
            assert!(matches!(failure, Failure::Error { hint: Some(hint), .. } if hint == told));
        }
    }

    #[test]
    fn a_broken_pipe_is_no_error() {
        let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(matches!(failure, Failure::ReaderGone));
    }

    #[test]
    fn a_refused_login_hints_at_user_and_password() {
        for code in ["28P01", "18456", "33557097"] {
            assert!(hint_for(ErrorKind::Connection, Some(code)).unwrap().contains("user and password"), "{code}");
        }
        assert!(!hint_for(ErrorKind::Connection, None).unwrap().contains("password"));
    }

    #[test]
    fn a_missing_schema_hints_at_the_deployment() {
        assert!(hint_for(ErrorKind::SchemaMismatch, None).unwrap().contains("chokaq migrate up"));
    }
}
