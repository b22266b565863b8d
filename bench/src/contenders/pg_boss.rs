//! pg-boss: updates the row in place.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Deserialize;
use tokio_postgres::Row;
use uuid::Uuid;

use super::install::Installed;
use crate::contender::{Backlog, Contender, Recipe, Statement, payload};
use crate::server::Database;

/// What its script prints.
#[derive(Deserialize)]
pub struct Statements {
    version: String,
    claim: BTreeMap<i32, String>,
    complete: BTreeMap<i32, String>,
    /// A transaction that purges one batch of keys and answers with the last of them.
    pub purge_first: String,
    /// The next one; `:after` stands for that key.
    pub purge_next: String,
}

/// Installs its schema and takes its statements for batches of these sizes.
pub fn statements(installed: &Installed, database: &Database, batches: &str) -> Result<Statements> {
    installed.ask_node("pg_boss.mjs", &[&database.url(), batches])
}

/// As a contender.
pub fn contender(statements: Statements, database: Database) -> Contender {
    Contender {
        name: format!("pg-boss {}", statements.version),
        keeps: "updates the row in place",
        database,
        fill: Box::new(fill),
        recipe: Box::new(move |batch| {
            Some(Recipe {
                claim: Statement::new(statements.claim.get(&batch)?, |_, _| vec![]),
                steps: vec![Statement::new(statements.complete.get(&batch)?, |_, rows| {
                    let output: Option<serde_json::Value> = None;
                    vec![Box::new("bench"), Box::new(ids(rows)), Box::new(output), Box::new(fences(rows))]
                })],
                one_by_one: false,
            })
        }),
    }
}

fn ids(rows: &[Row]) -> Vec<Uuid> {
    rows.iter().map(|row| row.get("id")).collect()
}

/// The attempts that it fences its completions with, spelt as its `attemptPairs` does.
fn fences(rows: &[Row]) -> Vec<String> {
    rows.iter().map(|row| format!("{}:{}", row.get::<_, Uuid>("id"), row.get::<_, i32>("retryCount"))).collect()
}

fn fill(Backlog { due, later }: Backlog) -> String {
    let payload = payload("n");
    format!(
        "TRUNCATE pgboss.job_common;
        INSERT INTO pgboss.job_common (name, priority, data, start_after, created_on)
        SELECT
            'bench', CASE WHEN n > {due} THEN 100 ELSE 0 END, {payload}::jsonb,
            now() + CASE WHEN n > {due} THEN interval '1 day' ELSE '0' END, now() + n * interval '1 microsecond'
        FROM generate_series(1, {due} + {later}) AS n;"
    )
}

/// Completed jobs older than it keeps them, and as many younger ones.
pub fn fill_completed(old: u64, young: u64) -> String {
    let payload = payload("n");
    format!(
        "TRUNCATE pgboss.job_common;
        INSERT INTO pgboss.job_common (name, data, state, created_on, started_on, completed_on)
        SELECT 'bench', {payload}::jsonb, 'completed', at, at, at
        FROM (
            SELECT n, now() - CASE WHEN n <= {old} THEN interval '91 days' ELSE '0' END AS at
            FROM generate_series(1, {old} + {young}) AS n
        ) AS j;"
    )
}
