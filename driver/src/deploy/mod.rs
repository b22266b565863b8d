//! Bringing tables and procedures into a database, and up to date: refinery, under a lock.

mod babelfish;
mod mssql;
mod postgres;

use std::num::ParseIntError;

use refinery_core::error::Kind;
use refinery_core::{AsyncMigrate, Runner};
use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::config::{Config, Target};
use crate::error::{Error, ErrorKind, Result};

/// The deployment of the kit into one database: [`Client::deploy`](crate::Client::deploy).
///
/// The migrations are part of this crate, `migrations/mssql` and `migrations/postgres`. Each is applied in a
/// transaction together with its row in `chokaq_schema_history` (in schema `dbo`, or `public`), so that one that
/// fails leaves nothing behind. A lock lets one deployment at a time work on a database; a second one waits and then
/// finds nothing to do. There is no time limit.
#[derive(Debug, Clone)]
pub struct Deploy {
    config: Config,
    /// Instead of the kit's own.
    migrations: Option<Vec<refinery_core::Migration>>,
}

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

impl Deploy {
    pub(crate) fn new(config: Config) -> Self {
        Self { config, migrations: None }
    }

    /// Deploys these migrations, names such as `V1__schema` and their texts, instead of the kit's own: so the suite sees
    /// what becomes of one that fails.
    ///
    /// # Errors
    /// [`Deployment`](crate::ErrorKind::Deployment) for a name that is none.
    #[doc(hidden)]
    pub fn with_migrations(mut self, migrations: &[(&str, &str)]) -> Result<Self> {
        let read = migrations.iter().map(|(name, sql)| refinery_core::Migration::unapplied(name, sql));
        self.migrations = Some(read.collect::<std::result::Result<_, _>>().map_err(from_refinery)?);
        Ok(self)
    }

    fn runner(&self) -> Runner {
        let (embedded, history) = match &self.config.target {
            Target::Mssql(_) => (mssql::embedded(), mssql::HISTORY),
            Target::Postgres(_) => (postgres::embedded(), postgres::HISTORY),
        };
        let mut runner = self.migrations.as_deref().map_or(embedded, Runner::new);
        runner.set_migration_table_name(history);
        runner
    }

    /// Applies what is pending and says what it applied; nothing when the database is up to date.
    ///
    /// # Errors
    /// [`Deployment`](crate::ErrorKind::Deployment) when a migration fails, or when the database's history does not
    /// fit this program's: see [`MigrationState`]. [`Connection`](crate::ErrorKind::Connection).
    pub async fn up(&self) -> Result<Vec<Migration>> {
        let runner = self.runner();
        match &self.config.target {
            Target::Mssql(target) => mssql::up(target, &runner).await,
            Target::Postgres(target) => postgres::up(target, &runner).await,
        }
    }

    /// Says what [`up`](Self::up) would apply, and changes nothing.
    ///
    /// # Errors
    /// As [`up`](Self::up).
    pub async fn plan(&self) -> Result<Vec<Migration>> {
        let status = self.status().await?;
        if let Some(odd) =
            status.iter().find(|it| !matches!(it.state, MigrationState::Applied | MigrationState::Pending))
        {
            return Err(refusal(odd.version, &odd.name, odd.state));
        }
        Ok(status.into_iter().filter(|migration| migration.state == MigrationState::Pending).collect())
    }

    /// Every migration of this program and of the database, and where it stands. Changes nothing.
    ///
    /// # Errors
    /// [`Connection`](crate::ErrorKind::Connection), [`Deployment`](crate::ErrorKind::Deployment) when the history
    /// cannot be read.
    pub async fn status(&self) -> Result<Vec<Migration>> {
        let ours = self.runner();
        let applied = match &self.config.target {
            Target::Mssql(target) => mssql::applied(target, &ours).await?,
            Target::Postgres(target) => postgres::applied(target, &ours).await?,
        };
        Ok(compare(ours.get_migrations(), &applied))
    }
}

/// Puts the program's migrations beside the database's.
fn compare(ours: &[refinery_core::Migration], applied: &[refinery_core::Migration]) -> Vec<Migration> {
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

fn describe(migration: &refinery_core::Migration, state: MigrationState) -> Migration {
    Migration {
        version: migration.version(),
        name: migration.name().to_owned(),
        state,
        applied_on: migration.applied_on().copied(),
    }
}

/// A row of the history, as refinery writes it.
fn recorded(version: i32, name: &str, applied_on: &str, checksum: &str) -> Result<refinery_core::Migration> {
    let odd = || Error::new(ErrorKind::Deployment, format!("the history's row of version {version} cannot be read"));
    let applied_on = OffsetDateTime::parse(applied_on, &Rfc3339).map_err(|error| odd().with_source(error))?;
    let checksum = checksum.parse().map_err(|error: ParseIntError| odd().with_source(error))?;
    Ok(refinery_core::Migration::applied(version, name.to_owned(), applied_on, checksum))
}

/// Runs refinery over a connection that holds the lock.
async fn migrate<C: AsyncMigrate + Send>(runner: &Runner, connection: &mut C) -> Result<Vec<Migration>> {
    let report = runner.run_async(connection).await.map_err(from_refinery)?;
    Ok(report.applied_migrations().iter().map(|it| describe(it, MigrationState::Applied)).collect())
}

fn from_refinery(error: refinery_core::Error) -> Error {
    match error.kind() {
        Kind::DivergentVersion(applied, _) => refusal(applied.version(), applied.name(), MigrationState::Changed),
        // refinery has one word for both: a migration of ours is told by its text.
        Kind::MissingVersion(it) if it.sql().is_some() => refusal(it.version(), it.name(), MigrationState::Skipped),
        Kind::MissingVersion(it) => refusal(it.version(), it.name(), MigrationState::Unknown),
        Kind::Connection(what, cause) => match root(cause.as_ref()) {
            Some(root) => of_database(what.trim_start_matches("error "), root).with_source(error),
            None => Error::new(ErrorKind::Deployment, format!("{what}: {cause}")).with_source(error),
        },
        _ => Error::new(ErrorKind::Deployment, error.to_string()).with_source(error),
    }
}

/// The database's own error; refinery wraps it once for each of its steps.
fn root<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Error> {
    error.downcast_ref().or_else(|| root(error.source()?))
}

/// A step that the database stopped, told in the database's words.
fn of_database(step: &str, cause: &Error) -> Error {
    let kind = match cause.kind() {
        kind @ (ErrorKind::Connection | ErrorKind::PermissionDenied) => kind,
        _ => ErrorKind::Deployment,
    };
    let error = Error::new(kind, format!("{step}: {}", cause.message()));
    match cause.code() {
        Some(code) => error.with_code(code),
        None => error,
    }
}

fn refusal(version: i32, name: &str, state: MigrationState) -> Error {
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

    #[test]
    fn both_dialects_embed_their_migrations() {
        assert!(!postgres::embedded().get_migrations().is_empty());
        assert!(!mssql::embedded().get_migrations().is_empty());
    }
}
