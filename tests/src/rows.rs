//! Result sets: columns in order, rows read by the contract's column names.

use std::ops::Index;
use std::sync::Arc;

use time::{Duration, OffsetDateTime};

use crate::value::Value;

/// One result set.
#[derive(Debug)]
pub struct Rows {
    pub columns: Arc<[String]>,
    pub rows: Vec<Row>,
}

/// One row; `row["JobId"]` panics when the result has no such column, which is a failed test.
#[derive(Clone, Debug)]
pub struct Row {
    columns: Arc<[String]>,
    values: Vec<Value>,
}

impl Rows {
    pub fn new(columns: Vec<String>, values: impl IntoIterator<Item = Vec<Value>>) -> Self {
        let columns: Arc<[String]> = columns.into();
        let rows = values.into_iter().map(|values| Row { columns: columns.clone(), values }).collect();
        Self { columns, rows }
    }

    /// The only row.
    pub fn one(mut self) -> Row {
        assert_eq!(self.rows.len(), 1, "one row was expected: {:?}", self.rows);
        self.rows.remove(0)
    }

    /// One column of every row.
    pub fn column(&self, name: &str) -> Vec<Value> {
        self.rows.iter().map(|row| row[name].clone()).collect()
    }

    /// One column of every row as text.
    pub fn texts(&self, name: &str) -> Vec<String> {
        self.rows.iter().map(|row| row.text(name)).collect()
    }
}

impl Row {
    /// The value of a column, if the result has it.
    pub fn get(&self, column: &str) -> Option<&Value> {
        self.columns.iter().position(|name| name == column).map(|index| &self.values[index])
    }

    /// The values, in the order of the columns.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// Every time in it becomes earlier.
    pub fn set_back(&mut self, duration: Duration) {
        for value in &mut self.values {
            if let Value::Time(time) = value {
                *time -= duration;
            }
        }
    }

    pub fn text(&self, column: &str) -> String {
        match &self[column] {
            Value::Text(text) => text.clone(),
            other => panic!("{column} is no text: {other:?}"),
        }
    }

    pub fn int(&self, column: &str) -> i64 {
        match &self[column] {
            Value::Int(number) => *number,
            other => panic!("{column} is no integer: {other:?}"),
        }
    }

    pub fn float(&self, column: &str) -> f64 {
        match &self[column] {
            Value::Float(number) => *number,
            other => panic!("{column} is no float: {other:?}"),
        }
    }

    pub fn time(&self, column: &str) -> OffsetDateTime {
        match &self[column] {
            Value::Time(time) => *time,
            other => panic!("{column} is no time: {other:?}"),
        }
    }
}

impl Index<&str> for Row {
    type Output = Value;

    fn index(&self, column: &str) -> &Value {
        self.get(column).unwrap_or_else(|| panic!("no column {column} in {:?}", self.columns))
    }
}
