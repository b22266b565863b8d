//! Babelfish does not know `CREATE OR ALTER`. The files stay SQL Server's; what is sent to Babelfish is rewritten.

use sqlparser::dialect::MsSqlDialect;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use crate::error::{Error, ErrorKind, Result};

/// A `CREATE OR ALTER` taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CreateOrAlter<'a> {
    /// Comments and white space.
    before: &'a str,
    /// The kind of object and everything that follows.
    statement: &'a str,
    kind: String,
    /// The object's name as it is written.
    pub name: String,
}

impl<'a> CreateOrAlter<'a> {
    /// Finds the statement that a migration begins with; `None` when it is another one.
    pub fn read(sql: &'a str) -> Result<Option<Self>> {
        let tokens = Tokenizer::new(&MsSqlDialect {}, sql).tokenize_with_location().map_err(|error| {
            Error::new(ErrorKind::Deployment, format!("the migration cannot be read: {error}")).with_source(error)
        })?;
        // The server wants it first in its batch: only comments may stand before it.
        let mut words = tokens.iter().filter(|it| !matches!(it.token, Token::Whitespace(_)));
        let (Some(create), Some(or), Some(alter), Some(kind)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Ok(None);
        };
        if !(is_word(create, "CREATE") && is_word(or, "OR") && is_word(alter, "ALTER")) {
            return Ok(None);
        }
        Ok(Some(Self {
            before: &sql[..offset(sql, create.span.start)],
            statement: &sql[offset(sql, kind.span.start)..],
            kind: kind.token.to_string().to_uppercase(),
            name: object_name(words),
        }))
    }

    /// The batches that say it to Babelfish. An existing procedure is altered, which keeps what was granted on it;
    /// Babelfish cannot alter a view or a function, so these are dropped first.
    pub fn batches(&self, exists: bool) -> Vec<String> {
        let verb = |verb: &str| format!("{}{verb} {}", self.before, self.statement);
        match self.kind.as_str() {
            "PROCEDURE" | "PROC" if exists => vec![verb("ALTER")],
            _ if exists => vec![format!("DROP {} {};", self.kind, self.name), verb("CREATE")],
            _ => vec![verb("CREATE")],
        }
    }
}

pub(super) fn is_word(token: &TokenWithSpan, word: &str) -> bool {
    matches!(&token.token, Token::Word(it) if it.quote_style.is_none() && it.value.eq_ignore_ascii_case(word))
}

/// Words with a period between them: a parameter or AS follows without one.
pub(super) fn object_name<'a>(mut tokens: impl Iterator<Item = &'a TokenWithSpan>) -> String {
    let mut name = String::new();
    while let Some(part) = tokens.next() {
        name.push_str(&part.token.to_string());
        if !matches!(tokens.next(), Some(it) if it.token == Token::Period) {
            break;
        }
        name.push('.');
    }
    name
}

/// The byte that a line and a column, both counted from 1, stand for; a column is a character.
pub(super) fn offset(sql: &str, location: Location) -> usize {
    let line_start: usize = sql.split_inclusive('\n').take(location.line as usize - 1).map(str::len).sum();
    let line = &sql[line_start..];
    let within = line.char_indices().nth(location.column as usize - 1).map_or(line.len(), |(position, _)| position);
    line_start + within
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rewritten(sql: &str, exists: bool) -> Vec<String> {
        CreateOrAlter::read(sql).unwrap().expect("it is a CREATE OR ALTER").batches(exists)
    }

    const PROCEDURE: &str = "/* CREATE OR ALTER PROCEDURE x; ü */
CREATE OR ALTER PROCEDURE chokaq.usp_X
    @JobId NVARCHAR(50)
AS
SELECT 1;
";

    #[test]
    fn a_procedure_is_created_or_altered() {
        assert_eq!(rewritten(PROCEDURE, false), [PROCEDURE.replace("\nCREATE OR ALTER ", "\nCREATE ")]);
        assert_eq!(rewritten(PROCEDURE, true), [PROCEDURE.replace("\nCREATE OR ALTER ", "\nALTER ")]);
        assert_eq!(CreateOrAlter::read(PROCEDURE).unwrap().unwrap().name, "chokaq.usp_X");
    }

    #[test]
    fn what_cannot_be_altered_is_dropped_first() {
        for (head, drop) in [
            ("create  or\n alter view chokaq.[Stats Summary] as", "DROP VIEW chokaq.[Stats Summary];"),
            ("CREATE OR ALTER FUNCTION chokaq.F() RETURNS int", "DROP FUNCTION chokaq.F;"),
            ("CREATE OR ALTER TRIGGER \"a b\".T ON", "DROP TRIGGER \"a b\".T;"),
        ] {
            let batches = rewritten(head, true);
            assert_eq!(batches[0], drop);
            assert_eq!(rewritten(head, false), batches[1..]);
        }
    }

    #[test]
    fn anything_else_is_left_alone() {
        for sql in ["", "CREATE TABLE a (b int);", "SELECT 1; CREATE OR ALTER VIEW a AS SELECT 1;", "/* only */"] {
            assert_eq!(CreateOrAlter::read(sql).unwrap(), None, "{sql}");
        }
    }

    /// A stretch of SQL that holds the words where they mean nothing, or none of them.
    fn harmless() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-zåß ]{0,12}".prop_map(|text| format!("/* {text} CREATE OR ALTER PROCEDURE x {text} */ ")),
            "[a-zåß ]{0,12}".prop_map(|text| format!("-- CREATE OR ALTER VIEW {text}\n")),
            "[ \t\r\n]{1,4}",
        ]
    }

    fn body() -> impl Strategy<Value = String> {
        let text = "[a-zåß😀 ]{0,12}";
        prop_oneof![
            harmless(),
            text.prop_map(|text| format!("N'{text}'' CREATE OR ALTER PROCEDURE x' ")),
            text.prop_map(|text| format!("[{text}x OR ALTER] ")),
            "[0-9a-z@#.,()=]{0,12}".prop_map(|text| text + " "),
        ]
    }

    proptest! {
        #[test]
        fn only_the_verb_of_the_statement_itself_is_rewritten(
            before in proptest::collection::vec(harmless(), 0..4),
            gap in "[ \t\n]{1,3}",
            after in proptest::collection::vec(body(), 0..6),
        ) {
            let (before, after) = (before.concat(), after.concat());
            let sql = format!("{before}CREATE{gap}OR{gap}ALTER{gap}PROCEDURE chokaq.usp_X AS {after}");
            prop_assert_eq!(rewritten(&sql, false), [format!("{before}CREATE PROCEDURE chokaq.usp_X AS {after}")]);
            prop_assert_eq!(rewritten(&sql, true), [format!("{before}ALTER PROCEDURE chokaq.usp_X AS {after}")]);
        }

        #[test]
        fn text_without_the_statement_is_not_touched(parts in proptest::collection::vec(body(), 0..8)) {
            let sql = format!("SELECT {}", parts.concat());
            prop_assert_eq!(CreateOrAlter::read(&sql).unwrap(), None);
        }
    }
}
