//! The deployment as one script, for whoever runs no program that he cannot read.

use std::ops::{Bound, RangeBounds};

use refinery_core::Migration;

use super::{embedded, known, mssql, postgres};
use crate::config::Dialect;
use crate::error::{Error, ErrorKind, Result};

/// The migrations of these versions as one script, for `sqlcmd` and SSMS, or for `psql`; nothing is connected to.
///
/// It brings a database to the same state as [`Deploy::up`](crate::Deploy::up), with the same rows in
/// `chokaq_schema_history`, under the same lock, and refuses what that refuses. It may be run again and again: a
/// migration that the database has is passed over. After an error it does nothing more, even where the client goes on.
///
/// ```
/// # fn main() -> chokaq::Result<()> {
/// let install = chokaq::migration_script(chokaq::Dialect::Mssql, ..)?;
/// let upgrade = chokaq::migration_script(chokaq::Dialect::Postgres, 201..)?; // of a database that has all before 201
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a version that does not exist, and when there is none in
/// the range.
pub fn migration_script(dialect: Dialect, versions: impl RangeBounds<i32>) -> Result<String> {
    let all = embedded(dialect);
    for bound in [versions.start_bound(), versions.end_bound()] {
        if let Bound::Included(version) | Bound::Excluded(version) = bound {
            known(&all, *version)?;
        }
    }
    write(&Template::of(dialect), &all, versions)
}

/// What differs between the dialects.
struct Template {
    begin: &'static str,
    step: &'static str,
    end: &'static str,
    lock: String,
    history: &'static str,
    history_table: String,
    /// How a migration is listed, between these.
    row: fn(&Migration) -> String,
    separator: &'static str,
    /// A migration's text as it stands in the script.
    text: fn(&str) -> String,
}

impl Template {
    fn of(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Mssql => Self {
                begin: include_str!("script/mssql_begin.sql"),
                step: include_str!("script/mssql_step.sql"),
                end: include_str!("script/mssql_end.sql"),
                lock: mssql::LOCK.to_owned(),
                history: mssql::HISTORY,
                history_table: mssql::history_table(mssql::HISTORY),
                row: |it| format!("({}, N'{}', N'{}')", it.version(), it.name(), it.checksum()),
                separator: ",\n        ",
                text: |sql| sql.replace('\'', "''"),
            },
            Dialect::Postgres => Self {
                begin: include_str!("script/postgres_begin.sql"),
                step: include_str!("script/postgres_step.sql"),
                end: include_str!("script/postgres_end.sql"),
                lock: postgres::LOCK.to_string(),
                history: postgres::HISTORY,
                history_table: postgres::history_table(postgres::HISTORY),
                row: |it| format!("({}, '{}', '{}')", it.version(), it.name(), it.checksum()),
                separator: ",\n            ",
                text: |sql| sql.trim_end().to_owned(),
            },
        }
    }
}

fn write(template: &Template, all: &[Migration], versions: impl RangeBounds<i32>) -> Result<String> {
    let chosen: Vec<(usize, &Migration)> =
        all.iter().enumerate().filter(|(_, migration)| versions.contains(&migration.version())).collect();
    let (Some((skipped, first)), Some((_, last))) = (chosen.first(), chosen.last()) else {
        return Err(Error::new(ErrorKind::InvalidArgument, "there is no migration between these versions"));
    };
    let frame = [
        ("kit", env!("CARGO_PKG_VERSION")),
        ("lock", &template.lock),
        ("history", template.history),
        ("history_table", &template.history_table),
        ("from", &label(first)),
        ("until", &label(last)),
        ("first", &first.version().to_string()),
        ("last", &last.version().to_string()),
        ("count", &(skipped + chosen.len()).to_string()),
        ("migrations", &all.iter().map(template.row).collect::<Vec<_>>().join(template.separator)),
        ("unknown", "This database was deployed by a newer version, of which this script does not know"),
        ("changed", "This database was given another text than the one in this script as"),
        ("skipped", "This database has newer migrations and was never given"),
        ("missing", "This script begins later; deploy first what this database does not have:"),
    ];
    let mut script = fill(template.begin, &frame);
    for (before, migration) in chosen {
        let step = [
            ("lock", template.lock.as_str()),
            ("history", template.history),
            ("label", &label(migration)),
            ("version", &migration.version().to_string()),
            ("name", migration.name()),
            ("checksum", &migration.checksum().to_string()),
            ("before", &before.to_string()),
            ("sql", &(template.text)(migration.sql().unwrap_or_default())),
        ];
        script.push_str(&fill(template.step, &step));
    }
    script.push_str(&fill(template.end, &frame));
    Ok(script)
}

/// The migration as its file is called.
fn label(migration: &Migration) -> String {
    format!("V{:04}__{}", migration.version(), migration.name())
}

/// The template with each `{{name}}` replaced, once: what a value holds is left alone.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut parts = template.split("{{");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
        let value = values.iter().find(|(known, _)| *known == name);
        debug_assert!(value.is_some(), "a template names {name}");
        filled.push_str(value.map_or("", |(_, value)| value));
        filled.push_str(rest);
    }
    filled
}
