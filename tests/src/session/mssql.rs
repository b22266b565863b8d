//! A session over TDS.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

use futures_util::TryStreamExt;
use tiberius::{ColumnData, FromSql, Query, QueryItem, ToSql};
use time::PrimitiveDateTime;
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

use crate::error::SqlError;
use crate::rows::Rows;
use crate::value::Value;

pub struct Session {
    client: Box<tiberius::Client<Compat<TcpStream>>>,
    is_babelfish: bool,
}

/// Where the sessions of a case go when it lets go of them.
pub type Home = Rc<RefCell<Vec<Session>>>;

/// A session that goes home when it is dropped, if it has one.
pub struct Lease {
    session: Option<Session>,
    home: Option<Home>,
}

impl Lease {
    pub fn of(session: Session, home: Option<Home>) -> Self {
        Self { session: Some(session), home }
    }

    pub fn into_session(mut self) -> Option<Session> {
        self.session.take()
    }
}

impl Deref for Lease {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.session.as_ref().expect("a lease holds its session until it ends")
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Session {
        self.session.as_mut().expect("a lease holds its session until it ends")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let (Some(session), Some(home)) = (self.session.take(), &self.home) {
            home.borrow_mut().push(session);
        }
    }
}

impl Session {
    pub async fn connect(config: tiberius::Config) -> Result<Self, SqlError> {
        let tcp = TcpStream::connect(config.get_addr()).await.map_err(SqlError::other)?;
        tcp.set_nodelay(true).map_err(SqlError::other)?;
        let client = Box::new(tiberius::Client::connect(config, tcp.compat_write()).await?);
        let mut session = Self { client, is_babelfish: false };
        let answer = session.query("SELECT CAST(SERVERPROPERTY('Babelfish') AS int) AS Babelfish", &[]).await?;
        session.is_babelfish = answer.one()["Babelfish"] == 1;
        Ok(session)
    }

    /// One statement with arguments; it must answer with at most one result set.
    pub async fn query(&mut self, sql: &str, values: &[Value]) -> Result<Rows, SqlError> {
        let mut query = Query::new(sql);
        for value in values {
            match value {
                Value::Null => return Err(SqlError::other("a NULL is written into the statement")),
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

    /// The connection itself, for who brings his own calls.
    pub fn client(&mut self) -> &mut tiberius::Client<Compat<TcpStream>> {
        &mut self.client
    }

    /// True on a server that takes lock hints and ignores them.
    pub fn is_babelfish(&self) -> bool {
        self.is_babelfish
    }

    pub async fn is_blocked(&mut self, spid: i64) -> Result<bool, SqlError> {
        let sql = if self.is_babelfish {
            "SELECT COUNT(*) AS N FROM pg_catalog.pg_stat_activity AS a WHERE a.pid = @P1 AND a.wait_event_type = 'Lock'"
        } else {
            "SELECT COUNT(*) AS N FROM sys.dm_exec_requests AS r WHERE r.session_id = @P1 AND r.blocking_session_id <> 0"
        };
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
        ColumnData::DateTime2(_) => PrimitiveDateTime::from_sql(&data)?.map(PrimitiveDateTime::assume_utc).into(),
        other => return Err(SqlError::other(format!("no value is made of {other:?}"))),
    })
}
