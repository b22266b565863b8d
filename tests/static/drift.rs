//! The newest migration of every object is its source, to the byte; the numbers mean the same in both dialects.

use std::collections::BTreeMap;

use chokaq_tests::contract::PROCEDURES;
use chokaq_tests::names::snake_case;

use crate::source::{DIALECTS, Dialect, Source, sources};

/// The number and the object of `V0201__enqueue`.
fn parse(source: &Source) -> (u32, String) {
    let parsed = source.name.strip_prefix('V').and_then(|rest| rest.split_once("__"));
    let parsed = parsed.and_then(|(number, object)| Some((number.parse().ok()?, object.to_owned())));
    parsed.unwrap_or_else(|| panic!("{} is not V<number>__<object>.sql", source.path.display()))
}

/// The newest migration of every object.
fn newest(dialect: Dialect) -> BTreeMap<String, (u32, Source)> {
    let mut newest = BTreeMap::new();
    for source in sources("migrations", dialect) {
        let (number, object) = parse(&source);
        let kept: Option<&(u32, Source)> = newest.get(&object);
        if kept.is_none_or(|(other, _)| *other < number) {
            newest.insert(object, (number, source));
        }
    }
    newest
}

#[test]
fn the_newest_migration_of_every_procedure_and_of_the_permissions_is_its_source() {
    for dialect in DIALECTS {
        let newest = newest(dialect);
        let permissions = sources("sql", dialect).into_iter().filter(|source| source.name == "permissions");
        for source in sources("procedures", dialect).into_iter().chain(permissions) {
            let (_, migration) = newest
                .get(&source.name)
                .unwrap_or_else(|| panic!("{} has no migration: make migration NAME=...", source.path.display()));
            assert!(
                migration.text == source.text,
                "{} differs from {}: make migration NAME=...",
                migration.path.display(),
                source.path.display()
            );
        }
    }
}

#[test]
fn a_number_is_used_once_in_a_dialect() {
    for dialect in DIALECTS {
        let mut seen = BTreeMap::new();
        for source in sources("migrations", dialect) {
            let (number, _) = parse(&source);
            if let Some(other) = seen.insert(number, source.path.clone()) {
                panic!("{} and {} have one number", other.display(), source.path.display());
            }
        }
    }
}

#[test]
fn the_same_change_has_the_same_number_in_both_dialects() {
    let numbers = |dialect: Dialect| -> BTreeMap<String, Vec<u32>> {
        let mut numbers: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for source in sources("migrations", dialect) {
            let (number, object) = parse(&source);
            numbers.entry(object).or_default().push(number);
        }
        numbers
    };
    let (mssql, postgres) = (numbers(Dialect::Mssql), numbers(Dialect::Postgres));
    for procedure in PROCEDURES.iter() {
        let here = mssql.get(&format!("usp_{}", procedure.name));
        let there = postgres.get(&snake_case(&procedure.name));
        assert_eq!(here, there, "{}", procedure.name);
        assert!(here.is_some(), "{} has no migration", procedure.name);
    }
    assert_eq!(mssql.get("permissions"), postgres.get("permissions"), "permissions");
}
