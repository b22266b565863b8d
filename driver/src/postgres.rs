//! PostgreSQL: connecting, and how a call is said there.

mod session;
mod statements;

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt::Write;
use std::sync::Arc;

use time::OffsetDateTime;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, GenericClient};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::call::{Call, Connection, Kind};
use crate::config::PostgresTarget;
use crate::error::{Error, ErrorKind, Result};
use crate::value::{Argument, Row, Value, pascal_case};

pub(crate) use session::PostgresSession;

/// Calls over a connection or a transaction of the caller, see [`on_postgres`](crate::on_postgres).
#[derive(Debug)]
pub struct OnPostgres<'a, T> {
    client: &'a T,
}

impl<'a, T> OnPostgres<'a, T> {
    pub(crate) fn new(client: &'a T) -> Self {
        Self { client }
    }
}

impl<T: GenericClient + Sync> Connection for OnPostgres<'_, T> {
    async fn run(&self, call: Call<'_>) -> Result<Vec<Row>> {
        run(self.client, &call).await
    }
}

/// Opens a connection; a task of its own moves its bytes until the client is dropped.
pub(crate) async fn connect(target: &PostgresTarget, tls: MakeRustlsConnect) -> Result<Client> {
    let (client, connection) = target.config.connect(tls).await.map_err(from_connect)?;
    // Its error reaches whoever waits for an answer.
    tokio::spawn(connection);
    Ok(client)
}

/// Runs a call in one round trip and leaves nothing in the session, so that any proxy may stand between.
pub(crate) async fn run<T: GenericClient + Sync>(client: &T, call: &Call<'_>) -> Result<Vec<Row>> {
    let arguments = storable(call)?;
    let rows = query(client, &statement(call), &arguments).await;
    read(call, rows.map_err(from_call), None)
}

async fn query<T: GenericClient + Sync>(
    client: &T,
    sql: &str,
    arguments: &[Cow<'_, Argument<'_>>],
) -> std::result::Result<Vec<tokio_postgres::Row>, tokio_postgres::Error> {
    let typed: Vec<(&(dyn ToSql + Sync), Type)> =
        arguments.iter().map(|argument| (&**argument as _, type_of(argument))).collect();
    client.query_typed(sql, &typed).await
}

/// The arguments as PostgreSQL can store them.
fn storable<'a>(call: &'a Call<'_>) -> Result<Vec<Cow<'a, Argument<'a>>>> {
    let stored = |(name, argument): &'a (&'static str, Argument<'_>)| argument.for_postgres(|| format!("p_{name}"));
    let arguments = call.arguments.iter().map(stored).collect::<Result<_>>();
    arguments.map_err(|error| error.with_procedure(call.procedure.name))
}

/// Reads the rows of an answer; the names of its columns are given when they are known already.
fn read(call: &Call<'_>, rows: Result<Vec<tokio_postgres::Row>>, columns: Option<Arc<[String]>>) -> Result<Vec<Row>> {
    let named = |error: Error| error.with_procedure(call.procedure.name);
    let rows = rows.map_err(named)?;
    let Some(first) = rows.first() else {
        return Ok(Vec::new());
    };
    let columns = columns.unwrap_or_else(|| names(first.columns()));
    let read = |row: &tokio_postgres::Row| {
        let values = (0..row.len()).map(|position| read_value(row, position)).collect::<Result<_>>()?;
        Ok(Row::new(Arc::clone(&columns), values))
    };
    rows.iter().map(read).collect::<Result<_>>().map_err(named)
}

/// The contract's names of these columns.
fn names(columns: &[tokio_postgres::Column]) -> Arc<[String]> {
    columns.iter().map(|column| pascal_case(column.name())).collect()
}

fn statement(call: &Call<'_>) -> String {
    let verb = match call.procedure.kind {
        Kind::Looping => "CALL",
        Kind::Joining | Kind::Reading => "SELECT * FROM",
    };
    let mut sql = format!("{verb} chokaq.{}(", call.procedure.name);
    for (position, (name, _)) in call.arguments.iter().enumerate() {
        let comma = if position == 0 { "" } else { ", " };
        // Writing to a string does not fail.
        let _ = write!(sql, "{comma}p_{name} => ${}", position + 1);
    }
    sql.push(')');
    sql
}

fn type_of(argument: &Argument<'_>) -> Type {
    match argument {
        Argument::Text(_) | Argument::Evidence(_) => Type::TEXT,
        Argument::Small(_) => Type::INT2,
        Argument::Int(_) => Type::INT4,
        Argument::Big(_) => Type::INT8,
        Argument::Float(_) => Type::FLOAT8,
        Argument::Flag(_) => Type::BOOL,
        Argument::Time(_) => Type::TIMESTAMPTZ,
        Argument::Texts(_) => Type::TEXT_ARRAY,
        Argument::Json(_) => Type::JSONB,
    }
}

impl ToSql for Argument<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Self::Text(text) | Self::Evidence(text) => text.as_deref().to_sql(ty, out),
            Self::Small(number) => number.to_sql(ty, out),
            Self::Int(number) => number.to_sql(ty, out),
            Self::Big(number) => number.to_sql(ty, out),
            Self::Float(number) => number.to_sql(ty, out),
            Self::Flag(flag) => flag.to_sql(ty, out),
            Self::Time(instant) => instant.to_sql(ty, out),
            Self::Texts(texts) => texts.to_sql(ty, out),
            Self::Json(json) => {
                // The binary form of jsonb is a version and the text.
                out.extend_from_slice(&[1]);
                out.extend_from_slice(json.as_bytes());
                Ok(IsNull::No)
            }
        }
    }

    /// The type is the argument's own, from [`type_of`].
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

fn read_value(row: &tokio_postgres::Row, position: usize) -> Result<Value> {
    let column = &row.columns()[position];
    let value = match *column.type_() {
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME => {
            row.try_get::<_, Option<String>>(position).map(|text| text.map(Value::Text))
        }
        Type::INT2 => row.try_get::<_, Option<i16>>(position).map(|number| number.map(|it| Value::Int(it.into()))),
        Type::INT4 => row.try_get::<_, Option<i32>>(position).map(|number| number.map(|it| Value::Int(it.into()))),
        Type::INT8 => row.try_get::<_, Option<i64>>(position).map(|number| number.map(Value::Int)),
        Type::FLOAT4 => row.try_get::<_, Option<f32>>(position).map(|number| number.map(|it| Value::Float(it.into()))),
        Type::FLOAT8 => row.try_get::<_, Option<f64>>(position).map(|number| number.map(Value::Float)),
        Type::BOOL => row.try_get::<_, Option<bool>>(position).map(|flag| flag.map(Value::Flag)),
        Type::TIMESTAMPTZ => row.try_get::<_, Option<OffsetDateTime>>(position).map(|instant| instant.map(Value::Time)),
        ref other => {
            let message = format!("column {} is of type {other}, which the contract does not know", column.name());
            return Err(Error::new(ErrorKind::SchemaMismatch, message));
        }
    };
    value.map(|value| value.unwrap_or(Value::Null)).map_err(|error| {
        let message = format!("column {} cannot be read", column.name());
        Error::new(ErrorKind::SchemaMismatch, message).with_source(error)
    })
}

/// An error of a call; without an answer of the server the connection is gone.
pub(crate) fn from_call(error: tokio_postgres::Error) -> Error {
    match error.as_db_error() {
        Some(answer) => {
            let kind = kind_of(answer.code());
            // The server itself tells only there where an argument's JSON breaks.
            let place = match answer.detail() {
                Some(detail) if kind == ErrorKind::InvalidJson => format!(": {detail}"),
                _ => String::new(),
            };
            Error::new(kind, format!("{}{place}", answer.message())).with_code(answer.code().code()).with_source(error)
        }
        None => Error::new(ErrorKind::Connection, "the connection to the server was lost").with_source(error),
    }
}

fn from_connect(error: tokio_postgres::Error) -> Error {
    match error.as_db_error() {
        Some(answer) => {
            let message = format!("the server refused the connection: {}", answer.message());
            Error::new(ErrorKind::Connection, message).with_code(answer.code().code()).with_source(error)
        }
        None => {
            let cause = StdError::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
            Error::new(ErrorKind::Connection, format!("cannot connect to the server: {error}{cause}"))
                .with_source(error)
        }
    }
}

fn kind_of(state: &SqlState) -> ErrorKind {
    match state.code() {
        "QC001" => ErrorKind::InvalidArgument,
        "QC002" => ErrorKind::SchemaMismatch,
        "QC003" => ErrorKind::FilterRequired,
        // The last two: the server reads a jsonb argument before the procedure can.
        "QC004" | "22P02" | "22P05" => ErrorKind::InvalidJson,
        "QC090" => ErrorKind::InvariantBroken,
        "2D000" => ErrorKind::InTransaction,
        "40P01" => ErrorKind::Deadlock,
        "55P03" => ErrorKind::LockTimeout,
        "40001" => ErrorKind::Serialization,
        "42501" => ErrorKind::PermissionDenied,
        // No such schema, function, table or column.
        "3F000" | "42883" | "42P01" | "42703" => ErrorKind::SchemaMismatch,
        // Cancelled, by an administrator or by the session's own statement_timeout.
        "57014" => ErrorKind::Timeout,
        // The server goes down, or has ended this session.
        "57P01" | "57P02" | "57P03" | "57P05" => ErrorKind::Connection,
        code if code.starts_with("08") => ErrorKind::Connection,
        _ => ErrorKind::Database,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::procedures;

    #[test]
    fn a_call_names_its_arguments_and_a_looping_one_is_a_procedure() {
        let call = Call::new(procedures::MARK_AS_PROCESSING).text("job_id", "a").text("worker_id", "w");
        assert_eq!(statement(&call), "SELECT * FROM chokaq.mark_as_processing(p_job_id => $1, p_worker_id => $2)");
        let call = Call::new(procedures::RECOVER_ABANDONED);
        assert_eq!(statement(&call), "CALL chokaq.recover_abandoned()");
    }

    #[test]
    fn every_code_of_the_contract_has_its_kind() {
        for (code, kind) in [
            ("QC001", ErrorKind::InvalidArgument),
            ("QC002", ErrorKind::SchemaMismatch),
            ("QC003", ErrorKind::FilterRequired),
            ("QC004", ErrorKind::InvalidJson),
            ("QC090", ErrorKind::InvariantBroken),
            ("2D000", ErrorKind::InTransaction),
            ("40P01", ErrorKind::Deadlock),
            ("55P03", ErrorKind::LockTimeout),
            ("40001", ErrorKind::Serialization),
            ("42883", ErrorKind::SchemaMismatch),
            ("42501", ErrorKind::PermissionDenied),
            ("08006", ErrorKind::Connection),
            ("57P01", ErrorKind::Connection),
            ("23505", ErrorKind::Database),
        ] {
            assert_eq!(kind_of(&SqlState::from_code(code)), kind, "{code}");
        }
    }
}
