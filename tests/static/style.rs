//! The house style of SQL files.

use std::collections::BTreeSet;

use chokaq_tests::contract::{Kind, PROCEDURES};
use sqlparser::tokenizer::Token;

use crate::source::{DIALECTS, Dialect, Source, is, procedures, sources};

const FIELDS: [&str; 8] = ["Twin", "Result", "Outcomes", "Errors", "Transaction", "Locks", "Granted to", "Example"];

fn every_file() -> impl Iterator<Item = Source> {
    ["procedures", "migrations"]
        .into_iter()
        .flat_map(|folder| DIALECTS.into_iter().flat_map(move |dialect| sources(folder, dialect)))
}

#[test]
fn a_file_is_utf_8_without_bom_tabs_or_carriage_returns_and_ends_with_one_newline() {
    for source in every_file() {
        let path = source.path.display();
        assert!(!source.text.starts_with('\u{feff}'), "{path} begins with a BOM");
        assert!(!source.text.contains(['\t', '\r']), "{path} has a tab or a carriage return");
        assert!(source.text.ends_with('\n') && !source.text.ends_with("\n\n"), "{path} does not end with one newline");
        for (line, n) in source.text.lines().zip(1..) {
            assert!(!line.ends_with(' '), "{path}:{n} ends with a blank");
        }
    }
}

#[test]
fn the_objects_name_is_the_files_name() {
    for source in procedures() {
        assert_eq!(source.definition()[0].to_string(), source.name, "{}", source.path.display());
        let first = source.header().trim_start().lines().next().unwrap_or_default().to_owned();
        assert!(first.starts_with(&format!("chokaq.{}: ", source.name)), "{}: {first}", source.path.display());
    }
}

#[test]
fn a_header_block_has_the_fields_in_order_and_at_most_twelve_lines() {
    for source in procedures() {
        let path = source.path.display();
        assert!(source.header().trim().lines().count() <= 12, "{path}");
        let fields: Vec<String> = source.fields().into_iter().map(|(name, _)| name).collect();
        let places: Option<Vec<usize>> =
            fields.iter().map(|name| FIELDS.iter().position(|field| field == name)).collect();
        assert!(places.is_some_and(|places| places.is_sorted()), "{path}: {fields:?}");
        if source.is_public() {
            for field in ["Twin", "Result", "Transaction", "Granted to", "Example"] {
                assert!(fields.iter().any(|name| name == field), "{path} has no {field}");
            }
        }
    }
}

#[test]
fn public_twins_have_the_same_header_fields_and_outcomes() {
    let mssql = sources("procedures", Dialect::Mssql);
    let postgres = sources("procedures", Dialect::Postgres);
    for source in mssql.iter().filter(|source| source.is_public()) {
        let twin = source.field("Twin").unwrap_or_default();
        let Some(twin) = postgres.iter().find(|it| it.path.ends_with(&twin)) else { continue };
        let names = |source: &Source| source.fields().into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(source), names(twin), "{}", source.path.display());
        assert_eq!(outcomes(source), outcomes(twin), "{}", source.path.display());
        assert_eq!(source.field("Granted to"), twin.field("Granted to"), "{}", source.path.display());
    }
}

#[test]
fn no_file_has_a_select_star_a_merge_or_a_go() {
    for source in every_file() {
        let path = source.path.display();
        let tokens = source.tokens();
        for pair in tokens.windows(2) {
            assert!(!(is(&pair[0], "SELECT") && pair[1] == Token::Mul), "{path} has SELECT *");
            assert!(!(pair[0] == Token::Period && pair[1] == Token::Mul), "{path} has x.*");
        }
        assert!(!tokens.iter().any(|token| is(token, "MERGE")), "{path} has MERGE");
        assert!(!source.text.lines().any(|line| line.trim().eq_ignore_ascii_case("go")), "{path} has GO");
    }
}

#[test]
fn a_joining_procedure_ends_only_a_transaction_of_its_own() {
    for source in sources("procedures", Dialect::Mssql) {
        let path = source.path.display();
        let text: Vec<String> = source.tokens().iter().map(|token| token.to_string().to_uppercase()).collect();
        let ends: Vec<usize> = (0..text.len().saturating_sub(1))
            .filter(|i| ["BEGIN", "COMMIT", "ROLLBACK"].contains(&&*text[*i]) && text[i + 1] == "TRANSACTION")
            .collect();
        for i in &ends {
            /* The condition that guards it is the nearest IF before. */
            let condition = text[..*i].iter().rposition(|token| token == "IF").map_or(&[][..], |from| &text[from..*i]);
            let guarded = condition.windows(3).any(|part| part == ["@OWNSTRANSACTION", "=", "1"]);
            assert!(guarded, "{path}: {} TRANSACTION without IF @OwnsTransaction = 1", text[*i]);
        }
        let contract = PROCEDURES.iter().find(|it| format!("usp_{}", it.name) == source.name);
        if contract.is_some_and(|it| it.kind == Kind::Joining) {
            let delegates = text.windows(2).any(|pair| pair[0] == "EXECUTE" && pair[1] == "CHOKAQ");
            assert!(!ends.is_empty() || delegates, "{path} begins no transaction when it is alone");
            let words = if ends.is_empty() { &["NOCOUNT"][..] } else { &["XACT_ABORT", "NOCOUNT", "CATCH"] };
            for word in words {
                assert!(text.iter().any(|token| token == word), "{path} has no {word}");
            }
        }
        if contract.is_some_and(|it| it.kind == Kind::Looping) {
            assert!(text.iter().any(|token| token == "59010"), "{path} does not refuse a transaction");
        }
    }
}

#[test]
fn postgres_functions_are_closed_to_the_public_and_have_their_own_search_path() {
    for source in sources("procedures", Dialect::Postgres) {
        let path = source.path.display();
        let revoke = format!("REVOKE ALL ON {} chokaq.{}(", kind(&source), source.name);
        let flat = source.text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(&revoke) && flat.ends_with("FROM PUBLIC;"), "{path} is not revoked from PUBLIC");
        if source.is_public() {
            assert!(flat.contains(&format!("COMMENT ON {} chokaq.{}(", kind(&source), source.name)), "{path}");
            let contract = PROCEDURES.iter().find(|it| chokaq_tests::names::snake_case(&it.name) == source.name);
            let looping = contract.is_some_and(|it| it.kind == Kind::Looping);
            assert_eq!(flat.contains("SECURITY DEFINER SET search_path = pg_catalog, pg_temp"), !looping, "{path}");
        }
    }
}

fn kind(source: &Source) -> &'static str {
    if source.tokens().iter().any(|token| is(token, "PROCEDURE")) { "PROCEDURE" } else { "FUNCTION" }
}

/// The outcome words of a header, without what is said about them.
fn outcomes(source: &Source) -> BTreeSet<String> {
    let text = source.field("Outcomes").unwrap_or_default();
    text.split('|').map(|part| part.split_whitespace().next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_read_past_locked_rows_asks_for_row_locks() {
    // READPAST passes over locked rows, never over locked pages: left to itself, a scan may take pages, and wait.
    for source in every_file().filter(|source| source.dialect == Dialect::Mssql) {
        let tokens = source.tokens();
        for at in (0..tokens.len()).filter(|at| is(&tokens[*at], "READPAST")) {
            let end = (at..tokens.len()).find(|i| tokens[*i] == Token::RParen).expect("the hints end");
            let start = (0..at).rev().find(|i| is(&tokens[*i], "WITH")).expect("the hints begin");
            let has_rows = tokens[start..end].iter().any(|token| is(token, "ROWLOCK"));
            assert!(has_rows, "{}: READPAST without ROWLOCK", source.path.display());
        }
    }
}
