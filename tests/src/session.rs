//! One connection to either engine: calls by name, arranging SQL, transactions.

pub mod mssql;
pub mod postgres;

use std::fmt;

use crate::contract::{self, Kind};
use crate::error::SqlError;
use crate::names;
use crate::rows::{Row, Rows};
use crate::value::{Args, Value};

/// The two engines the kit is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Postgres,
    Mssql,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Postgres => "postgres",
            Self::Mssql => "mssql",
        })
    }
}

/// A connection and what it speaks.
pub enum Session {
    Postgres(postgres::Session),
    Mssql(mssql::Lease),
}

impl Session {
    pub fn engine(&self) -> Engine {
        match self {
            Self::Postgres(_) => Engine::Postgres,
            Self::Mssql(_) => Engine::Mssql,
        }
    }

    /// False on Babelfish: it takes lock hints and ignores them, so it neither skips a locked row nor locks what it reads.
    pub fn heeds_lock_hints(&self) -> bool {
        !self.is_babelfish()
    }

    /// False on Babelfish: there a procedure's caller needs rights of his own on all that it touches.
    pub fn chains_ownership(&self) -> bool {
        !self.is_babelfish()
    }

    pub fn is_babelfish(&self) -> bool {
        match self {
            Self::Postgres(_) => false,
            Self::Mssql(session) => session.is_babelfish(),
        }
    }

    /// The session over TDS itself.
    pub fn into_mssql(self) -> Option<mssql::Session> {
        match self {
            Self::Postgres(_) => None,
            Self::Mssql(lease) => lease.into_session(),
        }
    }

    /// Calls a public procedure with named arguments and checks that its result has exactly the contract's columns.
    pub async fn call(&mut self, procedure: &str, args: Args) -> Result<Rows, SqlError> {
        let contract = contract::procedure(procedure);
        let (named, values) = self.named_arguments(args);
        let result = match self {
            Self::Postgres(session) => {
                let verb = if contract.kind == Kind::Looping { "CALL" } else { "SELECT * FROM" };
                session.query(&format!("{verb} chokaq.{}({named})", names::snake_case(procedure)), &values).await
            }
            Self::Mssql(session) => session.query(&format!("EXECUTE chokaq.usp_{procedure} {named};"), &values).await,
        };
        let rows = result.map_err(|error| SqlError { procedure: Some(&contract.name), ..error })?;
        assert_eq!(*rows.columns, *contract.columns, "result columns of {procedure}");
        Ok(rows)
    }

    /// `p_job_id => $1` or `@JobId = @P1`, and the values that these stand for. A NULL is written out: over TDS an
    /// untyped one is not taken by every server.
    pub fn named_arguments(&self, args: Args) -> (String, Vec<Value>) {
        let mut values = Vec::new();
        let mut named = Vec::new();
        for (name, value) in args {
            let is_null = value == Value::Null;
            if !is_null {
                values.push(value);
            }
            let n = values.len();
            named.push(match (self.engine(), is_null) {
                (Engine::Postgres, false) => format!("p_{} => ${n}", names::snake_case(name)),
                (Engine::Postgres, true) => format!("p_{} => NULL", names::snake_case(name)),
                (Engine::Mssql, false) => format!("@{name} = @P{n}"),
                (Engine::Mssql, true) => format!("@{name} = NULL"),
            });
        }
        (named.join(", "), values)
    }

    /// A call whose result is one row.
    pub async fn call_one(&mut self, procedure: &str, args: Args) -> Result<Row, SqlError> {
        Ok(self.call(procedure, args).await?.one())
    }

    /// The Outcome of a call whose result is one row.
    pub async fn outcome(&mut self, procedure: &str, args: Args) -> Result<String, SqlError> {
        Ok(self.call_one(procedure, args).await?.text("Outcome"))
    }

    /// Arranging SQL, in the T-SQL spelling of names and with `@P1` for arguments.
    pub async fn sql(&mut self, sql: &str, values: &[Value]) -> Result<Rows, SqlError> {
        match self {
            Self::Postgres(session) => session.query(&names::to_postgres(sql), values).await,
            Self::Mssql(session) => session.query(sql, values).await,
        }
    }

    /// The single integer that a query answers.
    pub async fn count(&mut self, sql: &str, values: &[Value]) -> Result<i64, SqlError> {
        let rows = self.sql(sql, values).await?;
        let column = rows.columns[0].clone();
        Ok(rows.one().int(&column))
    }

    /// Empties every table of the kit but the lookup of failure reasons.
    pub async fn empty_tables(&mut self) -> Result<(), SqlError> {
        let sql = "SELECT TABLE_NAME AS Name FROM INFORMATION_SCHEMA.TABLES
            WHERE TABLE_SCHEMA = 'chokaq' AND TABLE_TYPE = 'BASE TABLE'";
        for table in self.sql(sql, &[]).await?.texts("Name") {
            if !["failure_reasons", "FailureReasons"].contains(&&*table) {
                self.batch(&format!("DELETE FROM chokaq.{table}"), &format!("DELETE FROM chokaq.{table}")).await?;
            }
        }
        Ok(())
    }

    /// The engine's own SQL, as it stands: one of the two texts.
    pub async fn batch(&mut self, postgres: &str, mssql: &str) -> Result<(), SqlError> {
        match self {
            Self::Postgres(session) => session.batch(postgres).await,
            Self::Mssql(session) => session.batch(mssql).await,
        }
    }

    pub async fn begin(&mut self) -> Result<(), SqlError> {
        self.batch("BEGIN", "BEGIN TRANSACTION").await
    }

    pub async fn commit(&mut self) -> Result<(), SqlError> {
        self.batch("COMMIT", "COMMIT TRANSACTION").await
    }

    /// Ends the transaction if an error has not ended it already.
    pub async fn rollback(&mut self) -> Result<(), SqlError> {
        self.batch("ROLLBACK", "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION").await
    }

    /// How many transactions are open in this session: 0 or 1.
    pub async fn transaction_count(&mut self) -> Result<i64, SqlError> {
        match self {
            Self::Postgres(session) => session.transaction_count().await,
            Self::Mssql(session) => Ok(session.query("SELECT Count = @@TRANCOUNT", &[]).await?.one().int("Count")),
        }
    }

    /// The number by which the server knows this session.
    pub async fn id(&mut self) -> Result<i64, SqlError> {
        let rows = match self {
            Self::Postgres(session) => session.query("SELECT pg_backend_pid() AS id", &[]).await?,
            Self::Mssql(session) => session.query("SELECT Id = CAST(@@SPID AS bigint)", &[]).await?,
        };
        Ok(rows.one().int("Id"))
    }

    /// True while the session of that number waits for a lock.
    pub async fn is_blocked(&mut self, id: i64) -> Result<bool, SqlError> {
        match self {
            Self::Postgres(session) => session.is_blocked(id).await,
            Self::Mssql(session) => session.is_blocked(id).await,
        }
    }

    /// The server's clock.
    pub async fn now(&mut self) -> Result<time::OffsetDateTime, SqlError> {
        let rows = match self {
            Self::Postgres(session) => session.query("SELECT clock_timestamp() AS now", &[]).await?,
            Self::Mssql(session) => session.query("SELECT Now = SYSUTCDATETIME()", &[]).await?,
        };
        Ok(rows.one().time("Now"))
    }
}
