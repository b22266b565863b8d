//! The two dialects offer the same procedures, parameters, defaults and columns: the contract's.

use chokaq_tests::contract::{PROCEDURES, Parameter};
use chokaq_tests::names::snake_case;

use crate::source::{DIALECTS, Dialect, Source, postgres_columns, procedures, sources};

#[test]
fn both_dialects_offer_the_contracts_procedures() {
    for dialect in DIALECTS {
        let offered: Vec<String> =
            sources("procedures", dialect).into_iter().filter(Source::is_public).map(|it| it.name).collect();
        let mut expected: Vec<String> = PROCEDURES.iter().map(|it| name(dialect, &it.name)).collect();
        expected.sort();
        assert_eq!(offered, expected, "{dialect:?}");
    }
}

#[test]
fn parameters_and_defaults_are_the_contracts_in_both_dialects() {
    for source in procedures().filter(Source::is_public) {
        let Some(contract) = PROCEDURES.iter().find(|it| name(source.dialect, &it.name) == source.name) else {
            continue;
        };
        let found: Vec<String> = source.parameters().into_iter().map(|(name, _)| name).collect();
        let expected: Vec<String> = contract.parameters.iter().map(|it| parameter(source.dialect, &it.name)).collect();
        assert_eq!(found, expected, "{}", source.path.display());
        let mut after_default = false;
        for ((name, found), parameter) in source.parameters().into_iter().zip(&contract.parameters) {
            after_default |= parameter.default.is_some();
            let expected = expected_default(source.dialect, parameter, after_default, found.as_deref());
            assert_eq!(found, expected, "{}: default of {name}", source.path.display());
        }
    }
}

#[test]
fn postgres_returns_the_contracts_columns() {
    for source in sources("procedures", Dialect::Postgres).iter().filter(|it| it.is_public()) {
        let contract = PROCEDURES.iter().find(|it| snake_case(&it.name) == source.name);
        let expected: Option<Vec<String>> = contract.map(|it| it.columns.iter().map(|it| snake_case(it)).collect());
        assert_eq!(Some(postgres_columns(source)), expected, "{}", source.path.display());
    }
}

#[test]
fn each_names_its_twin_and_the_twin_names_it() {
    let all: Vec<Source> = procedures().collect();
    for source in &all {
        let twin = source.field("Twin").unwrap_or_else(|| panic!("{} has no Twin", source.path.display()));
        if twin.starts_with("none") {
            assert!(!source.is_public(), "{} is public and has no twin", source.path.display());
            let claims = all.iter().find(|it| it.field("Twin").is_some_and(|twin| source.path.ends_with(twin)));
            assert!(claims.is_none(), "{} is the twin of a file and knows none", source.path.display());
            continue;
        }
        let found = all.iter().find(|it| it.path.ends_with(&twin));
        let found = found.unwrap_or_else(|| panic!("{}: there is no {twin}", source.path.display()));
        assert_ne!(found.dialect, source.dialect, "{}", source.path.display());
        if source.is_public() {
            let back = found.field("Twin").unwrap_or_default();
            assert!(source.path.ends_with(&back), "{} names {back}", found.path.display());
        }
    }
}

fn name(dialect: Dialect, procedure: &str) -> String {
    match dialect {
        Dialect::Mssql => format!("usp_{procedure}"),
        Dialect::Postgres => snake_case(procedure),
    }
}

fn parameter(dialect: Dialect, parameter: &str) -> String {
    match dialect {
        Dialect::Mssql => parameter.to_owned(),
        Dialect::Postgres => snake_case(parameter),
    }
}

/// What must be given and stands behind a default has the default NULL, which is refused by name. PostgreSQL spells a
/// flag's default in letters.
fn expected_default(
    dialect: Dialect,
    parameter: &Parameter,
    after_default: bool,
    found: Option<&str>,
) -> Option<String> {
    match (dialect, parameter.default.as_deref()) {
        (_, None) if after_default => Some("NULL".to_owned()),
        (Dialect::Postgres, Some("0")) if found == Some("false") => Some("false".to_owned()),
        (Dialect::Postgres, Some("1")) if found == Some("true") => Some("true".to_owned()),
        (_, default) => default.map(str::to_owned),
    }
}
