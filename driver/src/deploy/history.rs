//! Where each migration stands in a database: the program's migrations beside the rows of `chokaq_schema_history`.

use std::num::ParseIntError;

use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::error::{Error, ErrorKind, Result};

/// A migration, in the order of its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
#[non_exhaustive]
pub struct Migration {
    /// Its number, the same in both dialects for the same change.
    pub version: i32,
    /// What it brings: `usp_Enqueue`, `schema`.
    pub name: String,
    /// Whether it has been applied.
    pub state: MigrationState,
    /// When it was applied.
    #[serde(rename = "AppliedOnUtc", with = "time::serde::rfc3339::option")]
    pub applied_on: Option<OffsetDateTime>,
}

/// Where a migration stands in a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MigrationState {
    /// The database has it.
    Applied,
    /// The next deployment will apply it.
    Pending,
    /// The database has another text under this number: it cannot be deployed to.
    Changed,
    /// The database has it, this program does not: it was deployed by a newer one.
    Unknown,
    /// The database has later ones and not this: it cannot be deployed to.
    Skipped,
}

impl std::fmt::Display for MigrationState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Applied => "applied",
            Self::Pending => "pending",
            Self::Changed => "changed",
            Self::Unknown => "unknown",
            Self::Skipped => "skipped",
        })
    }
}

/// Puts the program's migrations beside the database's.
pub(super) fn compare(ours: &[refinery_core::Migration], applied: &[refinery_core::Migration]) -> Vec<Migration> {
    let newest = applied.iter().map(refinery_core::Migration::version).max();
    let mut all: Vec<Migration> = ours
        .iter()
        .map(|our| {
            let known = applied.iter().find(|it| it.version() == our.version());
            let state = match known {
                Some(known) if known == our => MigrationState::Applied,
                Some(_) => MigrationState::Changed,
                None if newest > Some(our.version()) => MigrationState::Skipped,
                None => MigrationState::Pending,
            };
            describe(known.unwrap_or(our), state)
        })
        .collect();
    let unknown = applied.iter().filter(|it| ours.iter().all(|our| our.version() != it.version()));
    all.extend(unknown.map(|it| describe(it, MigrationState::Unknown)));
    all.sort_by_key(|migration| migration.version);
    all
}

pub(super) fn describe(migration: &refinery_core::Migration, state: MigrationState) -> Migration {
    Migration {
        version: migration.version(),
        name: migration.name().to_owned(),
        state,
        applied_on: migration.applied_on().copied(),
    }
}

/// A row of the history, as refinery writes it.
pub(super) fn recorded(version: i32, name: &str, applied_on: &str, checksum: &str) -> Result<refinery_core::Migration> {
    let odd = || Error::new(ErrorKind::Deployment, format!("the history's row of version {version} cannot be read"));
    let applied_on = OffsetDateTime::parse(applied_on, &Rfc3339).map_err(|error| odd().with_source(error))?;
    let checksum = checksum.parse().map_err(|error: ParseIntError| odd().with_source(error))?;
    Ok(refinery_core::Migration::applied(version, name.to_owned(), applied_on, checksum))
}

pub(super) fn refusal(version: i32, name: &str, state: MigrationState) -> Error {
    let what = match state {
        MigrationState::Changed => "was applied to this database with another text than this program's",
        MigrationState::Skipped => "is older than the newest one applied to this database, and was never applied to it",
        _ => "was applied to this database and is not known to this program, which is older",
    };
    Error::new(ErrorKind::Deployment, format!("migration V{version:04}__{name} {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(name: &str, sql: &str) -> refinery_core::Migration {
        refinery_core::Migration::unapplied(name, sql).unwrap()
    }

    fn applied(migration: &refinery_core::Migration) -> refinery_core::Migration {
        let now = OffsetDateTime::UNIX_EPOCH;
        refinery_core::Migration::applied(migration.version(), migration.name().to_owned(), now, migration.checksum())
    }

    #[test]
    fn each_migration_is_told_where_it_stands() {
        let all = [ours("V1__schema", "a"), ours("V2__b", "b"), ours("V3__c", "c"), ours("V5__e", "e")];
        let history = [applied(&all[0]), applied(&ours("V3__c", "another text")), applied(&ours("V4__d", "d"))];
        let states: Vec<_> = compare(&all, &history).into_iter().map(|it| (it.version, it.state)).collect();
        assert_eq!(
            states,
            [
                (1, MigrationState::Applied),
                (2, MigrationState::Skipped),
                (3, MigrationState::Changed),
                (4, MigrationState::Unknown),
                (5, MigrationState::Pending),
            ]
        );
    }

    #[test]
    fn an_empty_database_has_everything_pending() {
        let status = compare(&[ours("V1__schema", "a")], &[]);
        assert_eq!(status[0].state, MigrationState::Pending);
        assert_eq!(status[0].applied_on, None);
    }

    #[test]
    fn a_history_that_refinery_did_not_write_is_an_error() {
        assert!(recorded(1, "schema", "2026-01-31T08:00:00Z", "17").is_ok());
        for (applied_on, checksum) in [("yesterday", "17"), ("2026-01-31T08:00:00Z", "x"), ("", "")] {
            let error = recorded(1, "schema", applied_on, checksum).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Deployment);
        }
    }
}
