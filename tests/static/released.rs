//! Within a contract version, what calls one release calls every later one: `released/` holds the contract of each, and
//! `make release` adds it. A new contract version begins with an empty folder.

use std::fs;

use chokaq_tests::contract::{Contract, PROCEDURES, Parameter, Procedure};
use chokaq_tests::releases::{FROZEN, releases};

use crate::source::root;

/// What a caller of the older contract would miss in the newer one.
fn broken(older: &[Procedure], newer: &[Procedure]) -> Vec<String> {
    let mut broken = Vec::new();
    for old in older {
        let name = &old.name;
        let Some(new) = newer.iter().find(|new| new.name == *name) else {
            broken.push(format!("{name} is gone"));
            continue;
        };
        if new.kind != old.kind {
            broken.push(format!("{name} was {:?}, and is {:?}", old.kind, new.kind));
        }
        /* By position too: so in the same order, and what is new behind them and with a default. */
        let same = |(old, new): (&Parameter, &Parameter)| old.name == new.name && old.default == new.default;
        let known = old.parameters.len().min(new.parameters.len());
        if known < old.parameters.len() || !old.parameters.iter().zip(&new.parameters).all(same) {
            broken.push(format!("{name} takes other parameters"));
        } else if new.parameters[known..].iter().any(|added| added.default.is_none()) {
            broken.push(format!("{name} asks for a parameter that it did not ask for"));
        }
        if !new.columns.starts_with(&old.columns) {
            broken.push(format!("{name} answers with other columns"));
        }
        if !old.roles.iter().all(|role| new.roles.contains(role)) {
            broken.push(format!("{name} may be called by fewer roles"));
        }
    }
    broken
}

fn parse(list: &str) -> Vec<Procedure> {
    list.parse::<Contract>().unwrap_or_else(|problem| panic!("{problem}")).procedures
}

#[test]
fn every_call_of_a_release_is_still_a_call() {
    for release in releases(FROZEN) {
        let path = root().join(format!("tests/released/{}.txt", release.version));
        /* That of an older contract version is deleted with the version. */
        if let Ok(text) = fs::read_to_string(path) {
            assert_eq!(broken(&parse(&text), &PROCEDURES), [] as [&str; 0], "since {}", release.version);
        }
    }
}

#[test]
fn a_call_that_no_longer_works_is_found() {
    let old = "J | Enqueue | Queue=required, Priority=10 | Outcome, JobId | worker\n";
    assert_eq!(broken(&parse(old), &PROCEDURES[..0]), ["Enqueue is gone"]);
    for (new, found) in [
        (old, None),
        ("J | Enqueue | Queue=required, Priority=10, Tags=NULL | Outcome, JobId, More | worker, admin\n", None),
        ("R | Enqueue | Queue=required, Priority=10 | Outcome, JobId | worker\n", Some("was Joining")),
        ("J | Enqueue | Priority=10, Queue=required | Outcome, JobId | worker\n", Some("other parameters")),
        ("J | Enqueue | Queue=required, Priority=5 | Outcome, JobId | worker\n", Some("other parameters")),
        ("J | Enqueue | Queue=required | Outcome, JobId | worker\n", Some("other parameters")),
        ("J | Enqueue | Queue=required, Priority=10, Type=required | Outcome, JobId | worker\n", Some("did not ask")),
        ("J | Enqueue | Queue=required, Priority=10 | JobId, Outcome | worker\n", Some("other columns")),
        ("J | Enqueue | Queue=required, Priority=10 | Outcome, JobId | admin\n", Some("fewer roles")),
    ] {
        let broken = broken(&parse(old), &parse(new));
        match found {
            None => assert_eq!(broken, [] as [&str; 0], "{new}"),
            Some(found) => assert!(broken.len() == 1 && broken[0].contains(found), "{new}: {broken:?}"),
        }
    }
}
