//! The arguments of the program. What is said about those that cannot be read ends in logs, and one of them may be a URL.

use std::ffi::OsString;

use clap::{CommandFactory, Parser};

use super::Cli;

/// Reads them. The error shows no password, wherever among the arguments a URL stands.
pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    Cli::try_parse_from(&arguments).map_err(|error| {
        // Said of the same arguments without what may be a password.
        let shown = Cli::try_parse_from(arguments.iter().map(without_password));
        shown.err().unwrap_or_else(|| clap::Error::new(error.kind()).with_cmd(&Cli::command()))
    })
}

/// Of a URL the scheme, of an ADO string what comes before its password.
fn without_password(argument: &OsString) -> OsString {
    let text = argument.to_string_lossy();
    let lower = text.to_ascii_lowercase();
    let in_ado = ["password", "pwd"].iter().filter_map(|key| lower.find(key)).min();
    let equals = in_ado.and_then(|key| Some(key + lower[key..].find('=')? + 1));
    let end = lower.find("://").map(|at| at + 3).into_iter().chain(equals).min();
    end.map_or_else(|| argument.clone(), |end| format!("{}***", &text[..end]).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_in_the_wrong_place_shows_no_password() {
        for arguments in [
            &["stats", "postgres://app:secret@db/shop"][..],
            &["--timeout", "Server=db;User ID=app;Password=secret", "stats"],
            &["--database-url", "postgres://app:secret@db/shop", "nothing"],
            &["job", "enqueue", "--priority=mssql://app:secret@db/shop"],
        ] {
            let arguments = ["chokaq"].iter().chain(arguments).map(OsString::from);
            let error = read(arguments.clone()).err().unwrap();
            let said = format!("{error} {error:?}");
            assert!(!said.contains("secret"), "{said}");
            assert_eq!(error.exit_code(), 2);
        }
    }
}
