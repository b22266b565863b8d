//! Deployment to SQL Server: refinery over this crate's own connection, which reads every answer to its end. An error
//! late in a migration would be lost otherwise, and the migration recorded as applied.

use std::time::Duration;

use refinery_core::traits::r#async::{AsyncQuery, AsyncTransaction};
use refinery_core::{AsyncMigrate, Runner};

use super::babelfish::CreateOrAlter;
use super::history::recorded;
use super::run::Session;
use crate::error::{Error, ErrorKind, Result};
use crate::mssql::{MssqlClient, batch, connect, from_call, is_babelfish};

mod kit {
    refinery::embed_migrations!("../migrations/mssql");
}

pub(super) const HISTORY: &str = "dbo.chokaq_schema_history";

/// The name of the lock that a deployment holds.
pub(super) const LOCK: &str = "chokaq_schema_history";

const RIGHTS: &str = include_str!("rights_mssql.sql");

/// The kit's own migrations.
pub(super) fn embedded() -> Runner {
    kit::migrations::runner()
}

/// A connection as refinery wants it.
pub(super) struct Database {
    client: MssqlClient,
    is_babelfish: bool,
}

impl Database {
    pub(super) async fn open(target: &tiberius::Config) -> Result<Self> {
        let mut client = connect(target).await?;
        batch(&mut client, "SET XACT_ABORT ON;").await?;
        let is_babelfish = is_babelfish(&mut client).await?;
        Ok(Self { client, is_babelfish })
    }

    async fn apply<'a>(&mut self, queries: impl Iterator<Item = &'a str> + Send) -> Result<usize> {
        let mut count = 0;
        for query in queries {
            match CreateOrAlter::read(query)? {
                Some(statement) if self.is_babelfish => self.create_or_alter(&statement).await?,
                _ => batch(&mut self.client, query).await?,
            }
            count += 1;
        }
        Ok(count)
    }

    async fn create_or_alter(&mut self, statement: &CreateOrAlter<'_>) -> Result<()> {
        let exists = self.object_exists(&statement.name).await?;
        for sql in statement.batches(exists) {
            batch(&mut self.client, &sql).await?;
        }
        Ok(())
    }

    async fn object_exists(&mut self, name: &str) -> Result<bool> {
        let stream = self.client.simple_query(format!("SELECT OBJECT_ID(N'{name}');")).await.map_err(from_call)?;
        let row = stream.into_row().await.map_err(from_call)?;
        let id: Option<i32> = row.map_or(Ok(None), |row| row.try_get(0)).map_err(from_call)?;
        Ok(id.is_some())
    }
}

impl Session for Database {
    async fn database(&mut self) -> Result<String> {
        let stream = self.client.simple_query("SELECT DB_NAME();").await.map_err(from_call)?;
        let row = stream.into_row().await.map_err(from_call)?;
        let name: Option<&str> = row.as_ref().map_or(Ok(None), |row| row.try_get(0)).map_err(from_call)?;
        Ok(name.unwrap_or_default().to_owned())
    }

    async fn has_history(&mut self) -> Result<bool> {
        self.object_exists(HISTORY).await
    }

    async fn lock(&mut self, limit: Option<Duration>) -> Result<bool> {
        let limit_ms = limit.map_or(-1, |limit| i32::try_from(limit.as_millis()).unwrap_or(i32::MAX));
        let sql = format!(
            "DECLARE @Result int;
            EXECUTE @Result = sp_getapplock
                @Resource = N'{LOCK}', @LockMode = 'Exclusive', @LockOwner = 'Session', @LockTimeout = {limit_ms};
            SELECT @Result;"
        );
        let stream = self.client.simple_query(sql).await.map_err(from_call)?;
        let row = stream.into_row().await.map_err(from_call)?;
        let answer: Option<i32> = row.map_or(Ok(None), |row| row.try_get(0)).map_err(from_call)?;
        // 0, or 1 for one that had to wait. When the time is over it is -1, but for Babelfish, which has another number.
        match (answer, limit) {
            (Some(0 | 1), _) => Ok(true),
            (_, Some(_)) => Ok(false),
            (_, None) => Err(Error::new(ErrorKind::Deployment, "the lock of the deployment cannot be taken")),
        }
    }

    async fn unlock(&mut self) {
        let sql = format!("EXECUTE sp_releaseapplock @Resource = N'{LOCK}', @LockOwner = 'Session';");
        let _ = batch(&mut self.client, &sql).await;
    }

    async fn missing_rights(&mut self) -> Result<Vec<String>> {
        let stream = self.client.simple_query(RIGHTS).await.map_err(from_call)?;
        let rows = stream.into_first_result().await.map_err(from_call)?;
        let missing = rows.iter().map(|row| row.try_get::<&str, _>(0).map_err(from_call));
        missing.map(|right| Ok(right?.unwrap_or_default().to_owned())).collect()
    }
}

impl AsyncTransaction for Database {
    type Error = Error;

    async fn execute<'a, T: Iterator<Item = &'a str> + Send + 'a>(&'a mut self, queries: T) -> Result<usize> {
        batch(&mut self.client, "BEGIN TRANSACTION;").await?;
        match self.apply(queries).await {
            Ok(count) => {
                batch(&mut self.client, "COMMIT TRANSACTION;").await?;
                Ok(count)
            }
            Err(error) => {
                // The error that stopped the migration is the one to tell.
                let _ = batch(&mut self.client, "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;").await;
                Err(error)
            }
        }
    }
}

impl AsyncQuery<Vec<refinery_core::Migration>> for Database {
    async fn query(&mut self, query: &str) -> Result<Vec<refinery_core::Migration>> {
        let stream = self.client.simple_query(query).await.map_err(from_call)?;
        let rows = stream.into_first_result().await.map_err(from_call)?;
        rows.iter().map(read_migration).collect()
    }
}

fn read_migration(row: &tiberius::Row) -> Result<refinery_core::Migration> {
    let text = |column: &str| Ok(row.try_get::<&str, _>(column).map_err(from_call)?.unwrap_or_default());
    let version = row.try_get("version").map_err(from_call)?.unwrap_or_default();
    recorded(version, text("name")?, text("applied_on")?, text("checksum")?)
}

impl AsyncMigrate for Database {
    fn assert_migrations_table_query(table: &str) -> String {
        history_table(table)
    }
}

/// The statement that makes the history of migrations unless it is there.
pub(super) fn history_table(table: &str) -> String {
    format!(
        "IF OBJECT_ID(N'{table}', N'U') IS NULL
        CREATE TABLE {table} (
            version int NOT NULL PRIMARY KEY,
            name nvarchar(255) NOT NULL,
            applied_on nvarchar(255) NOT NULL,
            checksum nvarchar(255) NOT NULL
        );"
    )
}
