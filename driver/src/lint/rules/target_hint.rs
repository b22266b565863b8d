//! What the table of a write may be told where the write names it.

use sqlparser::tokenizer::Token;

use super::{Faults, Rule, Scope, Subject};
use crate::config::Dialect;
use crate::lint::tokens::{Tok, parenthesized};

pub(super) const TARGET_HINT: Rule = Rule {
    name: "target-hint",
    demand: "No FORCESEEK, FORCESCAN, INDEX or READUNCOMMITTED behind the name of the table that UPDATE, DELETE or INSERT writes",
    reason: "SQL Server takes such a hint for a table of the FROM clause only, and refuses the whole procedure otherwise \
             (errors 10724, 10745, 1069, 1065), where Babelfish and a parser take it. UPDATE dbo.T SET ... FROM dbo.T WITH \
             (FORCESEEK) WHERE ... says the same.",
    scope: Scope::Statements(Some(Dialect::Mssql)),
    look,
};

fn look(it: &Subject<'_>, faults: &mut Faults) {
    let code = &it.file.code;
    for at in (0..code.len()).filter(|at| code[*at].is("WITH") && is_behind_target(&code[..*at])) {
        let Some((hints, _)) = parenthesized(&code[at + 1..]) else { continue };
        for tok in hints.iter().filter(|tok| tok.is_any(&["FORCESEEK", "FORCESCAN", "INDEX", "READUNCOMMITTED"])) {
            let hint = tok.word().unwrap_or_default().to_uppercase();
            faults.at_token(tok, format!("{hint} for the table that is written; say it in a FROM clause"));
        }
    }
}

/// Whether the text ends with UPDATE, DELETE or INSERT and a name without an alias.
fn is_behind_target(before: &[Tok]) -> bool {
    let mut at = before.len();
    loop {
        let Some(name) = at.checked_sub(1).filter(|name| matches!(before[*name].token, Token::Word(_))) else {
            return false;
        };
        at = name;
        match at.checked_sub(1) {
            Some(dot) if before[dot].token == Token::Period => at = dot,
            _ => break,
        }
    }
    let verb = match before[..at].split_last() {
        Some((last, rest)) if last.is_any(&["FROM", "INTO"]) => rest,
        _ => &before[..at],
    };
    let is_from = verb.len() < at && before[at - 1].is("FROM");
    let verb = match verb.iter().rposition(|tok| tok.is("TOP")) {
        Some(top) if parenthesized(&verb[top + 1..]).is_some_and(|(_, rest)| rest.is_empty()) => &verb[..top],
        _ => verb,
    };
    let verbs: &[&str] = if is_from { &["DELETE"] } else { &["UPDATE", "DELETE", "INSERT"] };
    verb.last().is_some_and(|tok| tok.is_any(verbs))
}

#[cfg(test)]
mod tests {
    use crate::lint::rules::tests::{finds, passes};

    #[test]
    fn the_table_of_a_write_takes_no_hint_of_a_reader() {
        for text in [
            "UPDATE a.b WITH (ROWLOCK, HINT) SET A = 1;",
            "DELETE FROM a.b WITH (HINT) WHERE A = 1;",
            "DELETE TOP (@n) FROM a.b WITH (ROWLOCK, HINT);",
            "DELETE b WITH (HINT);",
            "UPDATE TOP (1) [a].[b] WITH (HINT) SET A = 1;",
            "INSERT INTO a.b WITH (HINT) (A) VALUES (1);",
        ] {
            for hint in ["FORCESEEK", "FORCESCAN", "INDEX(i)", "READUNCOMMITTED"] {
                let (text, word) = (text.replace("HINT", hint), hint.trim_end_matches("(i)"));
                let column = text.find(hint).unwrap() + 1;
                finds("mssql/V1__x.sql", &text, "target-hint", &format!("1:{column}: {word} for the table"));
            }
            passes("mssql/V1__x.sql", &text.replace("HINT", "READPAST"), "target-hint");
        }
        for text in [
            "UPDATE t SET A = 1 FROM a.b AS t WITH (ROWLOCK, FORCESEEK) WHERE t.A = 2;",
            "DELETE t FROM a.b AS t WITH (INDEX(i), FORCESEEK);",
            "SELECT TOP (1) A FROM a.b WITH (FORCESEEK);",
            "DELETE FROM a.b WHERE A IN (SELECT c.A FROM a.c WITH (FORCESEEK));",
            "WITH x AS (SELECT 1 AS A) INSERT INTO a.b (A) SELECT x.A FROM x WITH (FORCESEEK);",
        ] {
            passes("mssql/V1__x.sql", text, "target-hint");
        }
    }
}
