//! What `migrate script` makes of the migrations, and that no client reads commands of its own in them.

use std::ops::Bound::Included;

use chokaq::migration_script;
use sqlparser::dialect::MsSqlDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

use crate::source::{Dialect, sources};

/// What sqlcmd and SSMS act upon at the beginning of a line, be it inside a literal or a comment.
const COMMANDS: [&str; 6] = ["GO", "EXIT", "QUIT", "RESET", "ED", "LIST"];

#[test]
fn no_migration_holds_what_sqlcmd_takes_for_its_own() {
    for source in sources("migrations", Dialect::Mssql) {
        let path = source.path.display();
        assert!(!source.text.contains("$("), "{path}: sqlcmd puts a variable in the place of $(x)");
        for (line, n) in source.text.lines().zip(1..) {
            let line = line.trim_start();
            let word = line.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
            let is_command = line.starts_with([':', '!']) || COMMANDS.contains(&&*word.to_ascii_uppercase());
            assert!(!is_command, "{path}:{n} begins with a command of sqlcmd: {line}");
        }
    }
}

/// psql ends a statement at its semicolon, and sqlcmd reads a file without BOM in the code page of the machine.
#[test]
fn a_migration_ends_its_last_statement_and_is_ascii() {
    for dialect in [Dialect::Mssql, Dialect::Postgres] {
        for source in sources("migrations", dialect) {
            let path = source.path.display();
            assert!(source.text.ends_with(";\n"), "{path} does not end with a semicolon");
            assert!(source.text.is_ascii(), "{path} is not ASCII");
        }
    }
}

#[test]
fn each_migration_stands_in_the_script_to_the_letter_and_in_order() {
    let script = migration_script(chokaq::Dialect::Mssql, ..).expect("a script");
    let tokens = Tokenizer::new(&MsSqlDialect {}, &script).tokenize().expect("tokens");
    let texts: Vec<String> = tokens
        .into_iter()
        .filter_map(|token| match token {
            Token::NationalStringLiteral(text) if text.ends_with('\n') => Some(text),
            _ => None,
        })
        .collect();
    let expected: Vec<String> = sources("migrations", Dialect::Mssql).into_iter().map(|source| source.text).collect();
    assert_eq!(texts, expected);

    let script = migration_script(chokaq::Dialect::Postgres, ..).expect("a script");
    let mut rest = script.as_str();
    for source in sources("migrations", Dialect::Postgres) {
        let found = rest.split_once(source.text.as_str());
        rest = found.unwrap_or_else(|| panic!("{} is not in the script", source.path.display())).1;
    }
}

#[test]
fn a_script_holds_the_versions_that_were_asked_for() {
    let versions = |script: &str| -> Vec<i32> {
        let lines = script.lines().filter_map(|line| line.strip_prefix("/* V")?.split_once("__"));
        lines.map(|(number, _)| number.parse().expect("a number")).collect()
    };
    for dialect in [chokaq::Dialect::Mssql, chokaq::Dialect::Postgres] {
        let script = migration_script(dialect, 2..=4).expect("a script");
        assert_eq!(versions(&script), [2, 3, 4], "{dialect}");
        assert_eq!(versions(&migration_script(dialect, ..3).expect("a script")), [1, 2], "{dialect}");
        for error in [
            migration_script(dialect, 5..),
            migration_script(dialect, ..=9999),
            migration_script(dialect, (Included(4), Included(2))),
        ] {
            assert_eq!(error.expect_err("no script").kind(), chokaq::ErrorKind::InvalidArgument, "{dialect}");
        }
    }
}
