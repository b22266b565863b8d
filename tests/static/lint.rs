//! The files keep the house's rules, which are those of `chokaq lint`, and each procedure of the contract has its files.

use chokaq::lint::{Options, lint};
use chokaq_tests::contract::{PROCEDURES, contract};
use chokaq_tests::names::snake_case;

use crate::source::{DIALECTS, Dialect, root, sources};

#[test]
fn procedures_and_migrations_keep_the_rules() {
    let folders = [root().join("procedures"), root().join("migrations")];
    let report = lint(&folders, &Options { contract: Some(contract()), ..Options::default() });
    let files: usize =
        DIALECTS.iter().flat_map(|dialect| ["procedures", "migrations"].map(|it| sources(it, *dialect).len())).sum();
    assert_eq!(report.files, files);
    assert_eq!(report.unreadable, []);
    let found: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// That a file of such a name is public, and what it offers, is for the rules.
#[test]
fn every_procedure_of_the_contract_has_a_file_in_both_dialects() {
    for dialect in DIALECTS {
        let files = sources("procedures", dialect);
        for procedure in PROCEDURES.iter() {
            let name = match dialect {
                Dialect::Mssql => format!("usp_{}", procedure.name),
                Dialect::Postgres => snake_case(&procedure.name),
            };
            assert!(files.iter().any(|file| file.name == name), "{dialect:?} has no {name}");
        }
    }
}
