//! One run of a deployment, the same on both engines: is this a database to deploy to, the lock, the rights, and then
//! refinery.

use std::time::Duration;

use refinery_core::error::Kind;
use refinery_core::{AsyncMigrate, Runner};

use super::Deploy;
use super::history::{Migration, MigrationState, describe, refusal};
use crate::error::{Error, ErrorKind, Result};

/// The databases that a server keeps for itself.
const SYSTEM: [&str; 7] = ["master", "model", "msdb", "tempdb", "postgres", "template0", "template1"];

/// A connection as a deployment wants it.
pub(super) trait Session: AsyncMigrate + Send {
    /// The name of the database.
    async fn database(&mut self) -> Result<String>;

    /// Whether there is a table of the history yet.
    async fn has_history(&mut self) -> Result<bool>;

    /// Takes the lock of the deployment, waiting for it that long or, without a limit, for ever; false when the time is
    /// over.
    async fn lock(&mut self, limit: Option<Duration>) -> Result<bool>;

    /// Frees it. Should this fail, the end of the session does.
    async fn unlock(&mut self);

    /// The rights that a deployment needs and this login does not have, as far as the server tells.
    async fn missing_rights(&mut self) -> Result<Vec<String>>;

    /// The version of the extension that the schema belongs to, on the engine that has such.
    async fn extension(&mut self) -> Result<Option<String>> {
        Ok(None)
    }
}

impl Deploy {
    pub(super) async fn run(&self, session: &mut impl Session, runner: &Runner) -> Result<Vec<Migration>> {
        self.refuse_system(&session.database().await?)?;
        if !session.lock(Some(Duration::ZERO)).await? {
            if let Some(told) = self.on_waiting {
                told();
            }
            if !session.lock(self.lock_timeout).await? {
                let waited = self.lock_timeout.unwrap_or_default();
                let message = format!("another deployment works on this database, and did not end within {waited:?}");
                return Err(Error::new(ErrorKind::LockTimeout, message));
            }
        }
        let outcome = self.migrate(session, runner).await;
        session.unlock().await;
        outcome
    }

    /// The part that is done under the lock.
    async fn migrate(&self, session: &mut impl Session, runner: &Runner) -> Result<Vec<Migration>> {
        if self.pending(runner, &applied(session, runner).await?)?.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(version) = session.extension().await? {
            // What was added beside the extension would be in no dump.
            let message = format!(
                "schema chokaq belongs to the extension chokaq {version}: put the extension's newer files on the \
                 server, and say ALTER EXTENSION chokaq UPDATE"
            );
            return Err(Error::new(ErrorKind::Deployment, message));
        }
        let missing = session.missing_rights().await?;
        if !missing.is_empty() {
            let message = format!("this login may not deploy here; it lacks {}", missing.join("; "));
            return Err(Error::new(ErrorKind::PermissionDenied, message));
        }
        let report = runner.run_async(session).await.map_err(from_refinery)?;
        Ok(report.applied_migrations().iter().map(|it| describe(it, MigrationState::Applied)).collect())
    }

    pub(super) fn refuse_system(&self, database: &str) -> Result<()> {
        if self.allow_system_database || !SYSTEM.contains(&database) {
            return Ok(());
        }
        let message = format!(
            "{database} is a database that the server keeps for itself: name yours in the URL, or say \
             --allow-system-database"
        );
        Err(Error::new(ErrorKind::Deployment, message))
    }
}

/// The name of the database and the rows of its history.
pub(super) async fn inspect(
    session: &mut impl Session,
    runner: &Runner,
) -> Result<(String, Vec<refinery_core::Migration>)> {
    Ok((session.database().await?, applied(session, runner).await?))
}

async fn applied(session: &mut impl Session, runner: &Runner) -> Result<Vec<refinery_core::Migration>> {
    if !session.has_history().await? {
        return Ok(Vec::new());
    }
    runner.get_applied_migrations_async(session).await.map_err(from_refinery)
}

pub(super) fn from_refinery(error: refinery_core::Error) -> Error {
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
