//! The SET options of T-SQL procedures.

use sqlparser::tokenizer::Token;

use super::{Faults, Rule, Scope, Subject};
use crate::config::Dialect;
use crate::lint::tokens::{Tok, split};

pub(super) const SET_OPTIONS: Rule = Rule {
    name: "set-options",
    demand: "A procedure begins with SET NOCOUNT, XACT_ABORT ON, a public one also with ANSI_NULLS, ANSI_PADDING, \
             ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL ON, NUMERIC_ROUNDABORT OFF, ROWCOUNT 0 and TEXTSIZE 2147483647; one \
             that begins a transaction has READ COMMITTED among them; and none turns an option off that filtered indexes \
             need",
    reason: "The caller's session may have anything. A count of rows that nobody asked for is taken for a result. Without \
             XACT_ABORT an error leaves half of a transaction behind. With ANSI_WARNINGS or its like OFF a write to a \
             filtered index fails. ROWCOUNT and TEXTSIZE cut what is done and what is read. What others have not \
             committed decides nothing.",
    scope: Scope::Object(Some(Dialect::Mssql)),
    look,
};

const NEEDED: [&str; 2] = ["NOCOUNT", "XACT_ABORT"];
const NEEDED_IN_PUBLIC: [&str; 4] = ["ANSI_NULLS", "ANSI_PADDING", "ANSI_WARNINGS", "CONCAT_NULL_YIELDS_NULL"];

/// Statements that a public procedure needs, word by word.
const SAID_IN_PUBLIC: [&str; 3] = ["SET NUMERIC_ROUNDABORT OFF", "SET ROWCOUNT 0", "SET TEXTSIZE 2147483647"];
const LEVEL: &str = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED";

/// What must not be turned off; XACT_ABORT and NOCOUNT neither.
const KEPT_ON: [&str; 9] = [
    "NOCOUNT",
    "XACT_ABORT",
    "QUOTED_IDENTIFIER",
    "ANSI_NULLS",
    "ANSI_PADDING",
    "ANSI_WARNINGS",
    "ANSI_NULL_DFLT_ON",
    "ARITHABORT",
    "CONCAT_NULL_YIELDS_NULL",
];

fn look(it: &Subject<'_>, faults: &mut Faults) {
    let Some(module) = it.file.module.as_ref().filter(|module| module.kind == "PROCEDURE") else { return };
    let (_, body) = it.file.tsql_parts();
    let body = match body {
        [begin, rest @ ..] if begin.is("BEGIN") => rest,
        _ => body,
    };
    let first: Vec<&[Tok]> = split(body, &Token::SemiColon)
        .into_iter()
        .take_while(|statement| statement[0].is("SET") && !statement.get(1).is_some_and(Tok::is_variable))
        .collect();
    let on: Vec<&Tok> = first.iter().filter_map(|statement| set(statement, "ON")).flatten().collect();
    let is_public = it.file.public().is_some();
    let begins_one = body.windows(2).any(|pair| pair[0].is("BEGIN") && pair[1].is("TRANSACTION"));
    let of_public = |words: &'static [&'static str]| if is_public { words } else { &[] };
    let missing =
        NEEDED.iter().chain(of_public(&NEEDED_IN_PUBLIC)).filter(|needed| !on.iter().any(|tok| tok.is(needed)));
    let unsaid = of_public(&SAID_IN_PUBLIC).iter().chain(begins_one.then_some(&LEVEL));
    let unsaid = unsaid.filter(|words| !first.iter().any(|statement| is_said(statement, words)));
    let missing = missing.map(|option| format!("SET {option} ON")).chain(unsaid.map(|words| (*words).to_owned()));
    for missing in missing {
        let message = format!("{missing} is missing; it belongs in front of the first statement");
        faults.at_token(&it.file.code[module.from], message);
    }
    for (i, _) in body.iter().enumerate().filter(|(_, tok)| tok.is("SET")) {
        for option in set(&body[i..], "OFF").unwrap_or_default().iter().filter(|option| option.is_any(&KEPT_ON)) {
            faults.at_token(option, format!("{} is turned off; leave it on", option.token));
        }
    }
}

fn is_said(statement: &[Tok], words: &str) -> bool {
    let said: Vec<String> = statement.iter().map(|tok| tok.token.to_string().to_uppercase()).collect();
    said == words.split(' ').collect::<Vec<_>>()
}

/// The options of `SET a, b ON`, if that is what the tokens begin with.
fn set<'a>(statement: &'a [Tok], state: &str) -> Option<Vec<&'a Tok>> {
    let end = statement.iter().skip(1).position(|tok| tok.token != Token::Comma && tok.is_any(&["ON", "OFF"]))? + 1;
    let list = &statement[1..end];
    let is_list = list.iter().enumerate().all(|(i, tok)| match i % 2 {
        0 => tok.word().is_some(),
        _ => tok.token == Token::Comma,
    });
    (is_list && statement[end].is(state)).then(|| list.iter().step_by(2).collect())
}

#[cfg(test)]
mod tests {
    use crate::lint::rules::tests::{finds, passes};

    #[test]
    fn a_procedure_begins_with_its_options() {
        let head = "CREATE OR ALTER PROCEDURE a.x @A INT AS\n";
        for good in [
            "BEGIN SET NOCOUNT, XACT_ABORT ON; SELECT 1; END;",
            "SET XACT_ABORT ON; SET ROWCOUNT 0; SET NOCOUNT ON; SELECT 1;",
            "SET NOCOUNT, XACT_ABORT ON; SET IMPLICIT_TRANSACTIONS OFF; UPDATE a.b SET ON_X = 1;",
        ] {
            passes("mssql/x.sql", &format!("{head}{good}"), "set-options");
        }
        for (bad, fault) in [
            ("SET NOCOUNT ON; SELECT 1;", "1:1: SET XACT_ABORT ON is missing"),
            ("SET XACT_ABORT ON; SELECT 1; SET NOCOUNT ON;", "1:1: SET NOCOUNT ON is missing"),
            ("SET XACT_ABORT ON; SET @A = 1; SET NOCOUNT ON;", "1:1: SET NOCOUNT ON is missing"),
            (
                "SET NOCOUNT, XACT_ABORT ON; SELECT 1; SET ANSI_NULLS, QUOTED_IDENTIFIER OFF;",
                "2:43: ANSI_NULLS is turned off",
            ),
        ] {
            let text = format!("{head}{bad}");
            let found = crate::lint::rules::tests::found("mssql/x.sql", &text, "set-options");
            assert!(found.first().is_some_and(|it| it.starts_with(fault)), "{found:?}");
        }
        finds("mssql/x.sql", &format!("{head}SET NOCOUNT ON;"), "set-options", "1:1: SET XACT_ABORT");
        let begins = "SET NOCOUNT, XACT_ABORT ON; BEGIN TRANSACTION;";
        finds("mssql/x.sql", &format!("{head}{begins}"), "set-options", "1:1: SET TRANSACTION ISOLATION LEVEL");
        passes("mssql/x.sql", "CREATE OR ALTER FUNCTION a.x() RETURNS INT AS BEGIN RETURN 1; END;", "set-options");
    }
    #[test]
    fn a_public_procedure_sets_what_a_session_may_have_otherwise() {
        let head = "/*\na.x: x\n\nTransaction  joining\nGranted to   r\n*/\nCREATE OR ALTER PROCEDURE a.x AS\n";
        let good = "SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
SET NUMERIC_ROUNDABORT OFF; SET ROWCOUNT 0; SET TEXTSIZE 2147483647; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
BEGIN TRANSACTION; SELECT 1;";
        passes("mssql/x.sql", &format!("{head}{good}"), "set-options");
        for (part, fault) in [
            ("ANSI_WARNINGS, ", "SET ANSI_WARNINGS ON is missing"),
            ("CONCAT_NULL_YIELDS_NULL, ", "SET CONCAT_NULL_YIELDS_NULL ON is missing"),
            (" SET ROWCOUNT 0;", "SET ROWCOUNT 0 is missing"),
            (" SET TEXTSIZE 2147483647;", "SET TEXTSIZE 2147483647 is missing"),
            (" SET TRANSACTION ISOLATION LEVEL READ COMMITTED;", "SET TRANSACTION ISOLATION LEVEL READ COMMITTED is"),
        ] {
            let text = format!("{head}{}", good.replace(part, ""));
            finds("mssql/x.sql", &text, "set-options", &format!("7:1: {fault}"));
        }
    }
}
