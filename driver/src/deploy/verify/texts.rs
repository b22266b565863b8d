//! The texts of procedures, functions and T-SQL views: those of the migrations, and those of a database.

use std::collections::BTreeMap;

use refinery_core::Migration;
use sqlparser::dialect::{Dialect, MsSqlDialect, PostgreSqlDialect};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::super::babelfish::{is_word, object_name, offset};
use crate::error::{Error, ErrorKind, Result};

/// By name; `None` for a text that is there and cannot be read.
pub(super) type Texts = BTreeMap<String, Option<Text>>;

/// How much of a differing line is shown.
const SHOWN: usize = 80;

/// A module's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    /// The comment before CREATE, which SQL Server keeps and Babelfish does not.
    header: String,
    /// From the kind of object on: a server may keep CREATE where ALTER was said. In PostgreSQL the body alone.
    body: String,
}

impl Text {
    /// A text without a header.
    pub fn of_body(body: &str) -> Self {
        Self { header: String::new(), body: unix(body) }
    }

    /// A T-SQL module as it was sent, or as the server keeps it.
    pub fn of_module(sql: &str) -> Result<Self> {
        Ok(Module::read(sql)?.map_or_else(|| Self::of_body(sql.trim_end()), |(_, module)| module))
    }

    /// Both as they are to be compared: with their headers only when the database kept one.
    pub fn pair(shipped: &Self, deployed: &Self) -> (String, String) {
        if deployed.header.is_empty() {
            (shipped.body.clone(), deployed.body.clone())
        } else {
            (shipped.whole(), deployed.whole())
        }
    }

    pub fn whole(&self) -> String {
        if self.header.is_empty() { self.body.clone() } else { format!("{}\n{}", self.header, self.body) }
    }
}

/// Editors and clients of Windows write other line ends, which change nothing.
fn unix(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// The first line that differs, with its number and both sides; `None` when none does. The lines are counted as PL/pgSQL
/// counts them in its messages: what follows the opening quotes on their line is the first.
pub(super) fn first_difference(shipped: &str, deployed: &str) -> Option<String> {
    if shipped == deployed {
        return None;
    }
    let (mut ours, mut theirs) = (shipped.lines(), deployed.lines());
    let mut number = 0;
    loop {
        number += 1;
        match (ours.next(), theirs.next()) {
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) => {
                let from = first_differing_character(a, b);
                return Some(format!("line {number} is {}, not {}", excerpt(b, from), excerpt(a, from)));
            }
            (Some(a), None) => return Some(format!("line {number} is missing: {}", excerpt(a, 0))),
            (None, Some(b)) => return Some(format!("line {number} was added: {}", excerpt(b, 0))),
            (None, None) => return Some("the line end after the last line differs".to_owned()),
        }
    }
}

fn first_differing_character(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// The line, or of a long one the part around that character.
fn excerpt(line: &str, around: usize) -> String {
    let line = line.trim_end();
    let count = line.chars().count();
    if count <= SHOWN {
        return format!("`{}`", line.trim_start());
    }
    let start = around.saturating_sub(SHOWN / 2).min(count - SHOWN);
    let part: String = line.chars().skip(start).take(SHOWN).collect();
    let dots = |shown: bool| if shown { "…" } else { "" };
    format!("`{}{}{}`", dots(start > 0), part.trim(), dots(start + SHOWN < count))
}

/// The text of each PL/pgSQL or SQL routine: what stands between the dollar quotes of the last migration that creates it.
pub(super) fn postgres(migrations: &[Migration]) -> Result<Texts> {
    let mut texts = Texts::new();
    for migration in migrations {
        let tokens = tokenize(&PostgreSqlDialect {}, migration.sql().unwrap_or_default())?;
        let mut tokens = tokens.iter().filter(|it| !matches!(it.token, Token::Whitespace(_))).peekable();
        let mut name = None;
        while let Some(token) = tokens.next() {
            match &token.token {
                Token::Word(_) if is_word(token, "FUNCTION") || is_word(token, "PROCEDURE") => {
                    let next = tokens.peek().is_some_and(|next| is_word(next, "chokaq"));
                    name = next.then(|| bare_name(&object_name(tokens.by_ref())));
                }
                Token::DollarQuotedString(body) => {
                    if let Some(name) = name.take() {
                        texts.insert(name, Some(Text::of_body(&body.value)));
                    }
                }
                // The next statement: COMMENT ON FUNCTION and REVOKE name functions too.
                Token::SemiColon => name = None,
                _ => {}
            }
        }
    }
    Ok(texts)
}

/// The text of each T-SQL module: that of the last migration that creates it.
pub(super) fn mssql(migrations: &[Migration]) -> Result<Texts> {
    let mut texts = Texts::new();
    for migration in migrations {
        if let Some((name, text)) = Module::read(migration.sql().unwrap_or_default())? {
            texts.insert(name, Some(text));
        }
    }
    Ok(texts)
}

/// The names of the indexes that the migrations make, in small letters.
pub(super) fn index_names(migrations: &[Migration]) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for migration in migrations {
        let tokens = tokenize(&MsSqlDialect {}, migration.sql().unwrap_or_default())?;
        let words: Vec<_> = tokens.iter().filter(|it| !matches!(it.token, Token::Whitespace(_))).collect();
        let named = words.windows(3).filter(|it| is_word(it[0], "INDEX") && is_word(it[2], "ON"));
        names.extend(named.map(|it| bare_name(&it[1].token.to_string())));
    }
    Ok(names)
}

/// A batch that makes a module.
struct Module;

impl Module {
    /// Its name and text; `None` for another batch. CREATE, ALTER and CREATE OR ALTER are the same here.
    fn read(sql: &str) -> Result<Option<(String, Text)>> {
        let tokens = tokenize(&MsSqlDialect {}, sql)?;
        let mut words = tokens.iter().filter(|it| !matches!(it.token, Token::Whitespace(_)));
        let Some(first) = words.next().filter(|it| is_word(it, "CREATE") || is_word(it, "ALTER")) else {
            return Ok(None);
        };
        let kind = words.find(|it| !is_word(it, "OR") && !is_word(it, "ALTER"));
        let kinds = ["PROCEDURE", "PROC", "FUNCTION", "VIEW", "TRIGGER"];
        let Some(kind) = kind.filter(|it| kinds.iter().any(|kind| is_word(it, kind))) else {
            return Ok(None);
        };
        let header = unix(sql[..offset(sql, first.span.start)].trim());
        let body = unix(sql[offset(sql, kind.span.start)..].trim_end());
        Ok(Some((bare_name(&object_name(words)), Text { header, body })))
    }
}

/// `chokaq.usp_X` or `[chokaq].[usp_X]` without its schema, in small letters as the facts have it.
fn bare_name(name: &str) -> String {
    let last = name.rsplit('.').next().unwrap_or(name);
    last.trim_matches(['[', ']', '"']).to_ascii_lowercase()
}

fn tokenize(dialect: &dyn Dialect, sql: &str) -> Result<Vec<TokenWithSpan>> {
    Tokenizer::new(dialect, sql).tokenize_with_location().map_err(|error| {
        Error::new(ErrorKind::Deployment, format!("a text cannot be read: {error}")).with_source(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn migration(sql: &str) -> Migration {
        Migration::unapplied("V1__x", sql).unwrap()
    }

    #[test]
    fn the_last_migration_that_creates_a_module_wins() {
        let sql = [
            "CREATE OR ALTER PROCEDURE chokaq.usp_X AS SELECT 1;",
            "CREATE OR ALTER PROCEDURE chokaq.usp_X AS SELECT 2;",
        ];
        let texts = mssql(&sql.map(migration)).unwrap();
        assert_eq!(texts["usp_x"].as_ref().unwrap().body, "PROCEDURE chokaq.usp_X AS SELECT 2;");
    }

    #[test]
    fn what_a_server_makes_of_the_head_is_no_difference() {
        let shipped = Text::of_module("/* h */\nCREATE OR ALTER PROCEDURE chokaq.usp_X\nAS SELECT 1;\n").unwrap();
        for deployed in [
            "CREATE PROCEDURE chokaq.usp_X\nAS SELECT 1;",
            "/* h */\r\nCREATE   PROCEDURE chokaq.usp_X\r\nAS SELECT 1;\r\n",
            "ALTER PROCEDURE chokaq.usp_X\nAS SELECT 1;",
        ] {
            let (a, b) = Text::pair(&shipped, &Text::of_module(deployed).unwrap());
            assert_eq!(first_difference(&a, &b), None, "{deployed}");
        }
        for deployed in
            ["/* x */\nCREATE PROCEDURE chokaq.usp_X\nAS SELECT 1;", "CREATE PROCEDURE chokaq.usp_X\nAS SELECT  1;"]
        {
            let (a, b) = Text::pair(&shipped, &Text::of_module(deployed).unwrap());
            assert!(first_difference(&a, &b).is_some(), "{deployed}");
        }
    }

    #[test]
    fn a_body_is_found_between_the_dollar_quotes_of_its_own_create() {
        let sql = "DO $$ BEGIN END; $$;
            CREATE OR REPLACE FUNCTION chokaq.a(p text DEFAULT ';') RETURNS text LANGUAGE sql AS $$ SELECT 'a' $$;
            COMMENT ON FUNCTION chokaq.b(text) IS 'b'; DO $$ SELECT 2 $$;
            CREATE PROCEDURE chokaq.c() LANGUAGE plpgsql AS $x$ $$ $x$;";
        let texts = postgres(&[migration(sql)]).unwrap();
        let bodies: Vec<_> = texts.iter().map(|(name, text)| (&**name, &*text.as_ref().unwrap().body)).collect();
        assert_eq!(bodies, [("a", " SELECT 'a' "), ("c", " $$ ")]);
    }

    #[test]
    fn every_module_that_is_shipped_has_its_text() {
        let postgres = postgres(crate::deploy::postgres::embedded().get_migrations()).unwrap();
        let mssql = mssql(crate::deploy::mssql::embedded().get_migrations()).unwrap();
        for (texts, shipped, kinds) in [
            (postgres, super::super::postgres::SHIPPED, &["procedure", "function"][..]),
            (mssql, super::super::mssql::SHIPPED, &["procedure", "function", "view"]),
        ] {
            let facts = super::super::facts::Facts::parse(shipped);
            let modules = facts.0.keys().filter(|(kind, _)| kinds.contains(&&**kind));
            let names: Vec<_> = modules.map(|(_, object)| object.split('(').next().unwrap()).collect();
            assert!(names.len() > 60);
            for name in names {
                assert!(texts.contains_key(name), "{name}");
            }
        }
    }

    #[test]
    fn every_index_of_the_migrations_is_known_by_name() {
        let names = index_names(crate::deploy::mssql::embedded().get_migrations()).unwrap();
        assert!(names.contains(&"uq_jobshot_idempotencykey".to_owned()), "{names:?}");
    }

    #[test]
    fn a_difference_is_told_by_its_line() {
        let said = first_difference("a\n    b = 1\nc", "a\n    b = 2\nc").unwrap();
        assert_eq!(said, "line 2 is `b = 2`, not `b = 1`");
        assert_eq!(first_difference("a\nb", "a").unwrap(), "line 2 is missing: `b`");
        assert_eq!(first_difference("a", "a\nb").unwrap(), "line 2 was added: `b`");
        assert!(first_difference("a", "a\n").is_some());
        let long = "x".repeat(200);
        let said = first_difference(&format!("{long}1{long}"), &format!("{long}2{long}")).unwrap();
        assert!(said.contains("x2x") && said.contains("x1x") && said.chars().count() < 200, "{said}");
    }
}
