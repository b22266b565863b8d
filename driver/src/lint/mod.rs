//! The house's checks of SQL files, from their tokens alone: nothing is connected to, and no SQL is run.
//!
//! A file is a *procedure file*, which creates one object and is named after it, or a *migration*, by its name
//! (`V0201__usp_Enqueue.sql`). A migration may hold anything and is never edited once it is released; so it is held to
//! the rules about its statements only, a procedure file to all of [`RULES`].
//!
//! The dialect is told by [`Options`], else by the folder `mssql` or `postgres` that the file lies in, else by
//! `CREATE OR ALTER` or `CREATE OR REPLACE` in its text, else by such a folder further up. In a folder `procedures/mssql` or `procedures/postgres` the
//! twin is read too.
//!
//! A comment `chokaq-lint: allow RULE: REASON` switches a rule off for its file.

mod allow;
mod contract;
mod file;
mod header;
mod names;
mod rules;
mod tokens;
mod twin;
mod walk;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::config::Dialect;

pub use contract::{Contract, Kind, Parameter, Procedure};
pub use names::snake_case;
pub use rules::{RULES, Rule};

use file::SqlFile;
use rules::{Faults, Subject};
use twin::Twin;

/// What a file cannot tell of itself.
#[derive(Debug, Default)]
pub struct Options {
    /// The dialect of every file.
    pub dialect: Option<Dialect>,
    /// What procedures, parameters and columns are promised; without it the rule `contract` is quiet.
    pub contract: Option<Contract>,
}

/// A place where a file breaks a rule. Its text is `file:line:column: rule: message`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Finding {
    /// The file as it was named.
    pub file: String,
    /// From 1.
    pub line: u64,
    /// In characters, from 1.
    pub column: u64,
    /// The rule's name.
    pub rule: &'static str,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, rule, message } = self;
        write!(f, "{file}:{line}:{column}: {rule}: {message}")
    }
}

/// A file that could not be checked. Its text names the file and, where there is one, the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {message}", .place.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default())]
pub struct Unreadable {
    /// The file as it was named.
    pub file: String,
    /// Line and column, from 1.
    pub place: Option<(u64, u64)>,
    /// Why.
    pub message: String,
}

/// What came of a run over files.
#[derive(Debug, Default)]
pub struct Report {
    /// How many files were looked at, the unreadable ones too.
    pub files: usize,
    /// File by file, in the order of the text.
    pub findings: Vec<Finding>,
    /// What could not be checked: the run found less than there is.
    pub unreadable: Vec<Unreadable>,
}

/// Checks files, and every `.sql` file below folders, in the order of their names.
pub fn lint(paths: &[PathBuf], options: &Options) -> Report {
    let mut report = Report::default();
    for path in paths {
        match walk::files(path) {
            Ok(files) => files.iter().for_each(|file| report.add(file, options)),
            Err(error) => report.unreadable.push(error),
        }
    }
    report
}

/// Checks a text as if it were the file at that path; no twin is looked for.
///
/// # Errors
/// What cannot be taken apart into tokens (a string that never ends), or has no telling of its dialect.
pub fn lint_text(path: &Path, text: &str, options: &Options) -> Result<Vec<Finding>, Unreadable> {
    let file = SqlFile::read(path, text, options.dialect)?;
    Ok(check(&file, &Twin::NotLookedFor, options.contract.as_ref()))
}

impl Report {
    fn add(&mut self, path: &Path, options: &Options) {
        self.files += 1;
        match lint_file(path, options) {
            Ok(findings) => self.findings.extend(findings),
            Err(error) => self.unreadable.push(error),
        }
    }
}

fn lint_file(path: &Path, options: &Options) -> Result<Vec<Finding>, Unreadable> {
    let file = SqlFile::read(path, &read(path)?, options.dialect)?;
    Ok(check(&file, &Twin::of(&file), options.contract.as_ref()))
}

/// The text of a file, which is UTF-8.
fn read(path: &Path) -> Result<String, Unreadable> {
    let unreadable = |place, message| Unreadable { file: path.display().to_string(), place, message };
    let bytes = fs::read(path).map_err(|error| unreadable(None, error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        unreadable(Some((line as u64, column as u64)), "is not UTF-8; save it as UTF-8 without a signature".to_owned())
    })
}

fn check(file: &SqlFile, twin: &Twin, contract: Option<&Contract>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |rule: &'static str, faults: Faults| {
        findings.extend(faults.into_iter().map(|fault| Finding {
            file: file.shown(),
            line: fault.line,
            column: fault.column,
            rule,
            message: fault.message,
        }));
    };
    let (allowed, faults) = allow::read(&file.comments);
    add(allow::RULE, faults);
    let subject = Subject { file, twin, contract };
    for rule in RULES.iter().filter(|rule| rule.concerns(file) && !allowed.contains(&rule.name)) {
        add(rule.name, rule.check(&subject));
    }
    findings.sort_by_key(|finding| (finding.line, finding.column));
    findings
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
