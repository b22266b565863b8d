//! Whatever a URL holds, its password is nowhere shown.

use std::error::Error as _;
use std::fmt::Write;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::Config;
use crate::fuzz::fuzz;

/// The middle of every password: letters that stand nowhere else, in any spelling of them.
const SECRET: &str = "qzxjvk";

/// What means something in a URL or in an ADO string.
#[rustfmt::skip]
const MARKS: &[&str] = &[
    "@", ":", "/", "//", "://", "#", "?", "&", "=", "%", "%40", "%2F", "%00", "%FF", "%zz", "+", ";", "'", "\"", "{", "}",
    "\\", "[", "]", " ", "\t", "\n", "\0", "é", "🙂", "\u{ff07}", ",", "1433", "99999", "-1",
];

#[rustfmt::skip]
const PARAMETERS: &[&str] = &[
    "sslmode=disable", "sslmode=require", "sslmode=", "sslrootcert=/ca.pem", "prepared=no", "prepared=maybe", "encrypt=strict",
    "encrypt=x", "trust_server_certificate=true", "trust_server_certificate_ca=x", "application_name=a+b", "instance=i",
    "options=-c%20jit%3Doff", "connect_timeout=x", "port=1,2", "host=a,b", "hostaddr=::1", "dbname=%FF", "user=u", "nothing=1",
    "keepalives=2", "channel_binding=maybe", "target_session_attrs=any", "load_balance_hosts=x", "password", "=", "&",
];

const OTHERS: &[&str] =
    &["Server=db,1433", "Server=tcp:db", "User ID=app", "Database=shop", "Encrypt=strict", "Encrypt=x", "x", "=", ""];

fn marks() -> impl Strategy<Value = String> {
    vec(prop_oneof![3 => select(MARKS).prop_map(str::to_owned), 2 => "[a-z0-9]{1,6}", 1 => any::<String>()], 0..4)
        .prop_map(|marks| marks.concat())
}

/// A password with marks on both sides of the letters that are looked for, raw or as the rules want it.
fn password() -> impl Strategy<Value = String> {
    (marks(), marks(), any::<bool>()).prop_map(|(before, after, is_encoded)| {
        let whole = format!("{before}{SECRET}{after}");
        if is_encoded {
            percent_encoding::utf8_percent_encode(&whole, percent_encoding::NON_ALPHANUMERIC).to_string()
        } else {
            whole
        }
    })
}

fn url() -> impl Strategy<Value = String> {
    let scheme = select(&["postgres", "postgresql", "mssql", "sqlserver", "POSTGRES", "mysql", "file", "x y", ""][..]);
    let host = prop_oneof![
        select(&["db", "localhost", "127.0.0.1", "[::1]", "%2Frun", "db:5433", "db:x", "db:99999", "a,b", ""][..])
            .prop_map(str::to_owned),
        marks(),
    ];
    let parameters = vec(select(PARAMETERS).prop_map(str::to_owned), 0..4).prop_map(|it| it.join("&"));
    (scheme, "[a-z]{1,4}", password(), host, marks(), parameters, any::<bool>()).prop_map(
        |(scheme, user, password, host, database, parameters, in_query)| match in_query {
            true => format!("{scheme}://{user}@{host}/{database}?{parameters}&password={password}"),
            false => format!("{scheme}://{user}:{password}@{host}/{database}?{parameters}"),
        },
    )
}

fn ado() -> impl Strategy<Value = String> {
    let key = select(&["Password", "password", "PWD", "Pwd", " Password "][..]);
    let others = vec(prop_oneof![select(OTHERS).prop_map(str::to_owned), marks()], 0..5);
    let quotes = select(&[("", ""), ("\"", "\""), ("'", "'"), ("{", "}"), ("'", ""), ("{", "")][..]);
    (key, password(), quotes, others, any::<prop::sample::Index>()).prop_map(
        |(key, password, (open, close), mut parts, at)| {
            let at = at.index(parts.len() + 1);
            parts.insert(at, format!("{key}={open}{password}{close}"));
            parts.join(";")
        },
    )
}

#[test]
fn fuzz_no_url_shows_its_password() {
    fuzz("url", 500, &prop_oneof![3 => url(), 2 => ado(), 1 => any::<String>()], |text| {
        let mut shown = String::new();
        let _ = match text.parse::<Config>() {
            Ok(config) => write!(shown, "{config} {config:?}"),
            Err(error) => {
                let mut source = error.source();
                while let Some(cause) = source {
                    let _ = write!(shown, "{cause} {cause:?} ");
                    source = cause.source();
                }
                write!(shown, "{error} {error:?}")
            }
        };
        prop_assert!(!shown.to_lowercase().contains(SECRET), "{:?} is shown as {}", text, shown);
        Ok(())
    });
}
