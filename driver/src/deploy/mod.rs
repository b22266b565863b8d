//! Bringing tables and procedures into a database, and up to date: refinery, under a lock.

mod babelfish;
mod extension;
#[cfg(test)]
pub(crate) mod fuzz;
mod history;
mod mssql;
mod postgres;
mod run;
mod script;
mod statements;
mod verify;

use std::time::Duration;

use refinery_core::{Runner, Target as Until};

use crate::config::{Config, Dialect, Target};
use crate::error::{Error, ErrorKind, Result};

pub use extension::Extension;
pub use history::{Migration, MigrationState};
use history::{compare, refusal};
use run::from_refinery;
pub use script::migration_script;
pub use statements::{Planned, Statement};
pub use verify::{Drift, DriftKind, Verification};

/// The deployment of the kit into one database: [`Client::deploy`](crate::Client::deploy).
///
/// The migrations are part of this crate, `migrations/mssql` and `migrations/postgres`. Each is applied in a
/// transaction together with its row in `chokaq_schema_history` (in schema `dbo`, or `public`), so that one that
/// fails leaves nothing behind, and the next run goes on with it. A lock lets one deployment at a time work on a
/// database; a second one waits and then finds nothing to do. Nothing else is bounded in time.
#[derive(Debug, Clone)]
pub struct Deploy {
    config: Config,
    /// Instead of the kit's own.
    migrations: Option<Vec<refinery_core::Migration>>,
    to: Option<i32>,
    lock_timeout: Option<Duration>,
    on_waiting: Option<fn()>,
    allow_system_database: bool,
}

impl Deploy {
    pub(crate) fn new(config: Config) -> Self {
        Self { config, migrations: None, to: None, lock_timeout: None, on_waiting: None, allow_system_database: false }
    }

    /// The last migration to apply; without it all are.
    #[must_use]
    pub fn to(mut self, version: impl Into<Option<i32>>) -> Self {
        self.to = version.into();
        self
    }

    /// How long to wait, in whole milliseconds, while another deployment works on the database; without it as long as
    /// that takes. The locks that a migration itself needs wait as the server's settings say.
    #[must_use]
    pub fn lock_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.lock_timeout = timeout.into();
        self
    }

    /// Called when another deployment works on the database and this one begins to wait.
    #[must_use]
    pub fn on_waiting(mut self, told: fn()) -> Self {
        self.on_waiting = Some(told);
        self
    }

    /// Deploys to a database that the server keeps for itself, too: `master`, `model`, `msdb`, `tempdb`; `postgres`,
    /// `template0`, `template1`. It is refused otherwise, being a mistake nearly always.
    #[must_use]
    pub fn allow_system_database(mut self, allow: bool) -> Self {
        self.allow_system_database = allow;
        self
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

    fn runner(&self) -> Result<Runner> {
        let dialect = self.config.dialect();
        let migrations = self.migrations.clone().unwrap_or_else(|| embedded(dialect));
        let mut runner = Runner::new(&migrations);
        runner.set_migration_table_name(match dialect {
            Dialect::Mssql => mssql::HISTORY,
            Dialect::Postgres => postgres::HISTORY,
        });
        match self.to {
            Some(version) => Ok(runner.set_target(Until::Version(known(&migrations, version)?.version()))),
            None => Ok(runner),
        }
    }

    /// Applies what is pending and says what it applied; nothing when the database is up to date.
    ///
    /// # Errors
    /// [`Deployment`](crate::ErrorKind::Deployment) when a migration fails, when the database's history does not fit
    /// this program's (see [`MigrationState`]), and for a system database;
    /// [`PermissionDenied`](crate::ErrorKind::PermissionDenied), which names the missing rights before anything is
    /// changed where the server tells them; [`LockTimeout`](crate::ErrorKind::LockTimeout) when another deployment did
    /// not end in time; [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a version that does not exist;
    /// [`Connection`](crate::ErrorKind::Connection).
    pub async fn up(&self) -> Result<Vec<Migration>> {
        let runner = self.runner()?;
        match &self.config.target {
            Target::Mssql(target) => self.run(&mut mssql::Database::open(target).await?, &runner).await,
            Target::Postgres(target) => self.run(&mut postgres::Database::open(target).await?, &runner).await,
        }
    }

    /// Says what [`up`](Self::up) would apply and what each migration does, and changes nothing.
    ///
    /// # Errors
    /// As [`up`](Self::up), where it fails before it changes anything; of rights and of the lock it does not know.
    pub async fn plan(&self) -> Result<Vec<Planned>> {
        let runner = self.runner()?;
        let (database, applied) = self.inspect(&runner).await?;
        self.refuse_system(&database)?;
        let pending = self.pending(&runner, &applied)?;
        Ok(pending.into_iter().map(|migration| Planned::read(self.config.dialect(), migration)).collect())
    }

    /// Every migration of this program and of the database, and where it stands. Changes nothing.
    ///
    /// # Errors
    /// [`Connection`](crate::ErrorKind::Connection), [`Deployment`](crate::ErrorKind::Deployment) when the history
    /// cannot be read.
    pub async fn status(&self) -> Result<Vec<Migration>> {
        let runner = self.runner()?;
        let (_, applied) = self.inspect(&runner).await?;
        Ok(compare(runner.get_migrations(), &applied))
    }

    /// The name of the database and the rows of its history.
    async fn inspect(&self, runner: &Runner) -> Result<(String, Vec<refinery_core::Migration>)> {
        match &self.config.target {
            Target::Mssql(target) => run::inspect(&mut mssql::Database::open(target).await?, runner).await,
            Target::Postgres(target) => run::inspect(&mut postgres::Database::open(target).await?, runner).await,
        }
    }

    /// What is to be applied; an error when the history does not fit.
    fn pending<'a>(
        &self,
        runner: &'a Runner,
        applied: &[refinery_core::Migration],
    ) -> Result<Vec<&'a refinery_core::Migration>> {
        let ours = runner.get_migrations();
        let status = compare(ours, applied);
        let is_odd = |it: &&Migration| !matches!(it.state, MigrationState::Applied | MigrationState::Pending);
        if let Some(odd) = status.iter().find(is_odd) {
            return Err(refusal(odd.version, &odd.name, odd.state));
        }
        let is_pending = |version| status.iter().any(|it| it.version == version && it.state == MigrationState::Pending);
        let wanted = |version| self.to.is_none_or(|last| version <= last);
        Ok(ours.iter().filter(|it| wanted(it.version()) && is_pending(it.version())).collect())
    }
}

/// The kit's own migrations, in the order of their versions.
fn embedded(dialect: Dialect) -> Vec<refinery_core::Migration> {
    let mut migrations = match dialect {
        Dialect::Mssql => mssql::embedded(),
        Dialect::Postgres => postgres::embedded(),
    }
    .get_migrations()
    .clone();
    migrations.sort();
    migrations
}

/// The migration of that version.
fn known(migrations: &[refinery_core::Migration], version: i32) -> Result<&refinery_core::Migration> {
    migrations.iter().find(|migration| migration.version() == version).ok_or_else(|| {
        let message = format!("there is no migration {version}; `chokaq migrate status` lists them");
        Error::new(ErrorKind::InvalidArgument, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_dialects_embed_their_migrations() {
        for dialect in [Dialect::Mssql, Dialect::Postgres] {
            assert!(!embedded(dialect).is_empty());
        }
    }
}
