//! pgmq, by the SQL of its extension that its Python package carries: moves the message to an archive table.

use anyhow::Result;
use serde::Deserialize;

use super::floor::numbers;
use crate::contender::{Backlog, Contender, Recipe, Statement, payload};
use crate::server::Database;

/// A message that was read is not seen by others for so many seconds.
const VISIBILITY_TIMEOUT: i32 = 600;

/// What the script in Python prints.
#[derive(Deserialize)]
pub struct Statements {
    version: String,
    schema: String,
    claim: String,
    complete_one: String,
    complete_many: String,
}

/// Installs its schema.
pub async fn contender(statements: Statements, database: Database) -> Result<Contender> {
    let client = database.connect().await?;
    client.batch_execute(&statements.schema).await?;
    client.batch_execute("SELECT pgmq.create('bench')").await?;
    let Statements { version, claim, complete_one, complete_many, .. } = statements;
    Ok(Contender {
        name: format!("pgmq {version}"),
        keeps: "moves the message to an archive table",
        database,
        fill: Box::new(fill),
        recipe: Box::new(move |batch| {
            Some(Recipe {
                claim: Statement::new(&claim, move |_, _| {
                    vec![Box::new("bench"), Box::new(VISIBILITY_TIMEOUT), Box::new(batch)]
                }),
                steps: vec![match batch {
                    1 => Statement::new(&complete_one, |_, rows| vec![Box::new("bench"), Box::new(numbers(rows)[0])]),
                    _ => Statement::new(&complete_many, |_, rows| vec![Box::new("bench"), Box::new(numbers(rows))]),
                }],
                one_by_one: false,
            })
        }),
    })
}

/// It has no priorities: what comes first was sent first.
fn fill(Backlog { due, later }: Backlog) -> String {
    let payload = payload("n");
    format!(
        "TRUNCATE pgmq.q_bench, pgmq.a_bench;
        INSERT INTO pgmq.q_bench (vt, message)
        SELECT now() + CASE WHEN n <= {later} THEN interval '1 day' ELSE '0' END, {payload}::jsonb
        FROM generate_series(1, {due} + {later}) AS n;"
    )
}
