//! One SQL file, read.

use std::path::{Path, PathBuf};

use sqlparser::tokenizer::Token;

use super::Unreadable;
use super::header::Header;
use super::tokens::{self, Comment, Tok};
use crate::config::Dialect;

/// A file and what its tokens say.
#[derive(Debug)]
pub(super) struct SqlFile {
    pub dialect: Dialect,
    pub path: PathBuf,
    /// The file's name without `.sql`, and for a migration without its number.
    pub name: String,
    pub is_migration: bool,
    pub text: String,
    /// Without white space and comments.
    pub code: Vec<Tok>,
    pub comments: Vec<Comment>,
    pub header: Option<Header>,
    pub module: Option<Module>,
}

/// The first object that is created: a procedure, a function, a view, a trigger.
#[derive(Debug)]
pub(super) struct Module {
    /// In capitals, in full.
    pub kind: &'static str,
    /// True for CREATE OR ALTER and CREATE OR REPLACE.
    pub is_repeatable: bool,
    /// Where CREATE stands in the code.
    pub from: usize,
    /// `chokaq`, where it is said.
    pub schema: Option<String>,
    pub name: String,
    /// What follows the name.
    pub rest: usize,
}

const KINDS: [(&str, &str); 5] = [
    ("PROCEDURE", "PROCEDURE"),
    ("PROC", "PROCEDURE"),
    ("FUNCTION", "FUNCTION"),
    ("VIEW", "VIEW"),
    ("TRIGGER", "TRIGGER"),
];

impl SqlFile {
    pub fn read(path: &Path, text: &str, dialect: Option<Dialect>) -> Result<Self, Unreadable> {
        let shown = || path.display().to_string();
        let dialect = dialect.or_else(|| told(path, text)).ok_or_else(|| Unreadable {
            file: shown(),
            place: None,
            message: "neither its folder nor its text tells whether this is T-SQL or PL/pgSQL".to_owned(),
        })?;
        // The rule about plain text has found it; the tokenizer would take it for a word.
        let readable = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (code, comments) = tokens::read(dialect, readable).map_err(|broken| Unreadable {
            file: shown(),
            place: Some((broken.line, broken.column)),
            message: broken.message,
        })?;
        let module = modules(&code).next();
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let migrated = migrated_object(&stem).map(str::to_owned);
        Ok(Self {
            dialect,
            path: path.to_owned(),
            is_migration: migrated.is_some(),
            name: migrated.unwrap_or(stem),
            text: text.to_owned(),
            header: Header::read(readable, &comments),
            module,
            code,
            comments,
        })
    }

    pub fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// The header of what somebody outside may call.
    pub fn public(&self) -> Option<&Header> {
        self.header.as_ref().filter(|header| header.is_public())
    }

    /// The code behind the module's name: parameters, options, body.
    pub fn definition(&self) -> &[Tok] {
        self.module.as_ref().map_or(&[], |module| &self.code[module.rest..])
    }

    /// The parameters, and the code from the body's first statement on. T-SQL only.
    pub fn tsql_parts(&self) -> (&[Tok], &[Tok]) {
        let definition = self.definition();
        let is_body = |i: usize| {
            let before = i.checked_sub(1).and_then(|before| definition.get(before));
            // WITH EXECUTE AS, and `@Parameter AS INT`.
            definition[i].is("AS") && !before.is_some_and(|it| it.is_any(&["EXECUTE", "EXEC"]) || it.is_variable())
        };
        let body = (0..definition.len()).find(|i| is_body(*i)).unwrap_or(definition.len());
        let list = definition[..body].iter().position(|it| it.is("WITH")).unwrap_or(body);
        let list = &definition[..list];
        let inner = tokens::parenthesized(list).map_or(list, |(inner, _)| inner);
        (inner, definition.get(body + 1..).unwrap_or_default())
    }

    /// The tokens of the opened body. PostgreSQL only.
    pub fn body(&self) -> impl Iterator<Item = &Tok> {
        self.code.iter().filter(|tok| tok.in_body)
    }

    /// What stands outside bodies, statement by statement. PostgreSQL only.
    pub fn statements(&self) -> Vec<Vec<Tok>> {
        let outside: Vec<Tok> = self.code.iter().filter(|tok| !tok.in_body).cloned().collect();
        tokens::split(&outside, &Token::SemiColon).into_iter().map(<[Tok]>::to_vec).collect()
    }
}

/// Every CREATE of a module. In T-SQL a second one cannot be run, and a rule says so.
pub(super) fn modules(code: &[Tok]) -> impl Iterator<Item = Module> {
    (0..code.len()).filter_map(|from| module(code, from))
}

fn module(code: &[Tok], from: usize) -> Option<Module> {
    let is = |i: usize, word: &str| code.get(i).is_some_and(|tok| tok.is(word));
    let is_repeatable = is(from, "CREATE") && is(from + 1, "OR") && (is(from + 2, "ALTER") || is(from + 2, "REPLACE"));
    // `CREATE OR ALTER` has an ALTER of its own.
    if !(is(from, "CREATE") || is(from, "ALTER") && !(from > 0 && is(from - 1, "OR"))) {
        return None;
    }
    let kind_at = if is_repeatable { from + 3 } else { from + 1 };
    let (_, kind) = KINDS.into_iter().find(|(word, _)| is(kind_at, word))?;
    let part = |i: usize| match code.get(i).map(|tok| &tok.token) {
        Some(Token::Word(word)) => Some(word.value.clone()),
        _ => None,
    };
    let mut name = part(kind_at + 1)?;
    let mut rest = kind_at + 2;
    let mut schema = None;
    while let (Some(Token::Period), Some(next)) = (code.get(rest).map(|tok| &tok.token), part(rest + 1)) {
        schema = Some(std::mem::replace(&mut name, next));
        rest += 2;
    }
    Some(Module { kind, is_repeatable, from, schema, name, rest })
}

/// `usp_Enqueue` of `V0201__usp_Enqueue`, as refinery names files.
fn migrated_object(stem: &str) -> Option<&str> {
    let (number, object) = stem.strip_prefix(['V', 'U'])?.split_once("__")?;
    (!number.is_empty() && number.chars().all(|c| c.is_ascii_digit())).then_some(object)
}

/// The folder that a file lies in, its text, or a folder further up: in this order, for a home may be called `postgres`.
fn told(path: &Path, text: &str) -> Option<Dialect> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut folders = path.ancestors().skip(1).map(by_folder);
    folders.next().flatten().or_else(|| by_text(text)).or_else(|| folders.flatten().next())
}

fn by_folder(folder: &Path) -> Option<Dialect> {
    [Dialect::Mssql, Dialect::Postgres].into_iter().find(|dialect| folder.ends_with(dialect.to_string()))
}

fn by_text(text: &str) -> Option<Dialect> {
    let upper = text.to_uppercase();
    let words: Vec<&str> = upper.split_whitespace().collect();
    words.windows(3).find_map(|three| match three {
        ["CREATE", "OR", "ALTER"] => Some(Dialect::Mssql),
        ["CREATE", "OR", "REPLACE"] => Some(Dialect::Postgres),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, text: &str) -> SqlFile {
        SqlFile::read(Path::new(path), text, None).unwrap()
    }

    #[test]
    fn the_dialect_is_told_by_the_folder_else_by_the_text_else_by_a_folder_further_up() {
        assert_eq!(read("postgres/mssql/x.sql", "create or replace view").dialect, Dialect::Mssql);
        assert_eq!(read("/home/postgres/x/y.sql", "create or alter view a as select 1;").dialect, Dialect::Mssql);
        assert_eq!(read("mssql/tables/y.sql", "SELECT 1;").dialect, Dialect::Mssql);
        assert_eq!(read("x/y.sql", "create\nor replace view a.b as select 1;").dialect, Dialect::Postgres);
        let error = SqlFile::read(Path::new("x.sql"), "SELECT 1;", None).unwrap_err();
        assert!(error.to_string().starts_with("x.sql: neither its folder"), "{error}");
        assert!(SqlFile::read(Path::new("x.sql"), "SELECT 1;", Some(Dialect::Mssql)).is_ok());
    }

    #[test]
    fn a_migration_is_told_by_its_name() {
        let file = read("mssql/V0201__usp_X.sql", "SELECT 1;");
        assert_eq!((file.is_migration, &*file.name), (true, "usp_X"));
        for name in ["usp_X", "V__x", "Vx__x"] {
            let file = read(&format!("mssql/{name}.sql"), "SELECT 1;");
            assert_eq!((file.is_migration, &*file.name), (false, name));
        }
    }

    #[test]
    fn parameters_end_where_the_options_or_the_body_begin() {
        for (head, parameters, body) in [
            ("dbo.P @A INT, @B AS INT AS SELECT 1;", "@AINT,@BASINT", "SELECT1;"),
            ("dbo.P (@A INT) WITH EXECUTE AS OWNER AS SELECT 1;", "@AINT", "SELECT1;"),
            ("dbo.P AS SELECT 1;", "", "SELECT1;"),
            ("dbo.P", "", ""),
        ] {
            let file = read("mssql/P.sql", &format!("CREATE OR ALTER PROCEDURE {head}"));
            let (list, rest) = file.tsql_parts();
            assert_eq!(
                (tokens::spelled(list), tokens::spelled(rest)),
                (parameters.to_owned(), body.to_owned()),
                "{head}"
            );
        }
    }

    #[test]
    fn tokens_of_a_body_keep_their_place_in_the_file() {
        let file = read("postgres/x.sql", "DO $b$ BEGIN\n  PERFORM 1; /* ü */ END $b$;\nSELECT $$ no ' body $$;");
        let places: Vec<_> = file.body().map(|tok| (tok.token.to_string(), tok.line, tok.column)).collect();
        assert_eq!(places[0], ("BEGIN".to_owned(), 1, 8));
        assert_eq!(places[1], ("PERFORM".to_owned(), 2, 3));
        assert_eq!((file.comments[0].line, file.comments[0].column), (2, 14));
        assert_eq!(file.statements().len(), 2);
    }
}
