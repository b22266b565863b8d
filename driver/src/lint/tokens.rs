//! A text as tokens with their places; the body of a PostgreSQL function is opened.

use sqlparser::dialect::{Dialect as Grammar, MsSqlDialect, PostgreSqlDialect};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Whitespace};

use crate::config::Dialect;

/// A token and where it begins.
#[derive(Debug, Clone)]
pub(super) struct Tok {
    pub token: Token,
    pub line: u64,
    pub column: u64,
    /// Inside a dollar-quoted body.
    pub in_body: bool,
}

/// The text of a comment, without its signs, and where it begins.
#[derive(Debug)]
pub(super) struct Comment {
    pub text: String,
    pub line: u64,
    pub column: u64,
}

/// Where a text stops being SQL.
#[derive(Debug)]
pub(super) struct Broken {
    pub line: u64,
    pub column: u64,
    pub message: String,
}

impl Tok {
    /// True for that word, in any case and not quoted.
    pub fn is(&self, word: &str) -> bool {
        self.word().is_some_and(|found| found.eq_ignore_ascii_case(word))
    }

    pub fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    /// A word that is not quoted. T-SQL's variables are words that begin with `@`.
    pub fn word(&self) -> Option<&str> {
        match &self.token {
            Token::Word(word) if word.quote_style.is_none() => Some(&word.value),
            _ => None,
        }
    }

    pub fn is_variable(&self) -> bool {
        self.word().is_some_and(|word| word.starts_with('@'))
    }
}

/// Code and comments of a text.
pub(super) fn read(dialect: Dialect, text: &str) -> Result<(Vec<Tok>, Vec<Comment>), Broken> {
    let mut code: Vec<Tok> = Vec::new();
    let mut comments = Vec::new();
    for at in tokenize(dialect, text)? {
        let (line, column) = (at.span.start.line, at.span.start.column);
        if let Some(text) = comment(&at.token) {
            comments.push(Comment { text, line, column });
        } else if !matches!(at.token, Token::Whitespace(_)) {
            let body = body(&code, &at.token);
            code.push(Tok { token: at.token, line, column, in_body: false });
            if let Some((body, opening)) = body {
                read_body(dialect, &body, (line, column + opening), &mut code, &mut comments)?;
            }
        }
    }
    Ok((code, comments))
}

/// The body that a dollar-quoted string holds, and how many characters open it: behind AS or DO. Elsewhere such a
/// string is data.
fn body(before: &[Tok], token: &Token) -> Option<(String, u64)> {
    let Token::DollarQuotedString(body) = token else { return None };
    let last = before.last()?;
    let is_body = last.is_any(&["AS", "DO"]) || before.iter().rev().nth(1).is_some_and(|it| it.is("LANGUAGE"));
    let opening = body.tag.as_ref().map_or(0, |tag| tag.chars().count()) + 2;
    is_body.then(|| (body.value.clone(), opening as u64))
}

/// Reads a body that begins at that place of the file.
fn read_body(
    dialect: Dialect,
    body: &str,
    (line, column): (u64, u64),
    code: &mut Vec<Tok>,
    comments: &mut Vec<Comment>,
) -> Result<(), Broken> {
    let place = |at_line: u64, at_column: u64| {
        let column = if at_line == 1 { column + at_column - 1 } else { at_column };
        (line + at_line - 1, column)
    };
    let tokens = tokenize(dialect, body).map_err(|broken| {
        let (line, column) = place(broken.line, broken.column);
        Broken { line, column, ..broken }
    })?;
    for at in tokens {
        let (line, column) = place(at.span.start.line, at.span.start.column);
        if let Some(text) = comment(&at.token) {
            comments.push(Comment { text, line, column });
        } else if !matches!(at.token, Token::Whitespace(_)) {
            code.push(Tok { token: at.token, line, column, in_body: true });
        }
    }
    Ok(())
}

fn comment(token: &Token) -> Option<String> {
    match token {
        Token::Whitespace(Whitespace::MultiLineComment(text)) => Some(text.clone()),
        Token::Whitespace(Whitespace::SingleLineComment { comment, .. }) => Some(comment.clone()),
        _ => None,
    }
}

fn tokenize(dialect: Dialect, text: &str) -> Result<Vec<TokenWithSpan>, Broken> {
    let grammar: &dyn Grammar = match dialect {
        Dialect::Mssql => &MsSqlDialect {},
        Dialect::Postgres => &PostgreSqlDialect {},
    };
    // The text as it stands: a backslash in a string is a backslash.
    Tokenizer::new(grammar, text).with_unescape(false).tokenize_with_location().map_err(|error| Broken {
        line: error.location.line,
        column: error.location.column,
        message: error.message,
    })
}

/// Where the parenthesis closes that the tokens begin with.
pub(super) fn closing(tokens: &[Tok]) -> Option<usize> {
    let mut depth = 0_usize;
    for (i, tok) in tokens.iter().enumerate() {
        match tok.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return (i > 0).then_some(i);
        }
    }
    None
}

/// The tokens between the parentheses that they begin with, and what follows.
pub(super) fn parenthesized(tokens: &[Tok]) -> Option<(&[Tok], &[Tok])> {
    let end = closing(tokens)?;
    Some((&tokens[1..end], &tokens[end + 1..]))
}

/// Splits at a token that stands outside parentheses; empty parts are left out.
pub(super) fn split<'a>(tokens: &'a [Tok], at: &Token) -> Vec<&'a [Tok]> {
    let mut depth = 0_usize;
    let is_end = |tok: &Tok| {
        match tok.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && tok.token == *at
    };
    tokens.split(is_end).filter(|part| !part.is_empty()).collect()
}

/// The tokens as they are written, without what stood between them.
pub(super) fn spelled(tokens: &[Tok]) -> String {
    tokens.iter().map(|tok| tok.token.to_string()).collect()
}
