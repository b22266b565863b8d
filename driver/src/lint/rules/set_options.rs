//! The SET options of T-SQL procedures.

use sqlparser::tokenizer::Token;

use super::{Faults, Rule, Scope, Subject};
use crate::config::Dialect;
use crate::lint::tokens::{Tok, split};

pub(super) const SET_OPTIONS: Rule = Rule {
    name: "set-options",
    demand: "A procedure begins with SET NOCOUNT, XACT_ABORT ON, and turns none of the options off that filtered \
             indexes need",
    reason: "A count of rows that nobody asked for is taken for a result. Without XACT_ABORT an error leaves half of a \
             transaction behind. With QUOTED_IDENTIFIER or its like OFF a write to a filtered index fails.",
    scope: Scope::Object(Some(Dialect::Mssql)),
    look,
};

const NEEDED: [&str; 2] = ["NOCOUNT", "XACT_ABORT"];

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
    let on = split(body, &Token::SemiColon)
        .into_iter()
        .take_while(|statement| statement[0].is("SET") && !statement.get(1).is_some_and(Tok::is_variable))
        .filter_map(|statement| set(statement, "ON"))
        .flatten();
    let on: Vec<&Tok> = on.collect();
    for needed in NEEDED.into_iter().filter(|needed| !on.iter().any(|tok| tok.is(needed))) {
        let message = format!("SET {needed} ON is missing; it belongs in front of the first statement");
        faults.at_token(&it.file.code[module.from], message);
    }
    for (i, _) in body.iter().enumerate().filter(|(_, tok)| tok.is("SET")) {
        for option in set(&body[i..], "OFF").unwrap_or_default().iter().filter(|option| option.is_any(&KEPT_ON)) {
            faults.at_token(option, format!("{} is turned off; leave it on", option.token));
        }
    }
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
        passes("mssql/x.sql", "CREATE OR ALTER FUNCTION a.x() RETURNS INT AS BEGIN RETURN 1; END;", "set-options");
    }
}
