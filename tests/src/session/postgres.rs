//! A PostgreSQL session.

use std::error::Error;

use time::OffsetDateTime;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

use crate::error::SqlError;
use crate::names;
use crate::rows::Rows;
use crate::value::Value;

pub struct Session {
    client: Client,
}

impl Session {
    pub async fn connect(config: &Config) -> Result<Self, SqlError> {
        let (client, connection) = config.connect(NoTls).await?;
        tokio::spawn(connection);
        Ok(Self { client })
    }

    pub async fn query(&self, sql: &str, values: &[Value]) -> Result<Rows, SqlError> {
        let statement = self.client.prepare(sql).await?;
        let params: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        let rows = self.client.query(&statement, &params).await?;
        let columns = statement.columns().iter().map(|c| names::pascal_case(c.name())).collect();
        let values = rows.iter().map(read_row).collect::<Result<Vec<_>, _>>()?;
        Ok(Rows::new(columns, values))
    }

    /// The connection itself, for who brings his own calls.
    pub fn client(&self) -> &Client {
        &self.client
    }

    pub async fn batch(&self, sql: &str) -> Result<(), SqlError> {
        Ok(self.client.batch_execute(sql).await?)
    }

    pub async fn is_blocked(&self, pid: i64) -> Result<bool, SqlError> {
        let rows = self.query("SELECT cardinality(pg_blocking_pids($1)) > 0 AS blocked", &[pid.into()]).await?;
        Ok(rows.one()["Blocked"] == true)
    }

    /// A transaction's `now()` stands still; outside one a simple query starts its own.
    pub async fn transaction_count(&self) -> Result<i64, SqlError> {
        let messages = self.client.simple_query("SELECT (now() < statement_timestamp())::integer").await?;
        let count = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
            _ => None,
        });
        count.ok_or_else(|| SqlError::other("no row"))
    }
}

fn read_row(row: &tokio_postgres::Row) -> Result<Vec<Value>, SqlError> {
    (0..row.len())
        .map(|i| {
            let value = match *row.columns()[i].type_() {
                Type::BOOL => row.try_get::<_, Option<bool>>(i)?.into(),
                Type::INT2 => row.try_get::<_, Option<i16>>(i)?.map(i64::from).into(),
                Type::INT4 => row.try_get::<_, Option<i32>>(i)?.map(i64::from).into(),
                Type::INT8 => row.try_get::<_, Option<i64>>(i)?.into(),
                Type::FLOAT8 => row.try_get::<_, Option<f64>>(i)?.into(),
                Type::TIMESTAMPTZ => row.try_get::<_, Option<OffsetDateTime>>(i)?.into(),
                _ => row.try_get::<_, Option<String>>(i)?.into(),
            };
            Ok(value)
        })
        .collect()
}

impl ToSql for Value {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Bool(flag) => flag.to_sql(ty, out),
            Self::Int(number) => match *ty {
                Type::INT2 => i16::try_from(*number)?.to_sql(ty, out),
                Type::INT4 => i32::try_from(*number)?.to_sql(ty, out),
                Type::FLOAT8 => (*number as f64).to_sql(ty, out),
                _ => number.to_sql(ty, out),
            },
            Self::Float(number) => number.to_sql(ty, out),
            Self::Text(text) => text.to_sql(ty, out),
            Self::Time(time) => time.to_sql(ty, out),
            Self::Set(set) => set.to_sql(ty, out),
            Self::Json(json) => json.to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
