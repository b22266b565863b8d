//! What the model says of a value: what it is, or how it stands to others.

use std::fmt;
use std::ops::{Add, Sub};

use chokaq_tests::{Code, Value};

/// An instant. The model's clock moves by whole steps of 100 seconds and more, so which of two instants is first never
/// depends on how fast a server is: first the seconds tell, then the step of the sequence that was at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    /// Since the sequence began.
    pub seconds: i64,
    /// 0: these seconds to the letter, as a caller gives an instant.
    pub step: u32,
}

impl Add<i64> for Time {
    type Output = Self;

    fn add(self, seconds: i64) -> Self {
        Self { seconds: self.seconds + seconds, ..self }
    }
}

impl Sub<i64> for Time {
    type Output = Self;

    fn sub(self, seconds: i64) -> Self {
        self + -seconds
    }
}

/// A value of a call's arguments or answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    Is(Value),
    At(Time),
    /// The revision of one state of a job. Which number that is, is the server's to choose, but never the same twice.
    Revision(u64),
    /// An id that the server makes; until it is known the job goes by this name.
    Made(String),
    /// What the last call of the same procedure answered in this column.
    Last(&'static str),
    /// What the zombie sweep writes: it names worker and timeout, and ends with the error of the attempt before.
    Zombie {
        worker: String,
        timeout: i64,
        before: Option<String>,
    },
    /// JSON, whatever its spelling.
    Json(serde_json::Value),
    /// A number between two others.
    Between(f64, f64),
    /// The length of this text, in what the engine counts.
    Length(String),
    /// Above 0 or not.
    Positive(bool),
    /// Rows of one act share it, no others do.
    Batch(u64),
    /// The number of rows that the call took away from a table.
    Gone(&'static str),
    /// True; or, when it is not certain, whether the call took away so many rows of the table: then there may be more.
    OrFull(bool, &'static str, i64),
    Unknown,
}

pub const NULL: Term = Term::Is(Value::Null);

impl Term {
    /// What it keeps of a text that a caller gave.
    pub fn kept_text(&self) -> Option<&str> {
        match self {
            Self::Zombie { before, .. } => before.as_deref(),
            other => other.text(),
        }
    }

    /// The text it is to the letter.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Is(Value::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// A row, column by column.
pub type Line = Vec<(&'static str, Term)>;

/// What a call must answer.
#[derive(Clone, Debug)]
pub enum Answer {
    Rows(Vec<Line>),
    /// An error that names this parameter; nothing has changed.
    Refused(Code, &'static str),
}

/// One call of a public procedure, and what the model says it answers.
#[derive(Clone, Debug)]
pub struct Call {
    pub procedure: &'static str,
    pub args: Line,
    pub answer: Answer,
}

impl Call {
    pub fn rows(procedure: &'static str, args: Line, rows: Vec<Line>) -> Self {
        Self { procedure, args, answer: Answer::Rows(rows) }
    }

    pub fn row(procedure: &'static str, args: Line, row: Line) -> Self {
        Self::rows(procedure, args, vec![row])
    }

    pub fn refused(procedure: &'static str, args: Line, code: Code, parameter: &'static str) -> Self {
        Self { procedure, args, answer: Answer::Refused(code, parameter) }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = self.args.iter().filter(|(_, term)| *term != NULL);
        let args: Vec<_> = given
            .map(|(name, term)| match term {
                Term::Is(value) => format!("{name} = {value:.60?}"),
                other => format!("{name} = {other:?}"),
            })
            .collect();
        write!(f, "{} {}", self.procedure, args.join(", "))
    }
}

/// `line! { JobId: id, FailedAtUtc: time }`
#[macro_export]
macro_rules! line {
    ($($name:ident : $term:expr),* $(,)?) => {
        vec![$((stringify!($name), $crate::term::Term::from($term))),*]
    };
}

macro_rules! values_are_terms {
    ($($type:ty),*) => {
        $(
            impl From<$type> for Term {
                fn from(value: $type) -> Self {
                    Self::Is(Value::from(value))
                }
            }

            impl From<Option<$type>> for Term {
                fn from(value: Option<$type>) -> Self {
                    value.map_or(NULL, Self::from)
                }
            }
        )*
    };
}

values_are_terms!(&str, String, &String, bool, i32, i64, f64);

impl From<Time> for Term {
    fn from(time: Time) -> Self {
        Self::At(time)
    }
}

impl From<Option<Time>> for Term {
    fn from(time: Option<Time>) -> Self {
        time.map_or(NULL, Self::At)
    }
}

impl From<&[String]> for Term {
    fn from(set: &[String]) -> Self {
        Self::Is(set.into())
    }
}
