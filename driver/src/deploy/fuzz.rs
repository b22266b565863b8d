//! Whatever a file holds, it is taken apart at its own seams.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use sqlparser::dialect::{Dialect as Grammar, MsSqlDialect, PostgreSqlDialect};
use sqlparser::tokenizer::{Token, Tokenizer};

use super::babelfish::{CreateOrAlter, offset};
use super::{embedded, statements};
use crate::config::Dialect;
use crate::fuzz::fuzz;

/// What opens and closes, what readers of SQL look for, and letters of more than one byte.
#[rustfmt::skip]
const SCRAPS: &[&str] = &[
    "'", "''", "N'", "E'", "\"", "[", "]", "]]", "(", ")", "/*", "*/", "--", "\n", "\r\n", "\r", "\t", " ", ";", ",",
    ".", "::", ":=", "=>", "$$", "$b$", "$B$", "$1", "$", "@", "@@", "#", "\\", "`", "{", "}", "%", "_", "\0",
    "\u{feff}", "\u{a0}", "\u{2028}", "é", "e\u{301}", "🙂", "\u{2bc}", "\u{ff07}", "0", "0x", "1e", "1e999", ".5",
    "U&'", "B'1", "X'", "GO", "GO 5", "AS", "BEGIN", "END", "BEGIN TRY", "END CATCH", "CREATE", "OR", "ALTER", "DROP",
    "CREATE OR ALTER PROCEDURE chokaq.usp_X", "CREATE OR REPLACE FUNCTION chokaq.x(", "VIEW", "TRIGGER", "INDEX",
    "ON", "IF", "NOT", "EXISTS", "DO", "LANGUAGE plpgsql", "RETURNS TABLE (", "SELECT", "SELECT *", "FROM", "WITH (",
    "UPDATE", "DELETE", "MERGE", "INSERT INTO chokaq.JobsHot", "EXECUTE (", "EXEC", "COMMIT", "ROLLBACK", "RAISE",
    "THROW 59001, N'x', 1", "GRANT EXECUTE ON OBJECT::chokaq.usp_X TO r", "COMMENT ON", "SET NOCOUNT, XACT_ABORT ON",
    "REVOKE ALL ON FUNCTION chokaq.x(text) FROM PUBLIC", "SECURITY DEFINER", "@JobId NVARCHAR(50)", "READPAST",
    "SET search_path = pg_catalog, pg_temp", "chokaq-lint: allow no-merge: because", "chokaq-lint: allow", "WHILE 1 = 1",
    "/*\nchokaq.usp_X: does it\n\nTwin         postgres/x.sql\nResult       one row: Outcome\n*/\n",
];

/// Nearly SQL: scraps put together, or a file of the kit that somebody was at.
pub fn text(dialect: Dialect) -> impl Strategy<Value = String> {
    let files: Vec<String> = embedded(dialect).iter().filter_map(|it| it.sql().map(str::to_owned)).collect();
    let change = (any::<Index>(), any::<Index>(), scrap());
    let changed = (select(files), vec(change, 1..6)).prop_map(|(mut text, changes)| {
        for (from, length, scrap) in changes {
            let from = boundary(&text, from.index(text.len() + 1));
            let until = boundary(&text, (from + length.index(40)).min(text.len()));
            text.replace_range(from..until, &scrap);
        }
        text
    });
    prop_oneof![vec(scrap(), 0..40).prop_map(|scraps| scraps.concat()), changed]
}

fn scrap() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => select(SCRAPS).prop_map(str::to_owned),
        2 => select(SCRAPS).prop_map(|scrap| format!(" {scrap} ")),
        1 => any::<String>(),
    ]
}

fn boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The tokens that are no white space, each with the text from its place to the next one's.
fn pieces(grammar: &dyn Grammar, text: &str) -> Option<Vec<(Token, String)>> {
    let tokens = Tokenizer::new(grammar, text).with_unescape(false).tokenize_with_location().ok()?;
    let ends = tokens.iter().skip(1).map(|it| offset(text, it.span.start)).chain([text.len()]);
    let all =
        tokens.iter().zip(ends).map(|(it, end)| (it.token.clone(), text[offset(text, it.span.start)..end].into()));
    Some(all.collect())
}

fn code(text: &str) -> Option<Vec<Token>> {
    let tokens = Tokenizer::new(&MsSqlDialect {}, text).tokenize().ok()?;
    Some(tokens.into_iter().filter(|token| !matches!(token, Token::Whitespace(_))).collect())
}

#[test]
fn fuzz_the_pieces_of_a_script_are_the_script() {
    let strategy = (prop_oneof![text(Dialect::Mssql), text(Dialect::Postgres)], any::<bool>());
    fuzz("script", 150, &strategy, |(text, is_mssql)| {
        let (dialect, grammar): (_, &dyn Grammar) =
            if is_mssql { (Dialect::Mssql, &MsSqlDialect {}) } else { (Dialect::Postgres, &PostgreSqlDialect {}) };
        if let Some(pieces) = pieces(grammar, &text) {
            let whole: String = pieces.iter().map(|(_, piece)| piece.as_str()).collect();
            prop_assert_eq!(&whole, &text);
            for (token, piece) in &pieces {
                if matches!(token, Token::Word(_)) {
                    prop_assert_eq!(piece, &token.to_string());
                }
            }
        }
        for statement in statements::read(dialect, &text) {
            let verb = statement.kind.split(' ').next().unwrap_or_default();
            // Two are told in other words: EXEC, and what only refuses.
            let is_said = text.to_lowercase().contains(verb) || ["check", "execute"].contains(&verb);
            prop_assert!(is_said, "{:?} is not in {:?}", statement, text);
        }
        Ok(())
    });
}

#[test]
fn fuzz_only_two_words_of_a_statement_are_rewritten_for_babelfish() {
    let begun = (vec(select(&["/* x */", "-- y\n", " ", "\n", "\u{feff}"][..]), 0..4), text(Dialect::Mssql));
    let begun = begun.prop_map(|(before, text)| format!("{}CREATE OR ALTER {text}", before.concat()));
    fuzz("rewrite", 150, &prop_oneof![begun, text(Dialect::Mssql)], |text| {
        let Ok(Some(statement)) = CreateOrAlter::read(&text) else { return Ok(()) };
        for exists in [false, true] {
            let batches = statement.batches(exists);
            let (Some(mut before), Some(after)) = (code(&text), batches.last().and_then(|it| code(it))) else {
                return Err(TestCaseError::fail(format!("{batches:?} of {text:?} cannot be read")));
            };
            before.drain(1..3);
            // CREATE, or ALTER of what is there.
            prop_assert_eq!(&before[1..], &after[1..], "{:?} of {:?}", &batches, &text);
        }
        Ok(())
    });
}
