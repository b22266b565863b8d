//! What to connect to: a URL or an ADO string, read once, with TLS on unless it says otherwise.

#[cfg(test)]
mod fuzz;
mod mssql;
mod postgres;

use std::fmt;
use std::str::FromStr;

use url::Url;

use crate::error::{Error, ErrorKind, Result};
use crate::value::pascal_case;

/// The SQL that a database speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Dialect {
    /// T-SQL: SQL Server, Azure SQL, Babelfish.
    Mssql,
    /// PL/pgSQL: PostgreSQL.
    Postgres,
}

impl Dialect {
    /// What a procedure is called in this dialect: `move_to_dlq` is `chokaq.usp_MoveToDLQ`, or `chokaq.move_to_dlq`.
    pub fn object_name(self, procedure: &str) -> String {
        match self {
            Self::Mssql => format!("chokaq.usp_{}", pascal_case(procedure)),
            Self::Postgres => format!("chokaq.{procedure}"),
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Mssql => "mssql",
            Self::Postgres => "postgres",
        })
    }
}

/// Where and how to connect. Its password is never shown.
///
/// | text | means |
/// |---|---|
/// | `postgres://user:password@host:5432/database` | PostgreSQL; `host` may be the percent-encoded folder of a socket |
/// | `mssql://user:password@host:1433/database` | a TDS server; `sqlserver://` too |
/// | `Server=host,1433;Database=shop;User ID=app;Password=…` | the same as an ADO string |
///
/// **TLS.** The server's certificate must be trusted by the system and name the host, unless the URL says otherwise:
///
/// - `postgres`: `sslmode=disable|prefer|require|verify-full`. Without it `verify-full`, and `prefer` on a loopback
///   address or a socket. `require` checks the certificate as `verify-full` does (libpq does not); `prefer` takes TLS
///   when the server offers it and checks nothing. `sslrootcert=FILE` (PEM) trusts those certificates too, and without
///   `sslmode` means `verify-full`.
/// - `mssql`: `encrypt=true|strict|login|false`, `true` without it. `login` encrypts the login alone, as `Encrypt=false`
///   does in an ADO string; `false` nothing at all, `Encrypt=DANGER_PLAINTEXT` there.
///   `trust_server_certificate_ca=FILE` trusts that certificate too.
/// - Both: `trust_server_certificate=true` encrypts and checks nothing, for a server with a test certificate.
///
/// **Proxies.** `postgres`: `prepared=false` for one that pools transactions and does not keep prepared statements, see
/// [`Builder::prepared`](crate::Builder::prepared).
///
/// Other parameters: `postgres` takes those of libpq that `tokio-postgres` knows; `mssql` takes `application_name` and
/// `instance`. One that is not known is an error that lists the known ones.
#[derive(Clone)]
pub struct Config {
    pub(crate) target: Target,
    shown: String,
}

/// What is said of a URL that is not taken apart as its author meant it.
const UNREADABLE: &str =
    "the database URL cannot be read; characters such as @ : / # in a password must be percent-encoded";

/// The engine's own configuration.
#[derive(Clone)]
pub(crate) enum Target {
    Mssql(Box<tiberius::Config>),
    Postgres(Box<postgres::PostgresTarget>),
}

pub(crate) use postgres::{Certificate, PostgresTarget};

impl Config {
    /// The SQL that this database speaks.
    pub fn dialect(&self) -> Dialect {
        match self.target {
            Target::Mssql(_) => Dialect::Mssql,
            Target::Postgres(_) => Dialect::Postgres,
        }
    }
}

impl FromStr for Config {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        // An ADO string may hold :// too, in a password.
        if text.split_once("://").is_none_or(|(scheme, _)| scheme.contains('=')) {
            let config = mssql::from_ado(text)?;
            let shown = format!("mssql://{}", config.get_addr());
            return Ok(Self { target: Target::Mssql(Box::new(config)), shown });
        }
        // The parser's own error is kept, the text is not: it holds a password.
        let url = Url::parse(text).map_err(|error| {
            let message = match error {
                url::ParseError::EmptyHost => {
                    "the database URL has a user and no host; for a socket write its percent-encoded folder as the \
                     host: postgres://user@%2Fvar%2Frun%2Fpostgresql/database"
                }
                _ => UNREADABLE,
            };
            invalid(message).with_source(error)
        })?;
        // In u:p@ss/word@host the host is `ss`, and all that is behind it would be shown. No URL of a database has more.
        if url.path().contains('@') || url.fragment().is_some() {
            return Err(invalid(UNREADABLE));
        }
        let target = match url.scheme() {
            "postgres" | "postgresql" => Target::Postgres(Box::new(postgres::from_url(&url)?)),
            "mssql" | "sqlserver" => Target::Mssql(Box::new(mssql::from_url(&url)?)),
            other => {
                return Err(invalid(format!(
                    "a database URL starts with postgres:// or mssql://, not with {other}://"
                )));
            }
        };
        Ok(Self { target, shown: without_secrets(url) })
    }
}

/// The URL without its password and its parameters, one of which may be a password.
fn without_secrets(mut url: Url) -> String {
    // Refused only for URLs that cannot have a password.
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.shown)
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Config").field(&self.shown).finish()
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Configuration, message)
}

/// The name is shown unless it may be the rest of a password in which a ? or & was not percent-encoded.
fn unknown_parameter(url: &Url, name: &str, known: &[&str]) -> Error {
    let query = url.query().unwrap_or_default();
    let may_be_secret = url.username().is_empty() || query.contains('@') || query.contains("password");
    let told = if may_be_secret {
        "a URL parameter (? and & in a password must be percent-encoded)".to_owned()
    } else {
        format!("the URL parameter {name}")
    };
    invalid(format!("{told} is not known for {}://, which takes {}", url.scheme(), known.join(", ")))
}

/// A parameter of a URL.
struct Parameter<'a> {
    /// As it is written, `name=value`.
    written: &'a str,
    name: String,
    value: String,
}

/// The parameters of a URL. In a database URL a plus is a plus; `Url::query_pairs` would read it as a space.
fn parameters(url: &Url) -> Result<Vec<Parameter<'_>>> {
    url.query()
        .unwrap_or_default()
        .split('&')
        .filter(|written| !written.is_empty())
        .map(|written| {
            let (name, value) = written.split_once('=').unwrap_or((written, ""));
            let name = decode(name, "name of a parameter")?;
            let value = decode(value, "value of a parameter")?;
            Ok(Parameter { written, name, value })
        })
        .collect()
}

fn decode(text: &str, what: &str) -> Result<String> {
    percent_encoding::percent_decode_str(text)
        .decode_utf8()
        .map(Into::into)
        .map_err(|error| invalid(format!("the {what} in the database URL is not UTF-8")).with_source(error))
}

fn parse_flag(name: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" => Ok(true),
        "false" | "no" | "0" => Ok(false),
        _ => Err(invalid(format!("the URL parameter {name} must be true or false, not {value:?}"))),
    }
}
