//! Values as scenarios write and compare them, the same for both engines.

use time::OffsetDateTime;

/// A value given to, or read from, an engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Time(OffsetDateTime),
    /// A set of ids or queues: `text[]`, or a JSON array in `nvarchar(max)`.
    Set(Vec<Option<String>>),
    /// An array of objects: `jsonb`, or its text in `nvarchar(max)`.
    Json(serde_json::Value),
}

/// Named arguments of a call, in the T-SQL spelling without `@`.
pub type Args = Vec<(&'static str, Value)>;

/// `args! { JobId: "a1", Attempt: 1 }`
#[macro_export]
macro_rules! args {
    ($($name:ident : $value:expr),* $(,)?) => {
        vec![$((stringify!($name), $crate::Value::from($value))),*]
    };
}

/// `values!["a1", 2]`: arguments of arranging SQL, for `@P1`, `@P2`.
#[macro_export]
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        [$($crate::Value::from($value)),*]
    };
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Self::Int(number.into())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<OffsetDateTime> for Value {
    fn from(time: OffsetDateTime) -> Self {
        Self::Time(time)
    }
}

impl From<serde_json::Value> for Value {
    fn from(json: serde_json::Value) -> Self {
        Self::Json(json)
    }
}

impl From<Vec<Option<String>>> for Value {
    fn from(set: Vec<Option<String>>) -> Self {
        Self::Set(set)
    }
}

impl From<&[String]> for Value {
    fn from(set: &[String]) -> Self {
        Self::Set(set.iter().cloned().map(Some).collect())
    }
}

impl From<&Vec<String>> for Value {
    fn from(set: &Vec<String>) -> Self {
        Self::from(set.as_slice())
    }
}

impl<const N: usize> From<[&str; N]> for Value {
    fn from(set: [&str; N]) -> Self {
        Self::Set(set.iter().map(|text| Some((*text).to_owned())).collect())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl PartialEq<&str> for Value {
    fn eq(&self, other: &&str) -> bool {
        matches!(self, Self::Text(text) if text == other)
    }
}

impl PartialEq<String> for Value {
    fn eq(&self, other: &String) -> bool {
        matches!(self, Self::Text(text) if text == other)
    }
}

impl PartialEq<i64> for Value {
    fn eq(&self, other: &i64) -> bool {
        matches!(self, Self::Int(number) if number == other)
    }
}

impl PartialEq<bool> for Value {
    fn eq(&self, other: &bool) -> bool {
        matches!(self, Self::Bool(flag) if flag == other)
    }
}
