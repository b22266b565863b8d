//! What a migration does, statement by statement, read from its tokens: no parser takes all of T-SQL.

use serde::Serialize;
use sqlparser::dialect::{Dialect as Grammar, MsSqlDialect, PostgreSqlDialect};
use sqlparser::tokenizer::{Token, Tokenizer};

use crate::config::Dialect;

/// A migration that is to be applied, and what it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
#[non_exhaustive]
pub struct Planned {
    /// Its number, the same in both dialects for the same change.
    pub version: i32,
    /// What it brings: `usp_Enqueue`, `schema`.
    pub name: String,
    /// What it does, in order.
    pub statements: Vec<Statement>,
    /// Its text, as it would be run.
    #[serde(skip)]
    pub sql: String,
}

impl Planned {
    pub(super) fn read(dialect: Dialect, migration: &refinery_core::Migration) -> Self {
        let sql = migration.sql().unwrap_or_default();
        Self {
            version: migration.version(),
            name: migration.name().to_owned(),
            statements: read(dialect, sql),
            sql: sql.to_owned(),
        }
    }
}

/// A statement of a migration: what it does, and to what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Statement {
    /// `create or alter procedure`, `create table`, `grant execute`; `check` for one that only refuses a database.
    #[serde(rename = "Statement")]
    pub kind: String,
    /// `chokaq.usp_Enqueue`, `IX_JobsHot_DueAtUtc on chokaq.JobsHot`; empty where the statement itself finds it.
    #[serde(rename = "Object")]
    pub object: String,
}

/// What a statement may begin with, or a condition lead up to.
const VERBS: [&str; 17] = [
    "ALTER", "CALL", "COMMENT", "CREATE", "DELETE", "DO", "DROP", "EXEC", "EXECUTE", "GRANT", "INSERT", "RAISE",
    "REVOKE", "SELECT", "THROW", "TRUNCATE", "UPDATE",
];

/// The statements of a migration, in order; of a block those that change something, or refuse to.
pub(super) fn read(dialect: Dialect, sql: &str) -> Vec<Statement> {
    let grammar: &dyn Grammar = match dialect {
        Dialect::Mssql => &MsSqlDialect {},
        Dialect::Postgres => &PostgreSqlDialect {},
    };
    // What cannot be read is the server's to refuse; its text can be shown all the same.
    let Ok(mut tokens) = Tokenizer::new(grammar, sql).with_unescape(false).tokenize() else {
        return Vec::new();
    };
    tokens.retain(|token| !matches!(token, Token::Whitespace(_)));
    let mut statements = Vec::new();
    for piece in tokens.split(|token| *token == Token::SemiColon) {
        let Some(from) = verb(piece) else { continue };
        let statement = &piece[from..];
        statements.extend(one(dialect, statement));
        if dialect == Dialect::Mssql && is_module(statement) {
            // It takes the rest of its batch.
            break;
        }
    }
    statements
}

/// Where the statement's own verb is: behind a condition, if there is one, and outside parentheses.
fn verb(piece: &[Token]) -> Option<usize> {
    let mut depth = 0_usize;
    piece.iter().position(|token| {
        match token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && VERBS.iter().any(|verb| is(token, verb))
    })
}

fn one(dialect: Dialect, tokens: &[Token]) -> Vec<Statement> {
    let first = tokens.first().map(word).unwrap_or_default();
    match first.as_str() {
        "do" => block(dialect, tokens),
        "exec" | "execute" => dynamic(dialect, tokens),
        "throw" | "raise" => vec![statement("check", String::new())],
        "create" | "alter" | "drop" => definition(tokens).into_iter().collect(),
        "grant" | "revoke" => vec![rights(tokens)],
        // COMMENT ON, the kind of object, and its name.
        "comment" => {
            let (kind, rest) = tokens.split_at(tokens.len().min(3));
            vec![statement(&words(kind), object_name(rest.iter()))]
        }
        "select" => Vec::new(),
        _ => {
            let rest = tokens[1..].iter().skip_while(|token| is(token, "INTO") || is(token, "FROM"));
            vec![statement(&first, object_name(rest))]
        }
    }
}

/// A block of PL/pgSQL: what stands between its semicolons.
fn block(dialect: Dialect, tokens: &[Token]) -> Vec<Statement> {
    let body = tokens.iter().find_map(|token| match token {
        Token::DollarQuotedString(body) => Some(body.value.as_str()),
        _ => None,
    });
    read(dialect, body.unwrap_or_default())
}

/// A statement that is made of a text: what the text begins with says what it does.
fn dynamic(dialect: Dialect, tokens: &[Token]) -> Vec<Statement> {
    let text = tokens.iter().find_map(|token| match token {
        Token::SingleQuotedString(text) | Token::NationalStringLiteral(text) => Some(text.replace("''", "'")),
        _ => None,
    });
    match text.map(|text| read(dialect, &text)) {
        Some(statements) if !statements.is_empty() => statements,
        _ => vec![statement("execute", object_name(tokens[1..].iter()))],
    }
}

fn definition(tokens: &[Token]) -> Option<Statement> {
    const KINDS: [&str; 13] = [
        "DOMAIN",
        "EXTENSION",
        "FUNCTION",
        "INDEX",
        "PROC",
        "PROCEDURE",
        "ROLE",
        "SCHEMA",
        "SEQUENCE",
        "TABLE",
        "TRIGGER",
        "TYPE",
        "VIEW",
    ];
    let end = tokens.iter().position(|token| KINDS.iter().any(|kind| is(token, kind)))?;
    let kind = words(&tokens[..=end]);
    let mut rest = tokens[end + 1..]
        .iter()
        .skip_while(|token| ["IF", "NOT", "EXISTS", "CONCURRENTLY"].iter().any(|word| is(token, word)));
    let mut object = object_name(rest.clone());
    if is(&tokens[end], "INDEX") && rest.any(|token| is(token, "ON")) {
        object = format!("{object} on {}", object_name(rest));
    }
    Some(statement(&kind, object))
}

/// `grant execute`, and to whom; `grant` of a role.
fn rights(tokens: &[Token]) -> Statement {
    let (kind, object) = match tokens.iter().position(|token| is(token, "ON")) {
        Some(on) => (&tokens[..on], &tokens[on + 1..]),
        None => tokens.split_at(1),
    };
    statement(&words(kind), written(object))
}

fn is_module(tokens: &[Token]) -> bool {
    let kinds = ["FUNCTION", "PROC", "PROCEDURE", "TRIGGER", "VIEW"];
    let kind = tokens.iter().find(|token| !["CREATE", "OR", "ALTER"].iter().any(|word| is(token, word)));
    tokens.len() > 1 && is(&tokens[0], "CREATE") && kind.is_some_and(|token| kinds.iter().any(|kind| is(token, kind)))
}

fn statement(kind: &str, object: String) -> Statement {
    Statement { kind: kind.to_owned(), object }
}

fn is(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(it) if it.quote_style.is_none() && it.value.eq_ignore_ascii_case(word))
}

fn word(token: &Token) -> String {
    token.to_string().to_lowercase()
}

fn words(tokens: &[Token]) -> String {
    tokens.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Words with a period between them: a parameter or AS follows without one.
fn object_name<'a>(mut tokens: impl Iterator<Item = &'a Token>) -> String {
    let mut name = String::new();
    while let Some(part @ Token::Word(_)) = tokens.next() {
        name.push_str(&part.to_string());
        if tokens.next() != Some(&Token::Period) {
            break;
        }
        name.push('.');
    }
    name
}

/// The tokens as somebody would write them, without the word for the kind of object.
fn written(tokens: &[Token]) -> String {
    let kinds = ["FUNCTION", "OBJECT", "PROCEDURE", "ROUTINE"];
    let is_kind = |token: &&Token| **token == Token::DoubleColon || kinds.iter().any(|kind| is(token, kind));
    let mut text = String::new();
    let mut follows_period = false;
    for token in tokens.iter().skip_while(is_kind) {
        let is_period = matches!(token, Token::Period | Token::DoubleColon);
        let is_tight = is_period || follows_period || matches!(token, Token::Comma | Token::LParen | Token::RParen);
        if !is_tight && !text.is_empty() && !text.ends_with('(') {
            text.push(' ');
        }
        text.push_str(&token.to_string());
        follows_period = is_period;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(dialect: Dialect, sql: &str) -> Vec<String> {
        read(dialect, sql).iter().map(|it| format!("{}: {}", it.kind, it.object)).collect()
    }

    #[test]
    fn a_procedure_is_one_statement_whatever_is_in_it() {
        let sql = "/* CREATE TABLE x; */ CREATE OR ALTER PROCEDURE chokaq.usp_X @A INT AS BEGIN DELETE FROM a; END;";
        assert_eq!(told(Dialect::Mssql, sql), ["create or alter procedure: chokaq.usp_X"]);
    }

    #[test]
    fn what_follows_a_function_of_postgresql_is_told_too() {
        let sql = "CREATE OR REPLACE FUNCTION chokaq.f(a text) RETURNS text LANGUAGE sql AS $$ DELETE FROM a; $$;
            COMMENT ON FUNCTION chokaq.f(text) IS 'it; does'; REVOKE ALL ON FUNCTION chokaq.f(text, integer) FROM PUBLIC;";
        assert_eq!(
            told(Dialect::Postgres, sql),
            [
                "create or replace function: chokaq.f",
                "comment on function: chokaq.f",
                "revoke all: chokaq.f(text, integer) FROM PUBLIC"
            ]
        );
    }

    #[test]
    fn tables_and_indexes_are_told_by_name() {
        let sql = "CREATE TABLE chokaq.A (B INT DEFAULT (0)); CREATE UNIQUE INDEX UQ ON chokaq.A(B) WHERE B IS NULL;
            ALTER TABLE chokaq.A SET (LOCK_ESCALATION = DISABLE); INSERT INTO chokaq.A (B) VALUES (1), (2);";
        assert_eq!(
            told(Dialect::Mssql, sql),
            [
                "create table: chokaq.A",
                "create unique index: UQ on chokaq.A",
                "alter table: chokaq.A",
                "insert: chokaq.A"
            ]
        );
    }

    #[test]
    fn what_stands_behind_a_condition_or_in_a_text_is_told() {
        let sql = "IF (SELECT d.n FROM d) < 130 THROW 59002, N'no', 1; EXECUTE (N'CREATE SCHEMA chokaq;');
            IF DATABASE_PRINCIPAL_ID(N'r') IS NULL CREATE ROLE r; GRANT EXECUTE ON OBJECT::chokaq.usp_X TO r;";
        assert_eq!(
            told(Dialect::Mssql, sql),
            ["check: ", "create schema: chokaq", "create role: r", "grant execute: chokaq.usp_X TO r"]
        );
        let sql = "DO $$ DECLARE r text; BEGIN FOREACH r IN ARRAY ARRAY['a'] LOOP IF NOT EXISTS (SELECT 1) THEN
            EXECUTE format('CREATE ROLE %I', r); END IF; END LOOP; GRANT a TO b; END; $$;";
        assert_eq!(told(Dialect::Postgres, sql), ["create role: ", "grant: a TO b"]);
    }

    #[test]
    fn a_statement_that_breaks_off_is_no_panic() {
        for sql in
            ["", ";;", "COMMENT", "COMMENT ON", "CREATE", "CREATE INDEX", "DO", "EXECUTE", "GRANT", "INSERT", "'"]
        {
            for dialect in [Dialect::Mssql, Dialect::Postgres] {
                assert!(read(dialect, sql).len() < 2, "{sql}");
            }
        }
    }

    #[test]
    fn every_migration_of_the_kit_says_what_it_does() {
        for dialect in [Dialect::Mssql, Dialect::Postgres] {
            for migration in crate::deploy::embedded(dialect) {
                let statements = read(dialect, migration.sql().unwrap());
                let named = |it: &&Statement| it.kind.starts_with("create ") && it.object.contains("chokaq");
                let is_told = migration.name() == "permissions" || statements.iter().any(|it| named(&it));
                assert!(!statements.is_empty() && is_told, "{migration}: {statements:?}");
            }
        }
    }
}
