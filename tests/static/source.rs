//! The files of procedures/ and migrations/, and what their tokens say.

use std::fs;
use std::path::{Path, PathBuf};

use sqlparser::dialect::{Dialect as Grammar, MsSqlDialect, PostgreSqlDialect};
use sqlparser::tokenizer::{Token, Tokenizer, Whitespace};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Mssql,
    Postgres,
}

pub const DIALECTS: [Dialect; 2] = [Dialect::Mssql, Dialect::Postgres];

impl Dialect {
    pub fn folder(self) -> &'static str {
        match self {
            Self::Mssql => "mssql",
            Self::Postgres => "postgres",
        }
    }
}

/// One SQL file.
pub struct Source {
    pub dialect: Dialect,
    /// From the root of the repository.
    pub path: PathBuf,
    /// The file's name without `.sql`.
    pub name: String,
    pub text: String,
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every file of `procedures` or `migrations` of one dialect, by name.
pub fn sources(folder: &str, dialect: Dialect) -> Vec<Source> {
    let folder = Path::new(folder).join(dialect.folder());
    let mut sources: Vec<Source> = fs::read_dir(root().join(&folder))
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| {
            let path = folder.join(entry.expect("an entry").file_name());
            let bytes = fs::read(root().join(&path)).expect("a readable file");
            let text = String::from_utf8(bytes).unwrap_or_else(|_| panic!("{} is not UTF-8", path.display()));
            let name = path.file_name().expect("a name").to_string_lossy();
            let name = name.strip_suffix(".sql").unwrap_or_else(|| panic!("{} is no .sql", path.display())).to_owned();
            Source { dialect, path, name, text }
        })
        .collect();
    sources.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(!sources.is_empty(), "{} is empty", folder.display());
    sources
}

/// Both dialects' files of `procedures`.
pub fn procedures() -> impl Iterator<Item = Source> {
    DIALECTS.into_iter().flat_map(|dialect| sources("procedures", dialect))
}

impl Source {
    /// The tokens without white space and comments; PostgreSQL's bodies are opened.
    pub fn tokens(&self) -> Vec<Token> {
        let mut tokens = tokenize(self.dialect, &self.text);
        if self.dialect == Dialect::Postgres {
            tokens = tokens
                .into_iter()
                .flat_map(|token| match token {
                    Token::DollarQuotedString(body) => tokenize(self.dialect, &body.value),
                    other => vec![other],
                })
                .collect();
        }
        tokens.retain(|token| !matches!(token, Token::Whitespace(_)));
        tokens
    }

    /// The first comment, which is the header block.
    pub fn header(&self) -> String {
        match tokenize(self.dialect, &self.text).into_iter().next() {
            Some(Token::Whitespace(Whitespace::MultiLineComment(text))) => text,
            _ => panic!("{} does not begin with its header block", self.path.display()),
        }
    }

    /// The header's fields in order: `Twin`, `Result`, ..., with their first lines.
    pub fn fields(&self) -> Vec<(String, String)> {
        self.header()
            .lines()
            .filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()))
            .filter_map(|line| line.split_once("  "))
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect()
    }

    pub fn field(&self, name: &str) -> Option<String> {
        self.fields().into_iter().find(|(field, _)| field == name).map(|(_, value)| value)
    }

    /// True for what somebody outside may call.
    pub fn is_public(&self) -> bool {
        self.field("Granted to").is_some()
    }

    /// The file's tokens after `CREATE ... PROCEDURE|FUNCTION|VIEW chokaq.`, beginning with the object's name.
    pub fn definition(&self) -> Vec<Token> {
        let tokens = self.tokens();
        let create = tokens.iter().position(|token| is(token, "CREATE"));
        let name = create.and_then(|from| (from..tokens.len()).find(|i| is(&tokens[*i], "chokaq")));
        match name {
            Some(i) => tokens[i + 2..].to_vec(),
            None => panic!("{} creates nothing in schema chokaq", self.path.display()),
        }
    }

    /// The parameters and their defaults, in order; PostgreSQL's INOUT ones are results and left out.
    pub fn parameters(&self) -> Vec<(String, Option<String>)> {
        let rest = &self.definition()[1..];
        let (list, prefix) = match self.dialect {
            Dialect::Mssql => {
                let end = rest.iter().position(|token| is(token, "AS")).expect("AS");
                (&rest[..end], "@")
            }
            Dialect::Postgres => (&rest[1..closing(rest)], "p_"),
        };
        split(list)
            .into_iter()
            .filter(|one| !is(&one[0], "INOUT"))
            .map(|one| {
                let name = one[0].to_string();
                let name = name.strip_prefix(prefix).unwrap_or_else(|| panic!("{name} has no {prefix}")).to_owned();
                let default = one.iter().position(|token| *token == Token::Eq || is(token, "DEFAULT"));
                (name, default.map(|i| one[i + 1..].iter().map(ToString::to_string).collect()))
            })
            .collect()
    }
}

/// The names of what comes out of a PostgreSQL function or procedure.
pub fn postgres_columns(source: &Source) -> Vec<String> {
    let tokens = &source.definition()[1..];
    let end = closing(tokens);
    let inout: Vec<String> =
        split(&tokens[1..end]).iter().filter(|one| is(&one[0], "INOUT")).map(|one| one[1].to_string()).collect();
    if !inout.is_empty() {
        return inout;
    }
    let rest = &tokens[end + 1..];
    assert!(is(&rest[0], "RETURNS") && is(&rest[1], "TABLE"), "{} returns no table", source.path.display());
    split(&rest[3..2 + closing(&rest[2..])]).iter().map(|one| one[0].to_string()).collect()
}

/// True for that word, in any case.
pub fn is(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(found) if found.value.eq_ignore_ascii_case(word))
}

fn tokenize(dialect: Dialect, text: &str) -> Vec<Token> {
    let grammar: &dyn Grammar = match dialect {
        Dialect::Mssql => &MsSqlDialect {},
        Dialect::Postgres => &PostgreSqlDialect {},
    };
    /* The text as it stands: a backslash in a string is a backslash. */
    Tokenizer::new(grammar, text).with_unescape(false).tokenize().expect("tokens")
}

/// Where the parenthesis closes that the tokens begin with.
fn closing(tokens: &[Token]) -> usize {
    assert_eq!(tokens[0], Token::LParen);
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate() {
        match token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i;
        }
    }
    panic!("a parenthesis stays open");
}

/// Splits at the commas outside parentheses.
fn split(tokens: &[Token]) -> Vec<Vec<Token>> {
    let mut parts = vec![vec![]];
    let mut depth = 0;
    for token in tokens {
        match token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        if depth == 0 && *token == Token::Comma {
            parts.push(vec![]);
        } else if let Some(part) = parts.last_mut() {
            part.push(token.clone());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}
