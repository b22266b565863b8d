//! What no file says.

use sqlparser::tokenizer::Token;

use super::{Faults, Rule, Scope, Subject};
use crate::config::Dialect;
use crate::lint::tokens::Tok;

pub(super) const SELECT_STAR: Rule = Rule {
    name: "select-star",
    demand: "No SELECT * and no x.*; COUNT(*) is allowed",
    reason: "A new column would change what callers get.",
    scope: Scope::Statements(None),
    look: select_star,
};

pub(super) const MERGE: Rule = Rule {
    name: "merge",
    demand: "No MERGE",
    reason: "Two of them meet at one key without HOLDLOCK, and PostgreSQL 14 and Babelfish have none. Write INSERT, \
             UPDATE or DELETE with the condition in it.",
    scope: Scope::Statements(None),
    look: merge,
};

pub(super) const NOLOCK: Rule = Rule {
    name: "nolock",
    demand: "No NOLOCK, and no session that reads uncommitted rows",
    reason: "Such a read sees what is never committed, sees rows twice and misses some. Where one statement may read so, \
             it says READUNCOMMITTED at its table, and a comment says why.",
    scope: Scope::Statements(Some(Dialect::Mssql)),
    look: nolock,
};

pub(super) const DYNAMIC_SQL: Rule = Rule {
    name: "dynamic-sql",
    demand: "No EXECUTE of a text in a procedure: sp_executesql, EXECUTE (...), EXECUTE @name; in PL/pgSQL EXECUTE",
    reason: "It breaks ownership chaining, so that callers need rights on tables, and it is where injection gets in.",
    scope: Scope::Object(None),
    look: dynamic_sql,
};

fn select_star(it: &Subject<'_>, faults: &mut Faults) {
    let code = &it.file.code;
    for (i, tok) in code.iter().enumerate().filter(|(_, tok)| tok.token == Token::Mul) {
        let Some(before) = i.checked_sub(1).map(|before| &code[before]) else { continue };
        let is_star = before.is_any(&["SELECT", "DISTINCT", "ALL", "RETURNING", "OUTPUT"])
            || matches!(before.token, Token::Period | Token::Comma)
            || is_behind_top(&code[..i]);
        if is_star {
            faults.at_token(tok, "* stands for columns; name them");
        }
    }
}

/// `SELECT TOP (n)` or `SELECT TOP n`.
fn is_behind_top(before: &[Tok]) -> bool {
    let opening = match before.last().map(|tok| &tok.token) {
        Some(Token::RParen) => {
            let mut depth = 0_usize;
            before.iter().rposition(|tok| {
                match tok.token {
                    Token::RParen => depth += 1,
                    Token::LParen => depth = depth.saturating_sub(1),
                    _ => {}
                }
                depth == 0
            })
        }
        Some(Token::Number(..)) => Some(before.len() - 1),
        _ => None,
    };
    opening.and_then(|i| before[..i].last()).is_some_and(|tok| tok.is("TOP"))
}

fn merge(it: &Subject<'_>, faults: &mut Faults) {
    let code = &it.file.code;
    for (i, tok) in code.iter().enumerate().filter(|(_, tok)| tok.is("MERGE")) {
        // A hint of how to join.
        if !code.get(i + 1).is_some_and(|next| next.is_any(&["JOIN", "UNION"])) {
            faults.at_token(tok, "MERGE; write INSERT, UPDATE or DELETE with the condition in it");
        }
    }
}

fn nolock(it: &Subject<'_>, faults: &mut Faults) {
    for tok in it.file.code.iter().filter(|tok| tok.is("NOLOCK")) {
        faults.at_token(tok, "NOLOCK; read committed rows, or say READUNCOMMITTED and why");
    }
    for pair in it.file.code.windows(2).filter(|pair| pair[0].is("READ") && pair[1].is("UNCOMMITTED")) {
        faults.at_token(
            &pair[0],
            "every later read of the session would be dirty; say READUNCOMMITTED at one table, and why",
        );
    }
}

fn dynamic_sql(it: &Subject<'_>, faults: &mut Faults) {
    match it.file.dialect {
        Dialect::Mssql => dynamic_tsql(&it.file.code, faults),
        Dialect::Postgres => {
            let body: Vec<&Tok> = it.file.body().collect();
            for (i, tok) in body.iter().enumerate().filter(|(_, tok)| tok.is("EXECUTE")) {
                let is_right = i.checked_sub(1).is_some_and(|before| body[before].is_any(&["GRANT", "REVOKE"]));
                if !is_right {
                    faults.at_token(tok, "EXECUTE runs a text; write the statement itself");
                }
            }
        }
    }
}

fn dynamic_tsql(code: &[Tok], faults: &mut Faults) {
    for (i, tok) in code.iter().enumerate() {
        let next = code.get(i + 1);
        let is_text = tok.is_any(&["EXECUTE", "EXEC"])
            && next.is_some_and(|next| {
                // `EXECUTE @Code = a.usp_X` keeps what a procedure returns.
                next.token == Token::LParen
                    || next.is_variable() && code.get(i + 2).is_none_or(|after| after.token != Token::Eq)
            });
        if is_text || tok.is("sp_executesql") {
            faults.at_token(tok, "a text is run here; write the statement itself");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::rules::tests::{finds, passes};

    #[test]
    fn a_star_for_columns_is_found() {
        passes("mssql/V1__x.sql", "SELECT COUNT(*), 2 * A, TOP_A * (1) * 3 FROM a.b;", "select-star");
        for text in [
            "SELECT * FROM a.b;",
            "SELECT TOP (1 + (2)) * FROM a.b;",
            "SELECT TOP 1 * FROM a.b;",
            "SELECT DISTINCT * FROM a.b;",
            "SELECT A, * FROM a.b;",
            "SELECT b.* FROM a.b;",
            "DELETE FROM a.b OUTPUT deleted.*;",
        ] {
            let column = text.find('*').unwrap() + 1;
            finds("mssql/V1__x.sql", text, "select-star", &format!("1:{column}: * stands for columns"));
        }
        finds("postgres/V1__x.sql", "DO $$ BEGIN\nDELETE FROM a.b RETURNING *; END $$;", "select-star", "2:27: *");
    }

    #[test]
    fn merge_is_found_and_a_merge_join_is_not() {
        passes("mssql/V1__x.sql", "SELECT 1 FROM a.b INNER MERGE JOIN a.c ON 1 = 1 OPTION (MERGE JOIN);", "merge");
        finds("mssql/V1__x.sql", "MERGE a.b AS t USING a.c;", "merge", "1:1: MERGE");
    }

    #[test]
    fn nolock_is_found() {
        passes("mssql/V1__x.sql", "SELECT A FROM a.b WITH (READUNCOMMITTED); /* NOLOCK */", "nolock");
        finds("mssql/V1__x.sql", "SELECT A FROM a.b WITH (NOLOCK);", "nolock", "1:25: NOLOCK");
        finds(
            "mssql/V1__x.sql",
            "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;",
            "nolock",
            "1:33: every later read",
        );
    }

    #[test]
    fn a_text_that_is_run_is_found() {
        for (path, good) in [
            ("mssql/x.sql", "CREATE OR ALTER PROCEDURE a.x WITH EXECUTE AS OWNER AS EXECUTE @R = a.y @A = 1;"),
            (
                "postgres/x.sql",
                "CREATE OR REPLACE FUNCTION a.x() AS $$ BEGIN PERFORM 1; END $$; GRANT EXECUTE ON a TO b;",
            ),
            ("mssql/V1__x.sql", "EXECUTE (N'CREATE SCHEMA a;');"),
        ] {
            passes(path, good, "dynamic-sql");
        }
        for bad in ["EXEC (@Sql);", "EXECUTE @Name;", "EXECUTE @Name @A = 1;"] {
            let text = format!("CREATE OR ALTER PROCEDURE a.x AS\n{bad}");
            finds("mssql/x.sql", &text, "dynamic-sql", "2:1: a text is run here");
        }
        let text = "CREATE OR ALTER PROCEDURE a.x AS\nEXECUTE sys.sp_executesql N'';";
        finds("mssql/x.sql", text, "dynamic-sql", "2:13: a text is run here");
        let text = "CREATE OR REPLACE FUNCTION a.x() AS $$ BEGIN\nEXECUTE v; END $$;";
        finds("postgres/x.sql", text, "dynamic-sql", "2:1: EXECUTE runs a text");
    }
}
