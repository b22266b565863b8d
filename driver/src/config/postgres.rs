//! `postgres://` URLs.

use std::net::IpAddr;
use std::path::PathBuf;

use tokio_postgres::config::{Host, SslMode};
use url::Url;

use super::{Parameter, invalid, parameters, parse_flag, unknown_parameter};
use crate::error::Result;

/// What the driver itself reads.
const OURS: &[&str] = &["prepared", "sslmode", "sslrootcert", "trust_server_certificate"];

/// What `tokio-postgres` reads from a URL's parameters, TLS apart.
const PASSED_ON: &[&str] = &[
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "load_balance_hosts",
    "options",
    "password",
    "port",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];

/// How the server's certificate is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Certificate {
    /// It must be trusted and name the host.
    Checked,
    /// Any will do.
    Any,
}

/// A PostgreSQL server and how to trust it.
#[derive(Clone)]
pub(crate) struct PostgresTarget {
    pub config: tokio_postgres::Config,
    pub certificate: Certificate,
    /// PEM certificates to trust besides the system's.
    pub root_file: Option<PathBuf>,
    /// Whether statements may be prepared.
    pub prepared: bool,
}

pub(super) fn from_url(url: &Url) -> Result<PostgresTarget> {
    let mut mode = None;
    let mut root_file = None;
    let mut trust_all = false;
    let mut prepared = true;
    let mut passed_on = Vec::new();
    for Parameter { written, name, value } in parameters(url)? {
        match name.as_str() {
            "prepared" => prepared = parse_flag(&name, &value)?,
            "sslmode" => mode = Some(value),
            "sslrootcert" => root_file = Some(PathBuf::from(value)),
            "trust_server_certificate" => trust_all = parse_flag(&name, &value)?,
            known if PASSED_ON.contains(&known) => passed_on.push(written),
            other => return Err(unknown_parameter(url, other, &[OURS, PASSED_ON].concat())),
        }
    }
    let mut plain = url.clone();
    plain.set_query(Some(&passed_on.join("&")));
    let mut config: tokio_postgres::Config =
        plain.as_str().parse().map_err(|error| invalid("the database URL cannot be read").with_source(error))?;
    if config.get_user().is_none() {
        return Err(invalid("the database URL names no user"));
    }

    let default_mode = if root_file.is_none() && is_on_this_machine(&config) { "prefer" } else { "verify-full" };
    let (mode, certificate) = match mode.as_deref().unwrap_or(default_mode) {
        "disable" => (SslMode::Disable, Certificate::Checked),
        // Whoever takes plain text as well gains nothing by refusing a certificate.
        "prefer" => (SslMode::Prefer, Certificate::Any),
        "require" | "verify-full" => (SslMode::Require, Certificate::Checked),
        other => {
            return Err(invalid(format!(
                "the URL parameter sslmode must be disable, prefer, require or verify-full, not {other:?}"
            )));
        }
    };
    let (mode, certificate) = match (trust_all, mode) {
        (true, SslMode::Disable) => {
            return Err(invalid("trust_server_certificate=true and sslmode=disable exclude each other: give one"));
        }
        (true, _) => (SslMode::Require, Certificate::Any),
        (false, _) => (mode, certificate),
    };
    if root_file.is_some() && (mode, certificate) != (SslMode::Require, Certificate::Checked) {
        return Err(invalid(
            "sslrootcert is of no use where no certificate is checked: leave it out, or say sslmode=require",
        ));
    }
    config.ssl_mode(mode);
    if config.get_application_name().is_none() {
        config.application_name("chokaq");
    }
    Ok(PostgresTarget { config, certificate, root_file, prepared })
}

/// Where there is a `hostaddr`, it is the address that is connected to, and `host` only the name in the certificate.
fn is_on_this_machine(config: &tokio_postgres::Config) -> bool {
    config.get_hosts().iter().all(is_local) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{Certificate, OURS, PASSED_ON, SslMode};
    use crate::config::{Config, PostgresTarget, Target};
    use crate::error::ErrorKind;

    fn target(url: &str) -> PostgresTarget {
        match url.parse::<Config>().unwrap().target {
            Target::Postgres(target) => *target,
            Target::Mssql(_) => panic!("not PostgreSQL"),
        }
    }

    fn tls(url: &str) -> (SslMode, Certificate) {
        let target = target(url);
        (target.config.get_ssl_mode(), target.certificate)
    }

    #[test]
    fn tls_is_checked_unless_the_server_is_on_this_machine() {
        let checked = (SslMode::Require, Certificate::Checked);
        assert_eq!(tls("postgres://app:secret@db.example/shop"), checked);
        assert_eq!(tls("postgres://app:secret@10.0.0.1/shop"), checked);
        for local in ["localhost", "127.0.0.1", "%2Fvar%2Frun%2Fpostgresql"] {
            let url = format!("postgres://app:secret@{local}/shop");
            assert_eq!(tls(&url), (SslMode::Prefer, Certificate::Any), "{url}");
            assert_eq!(tls(&format!("{url}?sslmode=require")), checked, "{url}");
            assert_eq!(tls(&format!("{url}?sslrootcert=/ca.pem")), checked, "{url}");
        }
    }

    #[test]
    fn the_address_that_is_connected_to_says_where_the_server_is() {
        let checked = (SslMode::Require, Certificate::Checked);
        assert_eq!(tls("postgres://app@localhost/shop?hostaddr=10.0.0.5"), checked);
        assert_eq!(tls("postgres:///shop?user=app&hostaddr=10.0.0.5"), checked);
        assert_eq!(tls("postgres://app@localhost/shop?hostaddr=127.0.0.1"), (SslMode::Prefer, Certificate::Any));
    }

    #[test]
    fn the_url_decides_over_the_default() {
        assert_eq!(tls("POSTGRES://app@db/shop?sslmode=disable").0, SslMode::Disable);
        assert_eq!(tls("postgres://app@db/shop?sslmode=prefer"), (SslMode::Prefer, Certificate::Any));
        assert_eq!(tls("postgres://app@db/shop?trust_server_certificate=true"), (SslMode::Require, Certificate::Any));
        let target = target("postgres://app@db/shop?sslrootcert=/ca.pem");
        assert_eq!(target.root_file.as_deref(), Some(std::path::Path::new("/ca.pem")));
    }

    #[test]
    fn other_parameters_reach_the_connection() {
        let target = target("postgres://app:p%40ss@db:5433/shop?application_name=the%20till&options=-c%20jit%3Doff");
        assert_eq!(target.config.get_application_name(), Some("the till"));
        assert_eq!(target.config.get_options(), Some("-c jit=off"));
        assert_eq!(target.config.get_password(), Some("p@ss".as_bytes()));
        assert_eq!(target.config.get_ports(), [5433]);
        assert_eq!(target.config.get_dbname(), Some("shop"));
    }

    #[test]
    fn calls_are_prepared_unless_the_url_says_otherwise() {
        assert!(target("postgres://app@db/shop").prepared);
        assert!(!target("postgres://app@db/shop?prepared=false").prepared);
    }

    #[test]
    fn a_plus_is_a_plus() {
        let config = target("postgres://dbname=a+b@db?dbname=a+b&password=c+d%2Be%26f").config;
        assert_eq!(config.get_user(), Some("dbname=a+b"));
        assert_eq!(config.get_dbname(), Some("a+b"));
        assert_eq!(config.get_password(), Some("c+d+e&f".as_bytes()));
    }

    #[test]
    fn an_unknown_parameter_is_told_the_known_ones_and_they_are() {
        let error = "postgres://app@db/shop?ssl=true".parse::<Config>().unwrap_err();
        for name in [OURS, PASSED_ON].concat() {
            assert!(error.message().contains(name), "{error}");
            let refused = format!("postgres://app@db/shop?{name}=maybe").parse::<Config>().err();
            assert!(refused.is_none_or(|error| !error.message().contains("not known")), "{name}");
        }
    }

    #[test]
    fn the_rest_of_a_password_is_not_shown_as_a_parameter() {
        for url in ["postgres://app:?sec=ret@db/shop", "postgres://app:47?secret@db/shop"] {
            let error = url.parse::<Config>().unwrap_err();
            assert!(!format!("{error:?}").contains("sec"), "{error:?}");
            assert!(error.message().contains("percent-encoded"), "{error}");
        }
        for url in [
            "postgres://app@db/shop?password=a&secret",
            "postgres://app@db/shop?password=a&secret=%FF",
            "mssql://app:?secret@db/shop",
        ] {
            let error = url.parse::<Config>().unwrap_err();
            assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        for (url, part) in [
            ("postgres://app@db/shop?ssl=true", "ssl"),
            ("postgres://app@db/shop?sslmode=allow", "sslmode"),
            ("postgres://app@db/shop?sslmode=disable&trust_server_certificate=true", "exclude each other"),
            ("postgres://app@db/shop?sslmode=prefer&sslrootcert=/ca.pem", "sslrootcert"),
            ("postgres://app@db/shop?trust_server_certificate=true&sslrootcert=/ca.pem", "sslrootcert"),
            ("postgres://app@/shop?host=/run/postgresql", "no host"),
            ("postgres://db/shop", "user"),
            ("mysql://db/shop", "mysql"),
        ] {
            let error = url.parse::<Config>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(error.message().contains(part), "{url}: {error}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        for url in [
            "postgres://app:secret@db/shop",
            "postgres://app@db/shop?password=secret",
            "mssql://app:secret@db/shop",
            "Server=db;Database=shop;User ID=app;Password=secret",
        ] {
            let config: Config = url.parse().unwrap();
            let shown = format!("{config} {config:?}");
            assert!(!shown.contains("secret"), "{shown}");
            assert!(shown.contains("db"), "{shown}");
        }
        for broken in [
            "postgres://app:sec#ret@:db:/shop",
            "postgres://app:1#secret@db/shop",
            "postgres://app:a@1/secret@db/shop",
            "postgres://app:a@1?secret@db/shop",
            "postgres://app:1?secret@db/?dbname=%FF",
            "postgres://app@db/shop?password=a&secret",
            "mssql://app:secret@db:port/shop",
            "mssql://app:a@1/secret@db/shop",
            "Password=secret;;=,\"'",
        ] {
            let error = broken.parse::<Config>().unwrap_err();
            assert!(!format!("{error} {error:?}").contains("sec"), "{error:?}");
        }
    }
}
