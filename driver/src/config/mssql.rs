//! `mssql://` URLs and ADO strings.

use tiberius::{AuthMethod, EncryptionLevel};
use url::Url;

use super::{Parameter, decode, invalid, parameters, parse_flag, unknown_parameter};
use crate::error::Result;

/// The parameters of a URL.
const KNOWN: &[&str] =
    &["application_name", "encrypt", "instance", "trust_server_certificate", "trust_server_certificate_ca"];

pub(super) fn from_ado(text: &str) -> Result<tiberius::Config> {
    if !text.contains('=') {
        return Err(invalid(
            "a database is given as postgres://..., as mssql://... or as an ADO string (Server=...;Database=...)",
        ));
    }
    tiberius::Config::from_ado_string(text)
        .map(common)
        .map_err(|error| invalid("the ADO string cannot be read").with_source(error))
}

pub(super) fn from_url(url: &Url) -> Result<tiberius::Config> {
    let mut config = tiberius::Config::new();
    let host = url.host_str().filter(|host| !host.is_empty());
    config.host(host.ok_or_else(|| invalid("the database URL names no host"))?.trim_matches(['[', ']']));
    if let Some(port) = url.port() {
        config.port(port);
    }
    let database = decode(url.path().trim_start_matches('/'), "database name")?;
    if !database.is_empty() {
        config.database(database);
    }
    let user = decode(url.username(), "user name")?;
    if user.is_empty() {
        return Err(invalid("the database URL names no user"));
    }
    let password = decode(url.password().unwrap_or_default(), "password")?;
    config.authentication(AuthMethod::sql_server(user, password));
    config.encryption(EncryptionLevel::Required);

    let mut trust_all = false;
    let mut authority = None;
    for Parameter { name, value, .. } in parameters(url)? {
        match name.as_str() {
            "encrypt" => config.encryption(parse_encrypt(&value)?),
            "trust_server_certificate" => trust_all = parse_flag(&name, &value)?,
            "trust_server_certificate_ca" => authority = Some(value),
            "application_name" => config.application_name(value),
            "instance" => config.instance_name(value),
            other => return Err(unknown_parameter(url, other, KNOWN)),
        }
    }
    match (trust_all, authority) {
        (true, Some(_)) => {
            return Err(invalid(
                "trust_server_certificate=true and trust_server_certificate_ca exclude each other: give one",
            ));
        }
        (true, None) => config.trust_cert(),
        (false, Some(file)) => config.trust_cert_ca(file),
        (false, None) => {}
    }
    Ok(common(config))
}

fn parse_encrypt(value: &str) -> Result<EncryptionLevel> {
    match value.to_ascii_lowercase().as_str() {
        "true" => Ok(EncryptionLevel::Required),
        "strict" => Ok(EncryptionLevel::Strict),
        "login" => Ok(EncryptionLevel::Off),
        "false" => Ok(EncryptionLevel::NotSupported),
        _ => Err(invalid(format!("the URL parameter encrypt must be true, strict, login or false, not {value:?}"))),
    }
}

/// The driver keeps the time of each call itself; a second clock that counts from the last packet would end a purge
/// that is silent for minutes.
fn common(mut config: tiberius::Config) -> tiberius::Config {
    config.command_timeout(None);
    config
}

#[cfg(test)]
mod tests {
    use super::KNOWN;
    use crate::config::{Config, Target};
    use crate::error::ErrorKind;

    fn debug_of(text: &str) -> String {
        match text.parse::<Config>().unwrap().target {
            Target::Mssql(config) => format!("{config:?}"),
            Target::Postgres(_) => panic!("not a TDS server"),
        }
    }

    #[test]
    fn tls_is_required_unless_the_url_says_otherwise() {
        assert!(debug_of("mssql://sa:secret@db/shop").contains("encryption: Required"));
        assert!(debug_of("mssql://sa:secret@127.0.0.1/shop").contains("encryption: Required"));
        assert!(debug_of("mssql://sa:secret@db/shop?encrypt=false").contains("encryption: NotSupported"));
        assert!(debug_of("mssql://sa:secret@db/shop?encrypt=login").contains("encryption: Off"));
        assert!(debug_of("mssql://sa:secret@db/shop?encrypt=strict").contains("encryption: Strict"));
        assert!(debug_of("Server=db;Database=shop;User ID=sa;Password=secret").contains("encryption: Required"));
    }

    #[test]
    fn a_certificate_is_trusted_only_on_request() {
        assert!(debug_of("mssql://sa:secret@db/shop").contains("bypass: false"));
        assert!(debug_of("mssql://sa:secret@db/shop?trust_server_certificate=true").contains("bypass: true"));
        assert!(debug_of("mssql://sa:secret@db/shop?trust_server_certificate_ca=/ca.pem").contains("/ca.pem"));
    }

    #[test]
    fn host_port_database_and_escaped_password_are_read() {
        let shown = debug_of("mssql://sa:p%40ss%2Fw@[::1]:1444/shop?application_name=till+1");
        assert!(shown.contains("::1") && shown.contains("1444"), "{shown}");
        assert!(shown.contains("shop") && shown.contains("till+1"), "{shown}");
    }

    #[test]
    fn an_ado_password_may_look_like_a_url() {
        let shown = debug_of("Server=db;Database=shop;User ID=sa;Password=a://b");
        assert!(shown.contains("db") && shown.contains("shop"), "{shown}");
    }

    #[test]
    fn an_unknown_parameter_is_told_the_known_ones_and_they_are() {
        let error = "mssql://sa:secret@db/shop?tls=true".parse::<Config>().unwrap_err();
        for name in KNOWN {
            assert!(error.message().contains(name), "{error}");
            assert!(format!("mssql://sa:secret@db/shop?{name}=true").parse::<Config>().is_ok(), "{name}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        for (url, part) in [
            ("mssql://sa:secret@db/shop?encryption=true", "encryption"),
            ("mssql://sa:secret@db/shop?encrypt=maybe", "encrypt"),
            ("mssql://sa:secret@db/shop?trust_server_certificate=maybe", "trust_server_certificate"),
            ("mssql://sa:secret@db?trust_server_certificate=1&trust_server_certificate_ca=x", "exclude each other"),
            ("mssql://db/shop", "user"),
            ("shop.db", "ADO string"),
        ] {
            let error = url.parse::<Config>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(error.message().contains(part), "{url}: {error}");
        }
    }
}
