//! What goes into a procedure and what comes out, in one form for both engines.

use std::borrow::Cow;
use std::sync::Arc;

use time::{OffsetDateTime, UtcOffset};

use crate::error::{Error, ErrorKind, Result};

/// An argument of a call, typed as the procedure's parameter is.
#[derive(Debug, Clone)]
pub enum Argument<'a> {
    /// Text; U+0000 in it is refused where the engine cannot store it.
    Text(Option<Cow<'a, str>>),
    /// Text that must be recorded whatever it holds: U+0000 becomes U+FFFD where the engine cannot store it.
    Evidence(Option<Cow<'a, str>>),
    /// `smallint`; T-SQL's `tinyint` takes it too.
    Small(i16),
    /// `int`.
    Int(Option<i32>),
    /// `bigint`.
    Big(i64),
    /// `float`.
    Float(f64),
    /// `bit`, `boolean`.
    Flag(bool),
    /// An instant: `datetime2(7)` in UTC, `timestamptz`.
    Time(OffsetDateTime),
    /// A set of texts: a JSON array in T-SQL, `text[]` in PostgreSQL.
    Texts(Vec<&'a str>),
    /// JSON text: `nvarchar(max)`, `jsonb`.
    Json(Cow<'a, str>),
}

impl<'a> Argument<'a> {
    /// Whether U+0000 is in it.
    pub fn holds_nul(&self) -> bool {
        match self {
            Self::Text(Some(text)) | Self::Evidence(Some(text)) => text.contains('\0'),
            Self::Texts(texts) => texts.iter().any(|text| text.contains('\0')),
            Self::Json(json) => escapes_nul(json),
            _ => false,
        }
    }

    /// The argument for PostgreSQL, which cannot store U+0000. A failure is recorded all the same; anything else would
    /// not be kept to the letter, and is refused by the parameter's name.
    pub fn for_postgres(&'a self, parameter: impl FnOnce() -> String) -> Result<Cow<'a, Self>> {
        match self {
            Self::Time(instant) => Ok(Cow::Owned(Self::Time(in_utc(*instant, &parameter())?))),
            argument if !argument.holds_nul() => Ok(Cow::Borrowed(argument)),
            Self::Evidence(Some(text)) => Ok(Cow::Owned(Self::Evidence(Some(text.replace('\0', "\u{FFFD}").into())))),
            _ => {
                let parameter = parameter();
                let message = format!("{parameter} must not hold the character U+0000, which PostgreSQL cannot store.");
                Err(Error::new(ErrorKind::InvalidArgument, message))
            }
        }
    }
}

/// An instant in UTC, in the years that both engines and their callers know. (Shifting an instant at the end of the
/// calendar to UTC may leave it.)
pub fn in_utc(instant: OffsetDateTime, parameter: &str) -> Result<OffsetDateTime> {
    let utc = instant.checked_to_offset(UtcOffset::UTC).filter(|utc| (1..=9999).contains(&utc.year()));
    utc.ok_or_else(|| {
        let message = format!("{parameter} must be a time of the years 1 to 9999, in UTC.");
        Error::new(ErrorKind::InvalidArgument, message)
    })
}

/// Whether JSON text holds U+0000, bare or escaped; `\\u0000` is a backslash and five letters.
fn escapes_nul(json: &str) -> bool {
    let mut rest = json;
    while let Some(position) = rest.find(['\\', '\0']) {
        let found = &rest[position..];
        if found.starts_with('\0') || found.starts_with("\\u0000") {
            return true;
        }
        let mut after = found.chars();
        after.next();
        after.next();
        rest = after.as_str();
    }
    false
}

/// A value of a result.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// SQL NULL.
    Null,
    /// Any character type.
    Text(String),
    /// Any integer type.
    Int(i64),
    /// Any binary floating point type.
    Float(f64),
    /// `bit`, `boolean`.
    Flag(bool),
    /// An instant in UTC.
    Time(OffsetDateTime),
}

/// One row of a result; the names of its columns are shared by all of them.
#[derive(Debug)]
pub struct Row {
    columns: Arc<[String]>,
    values: Vec<Value>,
    /// Where the next column is looked for first: structs name them in the order in which they come.
    next: usize,
}

/// A result that is not what the contract promises.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ReadError(String);

impl Row {
    /// A row whose columns have the contract's names, `FailedAtUtc`; one value for each.
    pub fn new(columns: Arc<[String]>, values: Vec<Value>) -> Self {
        Self { columns, values, next: 0 }
    }

    /// Takes the value of a column out, by its name in the contract; what is left of it is NULL.
    pub fn take<T: FromValue>(&mut self, column: &str) -> std::result::Result<T, ReadError> {
        let position = (self.next..self.columns.len())
            .chain(0..self.next)
            .find(|position| self.columns[*position] == column)
            .ok_or_else(|| ReadError(format!("the result has no column {column}")))?;
        self.next = position + 1;
        let value = self.values.get_mut(position).map_or(Value::Null, |value| std::mem::replace(value, Value::Null));
        T::from_value(value).map_err(|value| {
            let shown = match value {
                // Never a payload in an error message.
                Value::Text(text) if text.len() > 40 => format!("a text of {} bytes", text.len()),
                other => format!("{other:?}"),
            };
            ReadError(format!("column {column} cannot be {shown}"))
        })
    }
}

/// A struct that is read from a row.
pub trait FromRow: Sized {
    /// Reads every field by the name of its column, which takes its value out.
    fn from_row(row: &mut Row) -> std::result::Result<Self, ReadError>;
}

/// A type that a value of a result is read as.
pub trait FromValue: Sized {
    /// Reads the value; gives it back when it is of another kind.
    fn from_value(value: Value) -> std::result::Result<Self, Value>;
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value) -> std::result::Result<Self, Value> {
        match value {
            Value::Null => Ok(None),
            value => T::from_value(value).map(Some),
        }
    }
}

/// A type that one kind of value holds.
macro_rules! held_by {
    ($($variant:ident: $type:ty;)+) => {
        $(impl FromValue for $type {
            fn from_value(value: Value) -> std::result::Result<Self, Value> {
                match value {
                    Value::$variant(held) => Ok(held),
                    other => Err(other),
                }
            }
        })+
    };
}

held_by! {
    Text: String;
    Int: i64;
    Float: f64;
    Flag: bool;
    Time: OffsetDateTime;
}

impl FromValue for i32 {
    fn from_value(value: Value) -> std::result::Result<Self, Value> {
        let number = i64::from_value(value)?;
        number.try_into().map_err(|_| Value::Int(number))
    }
}

/// The contract's mechanical mapping from PostgreSQL's names to T-SQL's: `job_id` becomes `JobId`; `DLQ` is one word.
pub(crate) fn pascal_case(snake: &str) -> String {
    snake
        .split('_')
        .map(|word| match word {
            "dlq" => "DLQ".to_owned(),
            word => {
                let (first, rest) = word.split_at(word.len().min(1));
                first.to_uppercase() + rest
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn names_follow_the_mechanical_mapping() {
        for (snake, pascal) in [
            ("job_id", "JobId"),
            ("failed_at_utc", "FailedAtUtc"),
            ("move_to_dlq", "MoveToDLQ"),
            ("purge_dlq_jobs", "PurgeDLQJobs"),
            ("outcome", "Outcome"),
        ] {
            assert_eq!(pascal_case(snake), pascal);
        }
    }

    #[test]
    fn a_column_is_found_by_name_and_a_wrong_kind_is_told() {
        let row = || {
            let columns = Arc::new(["JobId".to_owned(), "Count".to_owned()]);
            Row::new(columns, vec![Value::Text("a".repeat(100)), Value::Int(1 << 40)])
        };
        let mut read = row();
        assert_eq!(read.take::<i64>("Count").unwrap(), 1 << 40);
        assert_eq!(read.take::<String>("JobId").unwrap(), "a".repeat(100), "columns may come in any order");
        assert!(row().take::<i32>("Count").is_err(), "it does not fit");
        assert!(row().take::<String>("Outcome").unwrap_err().to_string().contains("Outcome"));
        let error = row().take::<bool>("JobId").unwrap_err().to_string();
        assert!(error.contains("JobId") && !error.contains("aaa"), "{error}");
    }

    #[test]
    fn nul_is_replaced_in_evidence_and_refused_elsewhere() {
        let evidence = Argument::Evidence(Some("a\0b".into()));
        let stored = evidence.for_postgres(|| "p_error_details".to_owned()).unwrap();
        assert!(matches!(&*stored, Argument::Evidence(Some(text)) if text == "a\u{FFFD}b"));
        for argument in [
            Argument::Text(Some("a\0b".into())),
            Argument::Texts(vec!["a", "b\0"]),
            Argument::Json(r#"["a\u0000"]"#.into()),
        ] {
            let error = argument.for_postgres(|| "p_payload".to_owned()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().contains("p_payload"), "{error}");
        }
    }

    #[test]
    fn an_instant_that_the_engines_do_not_know_is_refused_by_name() {
        for instant in
            [datetime!(9999-12-31 23:59:59 -14), datetime!(0001-01-01 0:00 +14), datetime!(-9999-01-01 0:00 +14)]
        {
            let error = Argument::Time(instant).for_postgres(|| "p_older_than_utc".to_owned()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().contains("p_older_than_utc"), "{error}");
        }
        assert!(in_utc(datetime!(9999-12-31 23:59:59.9999999 UTC), "p_from_utc").is_ok());
        assert!(in_utc(datetime!(0001-01-01 0:00 UTC), "p_from_utc").is_ok());
    }

    #[test]
    fn an_escaped_backslash_before_u0000_is_no_nul() {
        assert!(escapes_nul(r"\u0000"));
        assert!(escapes_nul(r"\\\u0000"));
        assert!(escapes_nul("a\0"));
        assert!(!escapes_nul(r"\\u0000"));
        assert!(!escapes_nul(r"\u0001"));
        assert!(!escapes_nul("\\"));
    }
}
