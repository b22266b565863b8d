//! Why a command could not be done, as it is told on standard error: what, and what to do about it.

use std::fmt;
use std::io;

use anstyle::{AnsiColor, Style};
use chokaq::ErrorKind;

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
        match hint_for(error.kind()) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

fn hint_for(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::SchemaMismatch => Some("`chokaq migrate up` deploys the procedures that this program knows"),
        ErrorKind::InvalidJson => {
            Some("mend the JSON, or keep it as it is with --allow-invalid-json where there is such an option")
        }
        ErrorKind::Deadlock | ErrorKind::LockTimeout | ErrorKind::Serialization => {
            Some("nothing was changed; run the command again")
        }
        ErrorKind::Timeout => Some("give it more time with --timeout, for instance --timeout 10m"),
        ErrorKind::Connection => Some("check host, port, database and TLS settings of the URL"),
        ErrorKind::Configuration => {
            Some("a URL looks like postgres://user:password@host/database or mssql://user:password@host/database")
        }
        ErrorKind::PermissionDenied => {
            Some("the login needs EXECUTE on the procedure of this call, and on PostgreSQL also USAGE on schema chokaq")
        }
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
    fn a_broken_pipe_is_no_error() {
        let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(matches!(failure, Failure::ReaderGone));
    }

    #[test]
    fn a_missing_schema_hints_at_the_deployment() {
        assert!(hint_for(ErrorKind::SchemaMismatch).unwrap().contains("chokaq migrate up"));
    }
}
