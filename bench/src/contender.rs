//! Whoever takes part: how its tables are filled, and the statements with which one of its workers takes jobs and ends
//! them. All of them go through the same client library, prepared.

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::server::Database;

/// An argument of a statement.
pub type Argument = Box<dyn ToSql + Sync + Send>;

/// Someone who takes part.
pub struct Contender {
    /// As the tables of the report say it.
    pub name: String,
    /// What is left of a job when it is done.
    pub keeps: &'static str,
    /// Where its tables are.
    pub database: Database,
    /// The script that fills them anew.
    pub fill: Box<dyn Fn(Backlog) -> String + Send + Sync>,
    /// How it works in batches of that size; None when it cannot.
    pub recipe: Box<dyn Fn(i32) -> Option<Recipe> + Send + Sync>,
}

/// The jobs there are when a measurement begins.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    /// They may run now.
    pub due: u64,
    /// They may run in a day, before all others.
    pub later: u64,
}

impl Backlog {
    /// Jobs that may run now, and no others.
    pub fn due(due: u64) -> Self {
        Self { due, later: 0 }
    }
}

/// How a worker takes jobs and ends them.
pub struct Recipe {
    /// Answers with a row for each job; a row that begins with NULL is none.
    pub claim: Statement,
    /// What is done with the jobs of one claim, in this order.
    pub steps: Vec<Statement>,
    /// Every step for one job after the other, not once for all of them.
    pub one_by_one: bool,
}

/// Makes the arguments of a statement from the worker's number and the claimed rows.
pub type Arguments = Box<dyn Fn(usize, &[Row]) -> Vec<Argument> + Send + Sync>;

/// A statement and what it takes.
pub struct Statement {
    /// The text, with `$1`.
    pub sql: String,
    /// The arguments for `$1` and so on.
    pub arguments: Arguments,
}

impl Statement {
    /// A statement and its arguments.
    pub fn new(
        sql: impl Into<String>,
        arguments: impl Fn(usize, &[Row]) -> Vec<Argument> + Send + Sync + 'static,
    ) -> Self {
        Self { sql: sql.into(), arguments: Box::new(arguments) }
    }
}

/// The name of a worker.
pub fn worker_name(number: usize) -> String {
    format!("worker-{number}")
}

/// The payload of the `n`th job, an SQL expression of type text: what a mail may need, some 100 bytes.
pub fn payload(n: &str) -> String {
    format!(
        r#"('{{"to": "ann@example.com", "subject": "Welcome!", "template": "welcome-1", "locale": "en", "customer": ' || {n} || '}}')"#
    )
}
