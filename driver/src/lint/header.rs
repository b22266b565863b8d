//! The comment that a procedure file begins with.

use std::collections::BTreeSet;

use super::tokens::Comment;

/// `schema.object: purpose`, then fields: a name, two blanks or more, a value; what is indented goes on.
#[derive(Debug)]
pub(super) struct Header {
    pub lines: usize,
    /// `schema.object: purpose`, and on which line.
    pub first: (String, u64),
    pub fields: Vec<Field>,
}

/// One field.
#[derive(Debug)]
pub(super) struct Field {
    pub name: String,
    /// Its first line.
    pub value: String,
    pub line: u64,
}

impl Header {
    /// The header of a text that begins with one.
    pub fn read(text: &str, comments: &[Comment]) -> Option<Self> {
        let comment = comments.first().filter(|it| text.starts_with("/*") && (it.line, it.column) == (1, 1))?;
        let said = comment.text.trim();
        let lead = comment.text.len() - comment.text.trim_start().len();
        let start = 1 + comment.text[..lead].matches('\n').count() as u64;
        let fields = said.lines().zip(start..).skip(1).filter_map(|(line, number)| {
            let (name, value) = line.split_once("  ").filter(|_| line.starts_with(|c: char| c.is_ascii_uppercase()))?;
            Some(Field { name: name.to_owned(), value: value.trim().to_owned(), line: number })
        });
        Some(Self {
            lines: said.lines().count(),
            first: (said.lines().next().unwrap_or_default().to_owned(), start),
            fields: fields.collect(),
        })
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    pub fn value(&self, name: &str) -> Option<&str> {
        self.field(name).map(|field| &*field.value)
    }

    /// True for what somebody outside may call.
    pub fn is_public(&self) -> bool {
        self.field("Granted to").is_some()
    }

    /// The word that `Transaction` begins with: joining, looping, reading, or what an internal object says.
    pub fn transaction(&self) -> &str {
        let value = self.value("Transaction").unwrap_or_default();
        value.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default()
    }

    /// The outcome words, without what is said about them.
    pub fn outcomes(&self) -> BTreeSet<&str> {
        let text = self.value("Outcomes").unwrap_or_default();
        text.split('|').filter_map(|part| part.split_whitespace().next()).collect()
    }
}
