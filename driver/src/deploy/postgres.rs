//! Deployment to PostgreSQL.

use std::time::Duration;

use refinery_core::traits::r#async::{AsyncQuery, AsyncTransaction};
use refinery_core::{AsyncMigrate, Runner};
use tokio_postgres::Client;

use super::history::recorded;
use super::run::Session;
use crate::config::PostgresTarget;
use crate::error::{Error, ErrorKind, Result};
use crate::postgres::{connect, from_call};
use crate::tls;

mod kit {
    refinery::embed_migrations!("../migrations/postgres");
}

pub(super) const HISTORY: &str = "public.chokaq_schema_history";

/// The letters `chokaq`; an advisory lock has a number for a name.
pub(super) const LOCK: i64 = i64::from_be_bytes(*b"\0\0chokaq");

const RIGHTS: &str = include_str!("rights_postgres.sql");

/// The version of the extension that schema chokaq is a member of.
const EXTENSION: &str = "SELECT e.extversion FROM pg_catalog.pg_depend AS d
    INNER JOIN pg_catalog.pg_extension AS e ON e.oid = d.refobjid
    WHERE d.classid = 'pg_catalog.pg_namespace'::pg_catalog.regclass
        AND d.objid = pg_catalog.to_regnamespace('chokaq')
        AND d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.deptype = 'e'";

/// The kit's own migrations.
pub(super) fn embedded() -> Runner {
    kit::migrations::runner()
}

/// A connection as refinery wants it. (Its own one panics when the history is not as it left it.)
pub(super) struct Database {
    client: Client,
}

impl Database {
    pub(super) async fn open(target: &PostgresTarget) -> Result<Self> {
        let tls = tls::connector(target)?;
        Ok(Self { client: connect(target, tls).await? })
    }
}

impl Session for Database {
    async fn database(&mut self) -> Result<String> {
        let row = self.client.query_one("SELECT current_database()::text", &[]).await.map_err(from_call)?;
        row.try_get(0).map_err(from_call)
    }

    async fn has_history(&mut self) -> Result<bool> {
        let row = self.client.query_one("SELECT to_regclass($1) IS NOT NULL", &[&HISTORY]).await.map_err(from_call)?;
        row.try_get(0).map_err(from_call)
    }

    async fn lock(&mut self, limit: Option<Duration>) -> Result<bool> {
        if limit == Some(Duration::ZERO) {
            let row = self.client.query_one("SELECT pg_try_advisory_lock($1)", &[&LOCK]).await.map_err(from_call)?;
            return row.try_get(0).map_err(from_call);
        }
        // To the server 0 is no limit.
        let limit = limit.map_or(0, |limit| i32::try_from(limit.as_millis()).unwrap_or(i32::MAX).max(1));
        let wait = format!("SET lock_timeout = {limit}; SELECT pg_advisory_lock({LOCK}); RESET lock_timeout;");
        match self.client.batch_execute(&wait).await.map_err(from_call) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::LockTimeout => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn unlock(&mut self) {
        let _ = self.client.execute("SELECT pg_advisory_unlock($1)", &[&LOCK]).await;
    }

    async fn missing_rights(&mut self) -> Result<Vec<String>> {
        let rows = self.client.query(RIGHTS, &[]).await.map_err(from_call)?;
        rows.iter().map(|row| row.try_get(0).map_err(from_call)).collect()
    }

    async fn extension(&mut self) -> Result<Option<String>> {
        let row = self.client.query_opt(EXTENSION, &[]).await.map_err(from_call)?;
        row.map(|row| row.try_get(0).map_err(from_call)).transpose()
    }
}

impl AsyncTransaction for Database {
    type Error = Error;

    async fn execute<'a, T: Iterator<Item = &'a str> + Send + 'a>(&'a mut self, queries: T) -> Result<usize> {
        let transaction = self.client.transaction().await.map_err(from_call)?;
        let mut count = 0;
        for query in queries {
            transaction.batch_execute(query).await.map_err(from_call)?;
            count += 1;
        }
        transaction.commit().await.map_err(from_call)?;
        Ok(count)
    }
}

impl AsyncQuery<Vec<refinery_core::Migration>> for Database {
    async fn query(&mut self, query: &str) -> Result<Vec<refinery_core::Migration>> {
        let rows = self.client.query(query, &[]).await.map_err(from_call)?;
        rows.iter().map(read_migration).collect()
    }
}

fn read_migration(row: &tokio_postgres::Row) -> Result<refinery_core::Migration> {
    let text = |column: &str| row.try_get::<_, &str>(column);
    let columns = (|| Ok((row.try_get("version")?, text("name")?, text("applied_on")?, text("checksum")?)))();
    let (version, name, applied_on, checksum) = columns.map_err(from_call)?;
    recorded(version, name, applied_on, checksum)
}

impl AsyncMigrate for Database {
    /// refinery's own statement wants CREATE on the schema even where the table is there.
    fn assert_migrations_table_query(table: &str) -> String {
        format!(
            "DO $$
            BEGIN
                IF to_regclass('{table}') IS NULL THEN
                    CREATE TABLE {table} (
                        version int4 PRIMARY KEY,
                        name varchar(255),
                        applied_on varchar(255),
                        checksum varchar(255)
                    );
                END IF;
            END;
            $$;"
        )
    }
}

/// The statement that makes the history of migrations unless it is there.
pub(super) fn history_table(table: &str) -> String {
    Database::assert_migrations_table_query(table)
}
