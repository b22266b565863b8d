//! Whatever a file holds, the checks end and point into it.

use std::path::Path;

use proptest::prelude::*;

use super::{Options, lint_text};
use crate::config::Dialect;
use crate::deploy::fuzz as sql;
use crate::fuzz::fuzz;

/// A promise, so that the rule about the contract is not quiet.
const CONTRACT: &str = "J | X | JobId, WorkerId=NULL | Outcome, JobId | worker\n";

#[test]
fn fuzz_any_text_is_checked_or_told_to_be_unreadable() {
    let files = ["procedures/mssql/usp_X.sql", "procedures/postgres/x.sql", "mssql/V0201__usp_X.sql", "x/chokaq.sql"];
    let strategy =
        (prop_oneof![sql::text(Dialect::Mssql), sql::text(Dialect::Postgres)], 0..files.len(), any::<bool>());
    let contract = || CONTRACT.parse().unwrap();
    let known = Options { dialect: None, contract: Some(contract()) };
    let told = [Dialect::Mssql, Dialect::Postgres].map(|it| Options { dialect: Some(it), contract: Some(contract()) });
    fuzz("lint", 150, &strategy, |(text, file, is_told)| {
        let options = if is_told { &told[..] } else { std::slice::from_ref(&known) };
        for options in options {
            let places: Vec<_> = match lint_text(Path::new(files[file]), &text, options) {
                Ok(findings) => findings.iter().map(|it| (it.line, it.column)).collect(),
                Err(unreadable) => unreadable.place.into_iter().collect(),
            };
            for (line, column) in places {
                prop_assert!(is_in(&text, line, column), "{}:{line}:{column} of {text:?}", files[file]);
            }
        }
        Ok(())
    });
}

/// Whether there is such a place, the end of the line included.
fn is_in(text: &str, line: u64, column: u64) -> bool {
    let (line, column) = (line as usize, column as usize);
    let found = line.checked_sub(1).and_then(|line| text.split('\n').nth(line));
    found.is_some_and(|it| (1..=it.chars().count() + 1).contains(&column))
}
