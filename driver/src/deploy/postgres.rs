//! Deployment to PostgreSQL.

use refinery_core::traits::r#async::{AsyncQuery, AsyncTransaction};
use refinery_core::{AsyncMigrate, Runner};
use tokio_postgres::Client;

use super::{Migration, from_refinery, migrate, recorded};
use crate::config::PostgresTarget;
use crate::error::{Error, Result};
use crate::postgres::{PostgresSession, connect, from_call};

mod kit {
    refinery::embed_migrations!("../migrations/postgres");
}

pub(super) const HISTORY: &str = "public.chokaq_schema_history";

/// The letters `chokaq`; an advisory lock has a number for a name.
const LOCK: i64 = i64::from_be_bytes(*b"\0\0chokaq");

/// The kit's own migrations.
pub(super) fn embedded() -> Runner {
    kit::migrations::runner()
}

pub(super) async fn up(target: &PostgresTarget, runner: &Runner) -> Result<Vec<Migration>> {
    let mut database = Database::open(target).await?;
    database.client.execute("SELECT pg_advisory_lock($1)", &[&LOCK]).await.map_err(from_call)?;
    let outcome = migrate(runner, &mut database).await;
    // Should this fail, the end of the session frees it.
    let _ = database.client.execute("SELECT pg_advisory_unlock($1)", &[&LOCK]).await;
    outcome
}

pub(super) async fn applied(target: &PostgresTarget, runner: &Runner) -> Result<Vec<refinery_core::Migration>> {
    let mut database = Database::open(target).await?;
    let sql = "SELECT to_regclass($1) IS NOT NULL";
    let exists = database.client.query_one(sql, &[&HISTORY]).await.map_err(from_call)?;
    if !exists.try_get(0).map_err(from_call)? {
        return Ok(Vec::new());
    }
    runner.get_applied_migrations_async(&mut database).await.map_err(from_refinery)
}

/// A connection as refinery wants it. (Its own one panics when the history is not as it left it.)
struct Database {
    client: Client,
}

impl Database {
    async fn open(target: &PostgresTarget) -> Result<Self> {
        let (target, tls) = PostgresSession::target(target)?;
        Ok(Self { client: connect(&target, tls).await? })
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

impl AsyncMigrate for Database {}
