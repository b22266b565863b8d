//! What is deployed against what this version ships: `migrate verify`.
//!
//! The texts of procedures, functions and the T-SQL view are compared with the migrations of this program. Everything
//! else is compared with a list of facts, `postgres/shipped.txt` and `mssql/shipped.txt`, that the same queries made from
//! a database that had just been deployed.

mod compare;
mod facts;
mod mssql;
mod normal;
mod postgres;
mod texts;

use std::fmt;

use serde::Serialize;

use super::{Deploy, MigrationState};
use crate::config::Target;
use crate::error::{ErrorKind, Result};
use compare::compare;
use facts::Facts;
use texts::Texts;

/// The answer of [`Deploy::verify`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// How many objects, rights and migrations of this version were looked for.
    pub compared: usize,
    /// What differs; nothing when the database is as this version ships it.
    pub drift: Vec<Drift>,
}

/// Something that is not as this version ships it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
#[non_exhaustive]
pub struct Drift {
    /// What it is: `procedure`, `index`, `grant`, `migration`.
    pub kind: String,
    /// Its name; of what belongs to a table, with the table before it.
    pub object: String,
    /// In which way it differs.
    pub drift: DriftKind,
    /// What differs, in words.
    pub detail: String,
    /// What this version ships, where there is a text of it.
    pub shipped: Option<String>,
    /// What the database has, where there is a text of it.
    pub deployed: Option<String>,
}

/// In which way something differs from what this version ships.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DriftKind {
    /// It is there and is another one: somebody changed it by hand.
    Changed,
    /// It is not there.
    Missing,
    /// It is in schema `chokaq` and is not the kit's, or is a right that the kit does not give.
    Extra,
    /// The database has not got this migration yet.
    Older,
    /// The database has a migration that this program does not know: a newer one deployed to it.
    Newer,
    /// It cannot be told: its text is encrypted, or the login may not read it.
    Unreadable,
}

impl fmt::Display for DriftKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Changed => "changed",
            Self::Missing => "missing",
            Self::Extra => "extra",
            Self::Older => "older",
            Self::Newer => "newer",
            Self::Unreadable => "unreadable",
        })
    }
}

impl Drift {
    fn new(kind: &str, object: &str, drift: DriftKind, detail: impl Into<String>) -> Self {
        let (kind, object) = (kind.to_owned(), object.to_owned());
        Self { kind, object, drift, detail: detail.into(), shipped: None, deployed: None }
    }
}

impl Deploy {
    /// Compares everything that is deployed with what this version ships, and changes nothing. It needs the right to read
    /// the catalog (`VIEW DEFINITION` on the database in SQL Server, nothing in PostgreSQL) and the deployment's history.
    ///
    /// # Errors
    /// [`PermissionDenied`](crate::ErrorKind::PermissionDenied) when the login does not see the catalog,
    /// [`Connection`](crate::ErrorKind::Connection).
    pub async fn verify(&self) -> Result<Verification> {
        let (shipped, texts) = self.shipped()?;
        let (found, found_texts) = self.deployed().await?;
        if !found.holds_schema() {
            let detail = "nothing is deployed in this database";
            let drift = vec![Drift::new("schema", "chokaq", DriftKind::Missing, detail)];
            return Ok(Verification { compared: 1, drift });
        }
        let (migrations, mut drift) = self.history().await?;
        drift.extend(compare(&shipped, &texts, &found, &found_texts));
        Ok(Verification { compared: migrations + shipped.len(), drift })
    }

    /// The list of facts as this database would have it, to be committed: the suite compares it with the list that this
    /// program holds. What this server cannot tell is taken from the latter.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    #[doc(hidden)]
    pub async fn facts(&self) -> Result<String> {
        let (shipped, _) = self.shipped()?;
        let (found, _) = self.deployed().await?;
        Ok(found.completed_from(&shipped).to_string())
    }

    fn shipped(&self) -> Result<(Facts, Texts)> {
        match &self.config.target {
            Target::Mssql(_) => {
                let texts = texts::mssql(super::mssql::embedded().get_migrations())?;
                Ok((Facts::parse(mssql::SHIPPED), texts))
            }
            Target::Postgres(_) => {
                let texts = texts::postgres(super::postgres::embedded().get_migrations())?;
                Ok((Facts::parse(postgres::SHIPPED), texts))
            }
        }
    }

    async fn deployed(&self) -> Result<(Facts, Texts)> {
        match &self.config.target {
            Target::Mssql(target) => mssql::deployed(target, super::mssql::embedded().get_migrations()).await,
            Target::Postgres(target) => postgres::deployed(target).await,
        }
    }

    /// How many migrations there are, and which of them are not applied as they are here.
    async fn history(&self) -> Result<(usize, Vec<Drift>)> {
        let migrations = match self.status().await {
            Ok(migrations) => migrations,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                let detail = format!("the login may not SELECT from it: {error}");
                return Ok((0, vec![Drift::new("table", "chokaq_schema_history", DriftKind::Unreadable, detail)]));
            }
            Err(error) => return Err(error),
        };
        let drift = migrations.iter().filter_map(|migration| {
            let (drift, detail) = match migration.state {
                MigrationState::Applied => return None,
                MigrationState::Pending => (DriftKind::Older, "not applied yet"),
                MigrationState::Unknown => {
                    (DriftKind::Newer, "a newer program has applied it; this one does not know it")
                }
                MigrationState::Changed => (DriftKind::Changed, "applied with another text than this program has"),
                MigrationState::Skipped => (DriftKind::Missing, "never applied, though later ones are"),
            };
            let name = format!("V{:04}__{}", migration.version, migration.name);
            Some(Drift::new("migration", &name, drift, detail))
        });
        Ok((migrations.len(), drift.collect()))
    }
}
