//! The rules, one file for each group.

mod batch;
mod contract;
mod forbidden;
mod header;
mod object;
mod read_past;
mod result_set;
mod rights;
mod set_options;
mod target_hint;
mod text;
mod transaction;
mod twin;

use super::Contract;
use super::file::SqlFile;
use super::twin::Twin;
use crate::config::Dialect;

/// What a file is held to.
#[derive(Debug)]
pub struct Rule {
    /// Its name in findings and in `chokaq-lint: allow`.
    pub name: &'static str,
    /// What it demands.
    pub demand: &'static str,
    /// Why.
    pub reason: &'static str,
    scope: Scope,
    look: fn(&Subject<'_>, &mut Faults),
}

/// Which files a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Migrations too.
    Statements(Option<Dialect>),
    /// Files that create one object, and are named after it.
    Object(Option<Dialect>),
}

/// What a rule looks at.
pub(super) struct Subject<'a> {
    pub file: &'a SqlFile,
    pub twin: &'a Twin,
    pub contract: Option<&'a Contract>,
}

/// Where a rule is broken.
#[derive(Debug)]
pub(super) struct Fault {
    pub line: u64,
    pub column: u64,
    pub message: String,
}

/// What a rule found.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<Fault>);

impl Faults {
    pub fn at(&mut self, line: u64, column: u64, message: impl Into<String>) {
        self.0.push(Fault { line, column, message: message.into() });
    }

    pub fn at_token(&mut self, tok: &super::tokens::Tok, message: impl Into<String>) {
        self.at(tok.line, tok.column, message);
    }
}

impl IntoIterator for Faults {
    type Item = Fault;
    type IntoIter = std::vec::IntoIter<Fault>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Rule {
    /// Which files it is about, in words.
    pub fn concerns_what(&self) -> &'static str {
        match self.scope {
            Scope::Statements(None) => "every file",
            Scope::Statements(Some(Dialect::Mssql)) => "every T-SQL file",
            Scope::Statements(Some(Dialect::Postgres)) => "every PostgreSQL file",
            Scope::Object(None) => "procedure files",
            Scope::Object(Some(Dialect::Mssql)) => "T-SQL procedure files",
            Scope::Object(Some(Dialect::Postgres)) => "PostgreSQL procedure files",
        }
    }

    pub(super) fn concerns(&self, file: &SqlFile) -> bool {
        match self.scope {
            Scope::Statements(dialect) => dialect.is_none_or(|it| it == file.dialect),
            Scope::Object(dialect) => !file.is_migration && dialect.is_none_or(|it| it == file.dialect),
        }
    }

    pub(super) fn check(&self, subject: &Subject<'_>) -> Faults {
        let mut faults = Faults::default();
        (self.look)(subject, &mut faults);
        faults
    }
}

/// Every rule.
pub static RULES: &[Rule] = &[
    text::TEXT,
    batch::BATCH,
    object::ONE_OBJECT,
    object::OBJECT_NAME,
    header::HEADER,
    set_options::SET_OPTIONS,
    result_set::RESULT_SET_LAST,
    transaction::TRANSACTION,
    forbidden::SELECT_STAR,
    forbidden::MERGE,
    forbidden::NOLOCK,
    forbidden::DYNAMIC_SQL,
    read_past::READ_PAST,
    target_hint::TARGET_HINT,
    rights::SEARCH_PATH,
    rights::CLOSED_TO_PUBLIC,
    rights::COMMENT_ON,
    twin::TWIN,
    contract::CONTRACT,
];

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::lint::{Options, lint_text};

    /// `line:column: message` of what one rule finds in a text at that path.
    pub fn found(path: &str, text: &str, rule: &str) -> Vec<String> {
        found_with(path, text, rule, &Options::default())
    }

    pub fn found_with(path: &str, text: &str, rule: &str, options: &Options) -> Vec<String> {
        let findings = lint_text(Path::new(path), text, options).unwrap();
        let of_rule = findings.into_iter().filter(|it| it.rule == rule);
        of_rule.map(|it| format!("{}:{}: {}", it.line, it.column, it.message)).collect()
    }

    /// Asserts that the rule finds exactly one fault, which begins so.
    #[track_caller]
    pub fn finds(path: &str, text: &str, rule: &str, message: &str) {
        let found = found(path, text, rule);
        assert!(found.len() == 1 && found[0].starts_with(message), "{found:#?}\nin {text}");
    }

    #[track_caller]
    pub fn passes(path: &str, text: &str, rule: &str) {
        assert_eq!(found(path, text, rule), [] as [&str; 0], "{text}");
    }

    #[test]
    fn a_rules_name_is_one_word_of_its_own() {
        let names: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
        assert_eq!(names.len(), RULES.len());
        for name in names {
            assert!(name != "allow" && name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}");
        }
    }
}
