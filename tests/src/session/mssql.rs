//! A session over TDS.

use futures_util::TryStreamExt;
use tiberius::{ColumnData, FromSql, Query, QueryItem, ToSql};
use time::PrimitiveDateTime;
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

use crate::error::SqlError;
use crate::rows::Rows;
use crate::value::Value;

pub struct Session {
    client: tiberius::Client<Compat<TcpStream>>,
}

impl Session {
    pub async fn connect(config: tiberius::Config) -> Result<Self, SqlError> {
        let tcp = TcpStream::connect(config.get_addr()).await.map_err(SqlError::other)?;
        tcp.set_nodelay(true).map_err(SqlError::other)?;
        let client = tiberius::Client::connect(config, tcp.compat_write()).await?;
        Ok(Self { client })
    }

    /// One statement with arguments; it must answer with at most one result set.
    pub async fn query(&mut self, sql: &str, values: &[Value]) -> Result<Rows, SqlError> {
        let mut query = Query::new(sql);
        for value in values {
            match value {
                Value::Null => query.bind(Option::<String>::None),
                Value::Bool(flag) => query.bind(*flag),
                Value::Int(number) => query.bind(*number),
                Value::Float(number) => query.bind(*number),
                Value::Text(text) => query.bind(text.clone()),
                Value::Time(time) => {
                    let utc = time.to_offset(time::UtcOffset::UTC);
                    query.bind(owned(&PrimitiveDateTime::new(utc.date(), utc.time())));
                }
                Value::Set(set) => query.bind(serde_json::json!(set).to_string()),
                Value::Json(json) => query.bind(json.to_string()),
            }
        }
        let mut stream = query.query(&mut self.client).await?;
        let mut columns: Option<Vec<String>> = None;
        let mut rows = Vec::new();
        while let Some(item) = stream.try_next().await? {
            match item {
                QueryItem::Metadata(meta) => {
                    assert!(columns.is_none(), "more than one result set: {sql}");
                    columns = Some(meta.columns().iter().map(|c| c.name().to_owned()).collect());
                }
                QueryItem::Row(row) => rows.push(row.into_iter().map(read_value).collect::<Result<Vec<_>, _>>()?),
            }
        }
        Ok(Rows::new(columns.unwrap_or_default(), rows))
    }

    pub async fn is_blocked(&mut self, spid: i64) -> Result<bool, SqlError> {
        let sql = "SELECT N = COUNT(*) FROM sys.dm_exec_requests AS r
            WHERE r.session_id = @P1 AND r.blocking_session_id <> 0";
        Ok(self.query(sql, &[spid.into()]).await?.one().int("N") > 0)
    }

    /// A batch as it stands, without arguments: transactions and DDL.
    pub async fn batch(&mut self, sql: &str) -> Result<(), SqlError> {
        self.client.simple_query(sql).await?.into_results().await?;
        Ok(())
    }
}

/// A `datetime2` has no by-value conversion of its own; it borrows nothing, so this is one.
fn owned(time: &PrimitiveDateTime) -> ColumnData<'static> {
    match time.to_sql() {
        ColumnData::DateTime2(time) => ColumnData::DateTime2(time),
        other => unreachable!("a time is sent as datetime2, not as {other:?}"),
    }
}

fn read_value(data: ColumnData<'static>) -> Result<Value, SqlError> {
    Ok(match data {
        ColumnData::Bit(flag) => flag.into(),
        ColumnData::U8(number) => number.map(i64::from).into(),
        ColumnData::I16(number) => number.map(i64::from).into(),
        ColumnData::I32(number) => number.map(i64::from).into(),
        ColumnData::I64(number) => number.into(),
        ColumnData::F64(number) => number.into(),
        ColumnData::String(text) => text.map(|text| text.into_owned()).into(),
        ColumnData::DateTime2(_) => {
            PrimitiveDateTime::from_sql(&data)?.map(PrimitiveDateTime::assume_utc).into()
        }
        other => return Err(SqlError::other(format!("no value is made of {other:?}"))),
    })
}
