//! What the server said beside what the model says.

use std::collections::HashMap;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use chokaq_tests::{Row, Rows, Value, contract};
use time::{Duration, OffsetDateTime};

use crate::model::Model;
use crate::operator::BEFORE;
use crate::term::{Line, Term, Time};

/// What the server has chosen in this sequence.
pub struct Seen {
    is_babelfish: bool,
    began: Instant,
    revisions: HashMap<u64, i64>,
    tokens: HashMap<i64, u64>,
    batches: HashMap<u64, String>,
    made: HashMap<String, Value>,
    pub gone: HashMap<&'static str, i64>,
}

impl Seen {
    pub fn new(is_babelfish: bool) -> Self {
        Self {
            is_babelfish,
            began: Instant::now(),
            revisions: HashMap::new(),
            tokens: HashMap::new(),
            batches: HashMap::new(),
            made: HashMap::new(),
            gone: HashMap::new(),
        }
    }

    pub fn revision(&self, token: u64) -> Option<i64> {
        self.revisions.get(&token).copied()
    }

    /// No two states share a revision.
    pub fn bind_revision(&mut self, token: u64, number: i64) -> Result<()> {
        let known = *self.revisions.entry(token).or_insert(number);
        let first = *self.tokens.entry(number).or_insert(token);
        ensure!(known == number, "the revision is {number}, and was {known} when the job was the same");
        ensure!(first == token, "the revision is {number} as before the job was changed");
        Ok(())
    }

    /// The rows in this order, with exactly the columns of the procedure.
    pub fn compare_rows(&mut self, model: &Model, lines: &[Line], rows: &Rows, procedure: &str) -> Result<()> {
        ensure!(lines.len() == rows.rows.len(), "{procedure}: {lines:?}\nwere expected, not {:?}", rows.rows);
        for (line, row) in lines.iter().zip(&rows.rows) {
            for column in &contract::procedure(procedure).columns {
                let term = line.iter().find(|(name, _)| name == column);
                let (_, term) = term.with_context(|| format!("the model says nothing of {procedure}.{column}"))?;
                self.compare(model, term, &row[column]).with_context(|| format!("{procedure}.{column}: {line:?}"))?;
            }
        }
        Ok(())
    }

    /// Those columns of a row that a table has.
    pub fn compare_row(&mut self, model: &Model, line: &Line, row: &Row) -> Result<()> {
        for (column, term) in line {
            if let Some(value) = row.get(column) {
                self.compare(model, term, value).with_context(|| format!("{column} of {row:?}"))?;
            }
        }
        Ok(())
    }

    fn compare(&mut self, model: &Model, term: &Term, value: &Value) -> Result<()> {
        let is_so = match (term, value) {
            (Term::Unknown, _) => true,
            (Term::Is(expected), _) => same(expected, value),
            (Term::At(expected), Value::Time(time)) => self.is_at(model, *expected, *time),
            (Term::Revision(token), Value::Int(number)) => return self.bind_revision(*token, *number),
            (Term::Made(name), Value::Text(_)) => self.made.entry(name.clone()).or_insert(value.clone()) == value,
            (Term::Batch(token), Value::Text(id)) => {
                /* An engine may spell it in capitals. */
                let id = id.to_lowercase();
                let is_new = !self.batches.contains_key(token);
                let is_other = self.batches.values().all(|batch| *batch != id);
                let known = self.batches.entry(*token).or_insert_with(|| id.clone());
                *known == id && (!is_new || is_other)
            }
            (Term::Zombie { worker, timeout, before }, Value::Text(text)) => {
                let end = before.as_ref().map(|before| format!("\n{BEFORE}{before}")).unwrap_or_default();
                let told = text.strip_suffix(&end);
                told.is_some_and(|told| {
                    told.contains(worker) && told.contains(&timeout.to_string()) && !told.contains('\n')
                })
            }
            (Term::Json(expected), Value::Text(text)) => same_json(expected, &serde_json::from_str(text)?),
            (Term::Length(text), Value::Int(length)) => *length == self.length(text),
            (Term::Between(low, high), Value::Float(number)) => (*low..=*high).contains(number),
            (Term::Between(low, high), Value::Int(number)) => (*low..=*high).contains(&(*number as f64)),
            (Term::Positive(is_positive), Value::Float(number)) => (*number > 0.0) == *is_positive && *number >= 0.0,
            (Term::Gone(table), Value::Int(count)) => self.gone.get(table).is_none_or(|gone| gone == count),
            (Term::OrFull(is_certain, table, size), Value::Bool(flag)) => {
                self.gone.get(table).is_none_or(|gone| *flag == (*is_certain || gone == size))
            }
            _ => false,
        };
        ensure!(is_so, "{term:?} was expected, not {value:?}");
        Ok(())
    }

    /// An instant that a caller gave is kept to the letter; one of the server's clock is within the run of the sequence.
    fn is_at(&self, model: &Model, expected: Time, time: OffsetDateTime) -> bool {
        let earliest = model.real(expected);
        let run = Duration::try_from(self.began.elapsed()).unwrap_or(Duration::MAX) + Duration::seconds(2);
        if expected.step == 0 { time == earliest } else { (earliest..=earliest + run).contains(&time) }
    }

    /// UTF-16 units; a server that has UTF-8 within counts characters.
    fn length(&self, text: &str) -> i64 {
        let count = if self.is_babelfish { text.chars().count() } else { text.encode_utf16().count() };
        count as i64
    }
}

fn same(expected: &Value, value: &Value) -> bool {
    match (expected, value) {
        (Value::Float(expected), Value::Int(number)) => *expected == *number as f64,
        _ => expected == value,
    }
}

/// 2 and 2.0 are the same number.
fn same_json(a: &serde_json::Value, b: &serde_json::Value) -> bool {
    match (a, b) {
        (serde_json::Value::Object(a), serde_json::Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, value)| b.get(name).is_some_and(|other| same_json(value, other)))
        }
        (serde_json::Value::Number(a), serde_json::Value::Number(b)) => a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}
