//! SQL Server: connecting, and how a call is said there.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::{AsyncRead, AsyncWrite, TryStreamExt};
use tiberius::time::{Date, DateTime2, Time};
use tiberius::{ColumnData, Command, CommandItem, FromSql, SqlBrowser};
use time::macros::date;
use time::{OffsetDateTime, PrimitiveDateTime, UtcOffset};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

use crate::call::{Call, Connection};
use crate::error::{Error, ErrorKind, Result};
use crate::pool::Session;
use crate::value::{Argument, Row, Value, in_utc, pascal_case};

/// The driver's own connection.
pub(crate) type MssqlClient = tiberius::Client<Compat<TcpStream>>;

/// Calls over a connection of the caller, see [`on_mssql`](crate::on_mssql).
#[derive(Debug)]
pub struct OnMssql<'a, S: AsyncRead + AsyncWrite + Unpin + Send> {
    // A connection carries one request at a time.
    client: Mutex<&'a mut tiberius::Client<S>>,
}

impl<'a, S: AsyncRead + AsyncWrite + Unpin + Send> OnMssql<'a, S> {
    pub(crate) fn new(client: &'a mut tiberius::Client<S>) -> Self {
        Self { client: Mutex::new(client) }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Connection for OnMssql<'_, S> {
    async fn run(&self, call: Call<'_>) -> Result<Vec<Row>> {
        let mut client = self.client.lock().await;
        run(&mut client, &call).await
    }
}

/// Indexed views, filtered indexes and computed columns need exactly these; a login may have other defaults.
const SESSION: &str = "SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, \
                       QUOTED_IDENTIFIER ON; SET NUMERIC_ROUNDABORT OFF;";

/// Opens a connection and sets up its session.
pub(crate) async fn connect(config: &tiberius::Config) -> Result<MssqlClient> {
    let mut client = match login(config.clone()).await {
        // Azure's gateway names the node to talk to.
        Err(tiberius::error::Error::Routing { host, port }) => {
            let mut config = config.clone();
            config.host(host);
            config.port(port);
            login(config).await
        }
        other => other,
    }
    .map_err(from_connect)?;
    batch(&mut client, SESSION).await?;
    Ok(client)
}

async fn login(config: tiberius::Config) -> tiberius::Result<MssqlClient> {
    let stream = TcpStream::connect_named(&config).await?;
    stream.set_nodelay(true)?;
    tiberius::Client::connect(config, stream.compat_write()).await
}

/// A connection of the pool.
pub(crate) struct MssqlSession {
    client: MssqlClient,
    /// A call was sent and not answered to its end, or its session not tidied up.
    busy: bool,
}

impl Session for MssqlSession {
    type Target = tiberius::Config;

    async fn open(target: &tiberius::Config) -> Result<Self> {
        Ok(Self { client: connect(target).await?, busy: false })
    }

    async fn run(&mut self, call: &Call<'_>) -> Result<Vec<Row>> {
        self.busy = true;
        let outcome = run(&mut self.client, call).await;
        // An error may leave an answer half read, and a procedure that was stopped its transaction open.
        self.busy = match &outcome {
            Ok(_) => false,
            Err(error) if error.kind() == ErrorKind::Connection => true,
            Err(_) => batch(&mut self.client, "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;").await.is_err(),
        };
        outcome
    }

    async fn ping(&mut self) -> Result<()> {
        batch(&mut self.client, "SELECT 1;").await
    }

    async fn cancel(&mut self) {
        // If the server cannot be reached there is nothing left to end.
        let _ = self.client.cancel_query().await;
    }

    fn is_usable(&self) -> bool {
        !self.busy
    }
}

/// Runs one batch and reads its whole answer, so that no error in it is missed.
pub(crate) async fn batch(client: &mut MssqlClient, sql: &str) -> Result<()> {
    let stream = client.simple_query(sql).await.map_err(from_call)?;
    stream.into_results().await.map_err(from_call)?;
    Ok(())
}

/// Runs a call as a remote procedure call, and reads its whole answer.
pub(crate) async fn run<S>(client: &mut tiberius::Client<S>, call: &Call<'_>) -> Result<Vec<Row>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    read(client, call).await.map_err(|error| error.with_procedure(call.procedure.name))
}

async fn read<S>(client: &mut tiberius::Client<S>, call: &Call<'_>) -> Result<Vec<Row>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let arguments = storable(client, call).await?;
    let mut stream = command(call.procedure.name, &arguments)?.exec(client).await.map_err(from_call)?;
    let mut columns: Arc<[String]> = Arc::new([]);
    let mut rows = Vec::new();
    while let Some(item) = stream.try_next().await.map_err(from_call)? {
        match item {
            CommandItem::Metadata(metadata) => {
                columns = metadata.columns().iter().map(|column| column.name().to_owned()).collect();
                rows.clear();
            }
            CommandItem::Row(row) => {
                let values = row.into_iter().zip(columns.iter()).map(|(data, name)| read_value(data, name));
                rows.push(Row::new(Arc::clone(&columns), values.collect::<Result<_>>()?));
            }
            CommandItem::ReturnStatus(_) | CommandItem::ReturnValue(_) | CommandItem::RowsAffected(_) => {}
        }
    }
    Ok(rows)
}

/// The arguments as this server can store them: SQL Server takes U+0000, Babelfish keeps its text in PostgreSQL.
async fn storable<'a, S>(
    client: &mut tiberius::Client<S>,
    call: &'a Call<'_>,
) -> Result<Vec<(&'static str, Cow<'a, Argument<'a>>)>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let holds_nul = call.arguments.iter().any(|(_, argument)| argument.holds_nul());
    if !holds_nul || !is_babelfish(client).await? {
        return Ok(call.arguments.iter().map(|(name, argument)| (*name, Cow::Borrowed(argument))).collect());
    }
    let stored = |(name, argument): &'a (&'static str, Argument<'_>)| {
        Ok((*name, argument.for_postgres(|| format!("@{}", pascal_case(name)))?))
    };
    call.arguments.iter().map(stored).collect()
}

/// Whether the server is PostgreSQL behind a TDS listener.
pub(crate) async fn is_babelfish<S>(client: &mut tiberius::Client<S>) -> Result<bool>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let sql = "SELECT CONVERT(int, SERVERPROPERTY('Babelfish'));";
    let stream = client.simple_query(sql).await.map_err(from_call)?;
    let row = stream.into_row().await.map_err(from_call)?;
    let answer = row.map_or(Ok(None), |row| row.try_get::<i32, _>(0)).map_err(from_call)?;
    Ok(answer == Some(1))
}

fn command<'a>(procedure: &str, arguments: &'a [(&'static str, Cow<'_, Argument<'_>>)]) -> Result<Command<'a>> {
    let mut command = Command::new(format!("chokaq.usp_{}", pascal_case(procedure)));
    for (name, argument) in arguments {
        let name = format!("@{}", pascal_case(name));
        match &**argument {
            Argument::Text(Some(text)) | Argument::Evidence(Some(text)) => command.bind_param(name, &**text),
            // A NULL text is sent without a type, which not every server takes. NULL converts from any.
            Argument::Text(None) | Argument::Evidence(None) => command.bind_param(name, None::<i32>),
            Argument::Small(number) => command.bind_param(name, *number),
            Argument::Int(number) => command.bind_param(name, *number),
            Argument::Big(number) => command.bind_param(name, *number),
            // TDS has no NaN: the server would refuse the whole request and name nothing.
            Argument::Float(number) if !number.is_finite() => {
                let message = format!("{name} must be a finite number.");
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
            Argument::Float(number) => command.bind_param(name, *number),
            Argument::Flag(flag) => command.bind_param(name, *flag),
            Argument::Time(instant) => {
                let instant = datetime2(in_utc(*instant, &name)?);
                command.bind_param(name, instant);
            }
            Argument::Texts(texts) => command.bind_param(name, serde_json::Value::from(texts.clone()).to_string()),
            Argument::Json(json) => command.bind_param(name, &**json),
        }
    }
    Ok(command)
}

/// An instant from [`in_utc`] as `datetime2(7)`: days since the year 1, and tenths of a microsecond.
fn datetime2(utc: OffsetDateTime) -> ColumnData<'static> {
    let days = utc.date().to_julian_day() - date!(0001 - 01 - 01).to_julian_day();
    let (hour, minute, second, nanosecond) = utc.to_hms_nano();
    let seconds = (u64::from(hour) * 60 + u64::from(minute)) * 60 + u64::from(second);
    let time = Time::new(seconds * 10_000_000 + u64::from(nanosecond) / 100, 7);
    ColumnData::DateTime2(Some(DateTime2::new(Date::new(days.unsigned_abs()), time)))
}

fn read_value(data: ColumnData<'static>, column: &str) -> Result<Value> {
    let unreadable = || {
        let message = format!("column {column} is of a type that the contract does not know");
        Error::new(ErrorKind::SchemaMismatch, message)
    };
    let value = match data {
        ColumnData::String(text) => text.map(|text| Value::Text(text.into_owned())),
        ColumnData::U8(number) => number.map(|it| Value::Int(it.into())),
        ColumnData::I16(number) => number.map(|it| Value::Int(it.into())),
        ColumnData::I32(number) => number.map(|it| Value::Int(it.into())),
        ColumnData::I64(number) => number.map(Value::Int),
        ColumnData::F32(number) => number.map(|it| Value::Float(it.into())),
        ColumnData::F64(number) => number.map(Value::Float),
        ColumnData::Bit(flag) => flag.map(Value::Flag),
        ColumnData::DateTime2(_) | ColumnData::DateTime(_) | ColumnData::SmallDateTime(_) => {
            PrimitiveDateTime::from_sql(&data)
                .map_err(|error| unreadable().with_source(error))?
                .map(|instant| Value::Time(instant.assume_utc()))
        }
        ColumnData::DateTimeOffset(_) => OffsetDateTime::from_sql(&data)
            .map_err(|error| unreadable().with_source(error))?
            .map(|instant| instant.checked_to_offset(UtcOffset::UTC).map(Value::Time).ok_or_else(unreadable))
            .transpose()?,
        _ => return Err(unreadable()),
    };
    Ok(value.unwrap_or(Value::Null))
}

/// An error of a call; without an answer of the server the connection is gone.
pub(crate) fn from_call(error: tiberius::error::Error) -> Error {
    match &error {
        tiberius::error::Error::Server(answer) => {
            Error::new(kind_of(answer.code(), answer.class(), answer.message()), answer.message())
                .with_code(answer.code().to_string())
                .with_source(error)
        }
        _ => Error::new(ErrorKind::Connection, format!("the connection to the server was lost: {error}"))
            .with_source(error),
    }
}

fn from_connect(error: tiberius::error::Error) -> Error {
    let failed = |message: String| Error::new(ErrorKind::Connection, message);
    match &error {
        tiberius::error::Error::Server(answer) => {
            failed(format!("the server refused the connection: {}", answer.message()))
                .with_code(answer.code().to_string())
                .with_source(error)
        }
        // What follows there is advice in terms of another crate's methods.
        tiberius::error::Error::Tls(text) => {
            let cause = text.split(" To connect anyway").next().unwrap_or(text);
            failed(format!("cannot connect to the server: {cause}")).with_source(error)
        }
        _ => failed(format!("cannot connect to the server: {error}")).with_source(error),
    }
}

/// What Babelfish says for an error of PostgreSQL that has no number in T-SQL.
const BABELFISH_UNMAPPED: u32 = 33_557_097;

fn kind_of(number: u32, class: u8, message: &str) -> ErrorKind {
    match number {
        59001 => ErrorKind::InvalidArgument,
        59002 => ErrorKind::SchemaMismatch,
        59003 => ErrorKind::FilterRequired,
        59004 => ErrorKind::InvalidJson,
        59010 => ErrorKind::InTransaction,
        59090 => ErrorKind::InvariantBroken,
        1205 => ErrorKind::Deadlock,
        // A sweep's read without locks met a page that was moving; the statement did nothing.
        601 => ErrorKind::Serialization,
        1222 => ErrorKind::LockTimeout,
        3960 => ErrorKind::Serialization,
        229 | 230 => ErrorKind::PermissionDenied,
        // No such procedure, object or column; a parameter that is missing, unknown or one too many.
        2812 | 208 | 207 | 201 | 8144 | 8145 => ErrorKind::SchemaMismatch,
        BABELFISH_UNMAPPED => kind_of_words(message),
        // From 20 on the server ends the session.
        _ if class >= 20 => ErrorKind::Connection,
        _ => ErrorKind::Database,
    }
}

/// PostgreSQL's own words, in English as Babelfish has them unless told otherwise. Any other error may have changed something.
fn kind_of_words(message: &str) -> ErrorKind {
    if message.ends_with(" does not exist") {
        ErrorKind::SchemaMismatch
    } else if message.starts_with("permission denied ") {
        ErrorKind::PermissionDenied
    } else if message == "canceling statement due to lock timeout" {
        ErrorKind::LockTimeout
    } else if message.starts_with("could not serialize access due to ") {
        ErrorKind::Serialization
    } else {
        ErrorKind::Database
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn an_instant_comes_back_as_it_went_to_100_nanoseconds() {
        for (instant, expected) in [
            (datetime!(2026-01-31 08:00:00.1234567 UTC), datetime!(2026-01-31 08:00:00.1234567 UTC)),
            (datetime!(2026-01-31 23:30 -2), datetime!(2026-02-01 01:30 UTC)),
            (datetime!(0001-01-01 0:00 UTC), datetime!(0001-01-01 0:00 UTC)),
            (datetime!(9999-12-31 23:59:59.9999999 UTC), datetime!(9999-12-31 23:59:59.9999999 UTC)),
        ] {
            let sent = datetime2(in_utc(instant, "@FailedAtUtc").unwrap());
            assert_eq!(read_value(sent, "FailedAtUtc").unwrap(), Value::Time(expected));
        }
    }

    #[test]
    fn an_instant_beyond_datetime2_is_refused_by_name() {
        let arguments = [("older_than_utc", Cow::Owned(Argument::Time(datetime!(9999-12-31 23:59:59 -14))))];
        let error = command("purge_archive", &arguments).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("@OlderThanUtc"), "{error}");
    }

    #[test]
    fn a_number_that_tds_does_not_know_is_refused_by_name() {
        let arguments = [("backoff_multiplier", Cow::Owned(Argument::Float(f64::NAN)))];
        let error = command("set_queue_retry_policy", &arguments).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("@BackoffMultiplier"), "{error}");
    }

    #[test]
    fn every_code_of_the_contract_has_its_kind() {
        for (number, kind) in [
            (59001, ErrorKind::InvalidArgument),
            (59002, ErrorKind::SchemaMismatch),
            (59003, ErrorKind::FilterRequired),
            (59004, ErrorKind::InvalidJson),
            (59010, ErrorKind::InTransaction),
            (59090, ErrorKind::InvariantBroken),
            (1205, ErrorKind::Deadlock),
            (1222, ErrorKind::LockTimeout),
            (3960, ErrorKind::Serialization),
            (601, ErrorKind::Serialization),
            (2812, ErrorKind::SchemaMismatch),
            (229, ErrorKind::PermissionDenied),
            (2627, ErrorKind::Database),
        ] {
            assert_eq!(kind_of(number, 16, "told"), kind, "{number}");
        }
        assert_eq!(kind_of(596, 21, "told"), ErrorKind::Connection);
    }

    #[test]
    fn an_error_of_babelfish_without_a_number_is_known_by_its_words() {
        for (message, kind) in [
            ("procedure x() does not exist", ErrorKind::SchemaMismatch),
            ("permission denied for procedure x", ErrorKind::PermissionDenied),
            ("canceling statement due to lock timeout", ErrorKind::LockTimeout),
            ("could not serialize access due to concurrent update", ErrorKind::Serialization),
            ("could not serialize access due to concurrent delete", ErrorKind::Serialization),
            ("canceling statement due to statement timeout", ErrorKind::Database),
            ("told", ErrorKind::Database),
        ] {
            assert_eq!(kind_of(BABELFISH_UNMAPPED, 16, message), kind, "{message}");
            assert_eq!(kind_of(50_000, 16, message), ErrorKind::Database, "{message}, of another number");
        }
    }
}
