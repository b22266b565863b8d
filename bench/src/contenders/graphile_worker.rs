//! graphile-worker: deletes what is done.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Deserialize;

use super::floor::numbers;
use super::install::Installed;
use crate::contender::{Backlog, Contender, Recipe, Statement, payload, worker_name};
use crate::server::Database;

/// What its script prints.
#[derive(Deserialize)]
pub struct Statements {
    version: String,
    task_id: i32,
    claim: BTreeMap<i32, String>,
    complete: BTreeMap<i32, String>,
    /// Deletes what failed for good.
    pub purge: String,
}

/// Installs its schema and takes its statements for batches of these sizes.
pub fn statements(installed: &Installed, database: &Database, batches: &str) -> Result<Statements> {
    installed.ask_node("graphile_worker.cjs", &[&database.url(), batches])
}

/// As a contender.
pub fn contender(statements: Statements, database: Database) -> Contender {
    let task_id = statements.task_id;
    Contender {
        name: format!("graphile-worker {}", statements.version),
        keeps: "deletes the row, keeps nothing",
        database,
        fill: Box::new(move |backlog| fill(backlog, task_id)),
        recipe: Box::new(move |batch| {
            let claim = statements.claim.get(&batch)?;
            Some(Recipe {
                claim: Statement::new(claim, move |worker, _| {
                    vec![Box::new(worker_name(worker)), Box::new(vec![task_id])]
                }),
                steps: vec![Statement::new(statements.complete.get(&batch)?, move |_, rows| match batch {
                    1 => vec![Box::new(numbers(rows)[0])],
                    _ => vec![Box::new(numbers(rows))],
                })],
                one_by_one: false,
            })
        }),
    }
}

/// Its lower priorities come first.
fn fill(Backlog { due, later }: Backlog, task_id: i32) -> String {
    let payload = payload("n");
    format!(
        "TRUNCATE graphile_worker._private_jobs;
        INSERT INTO graphile_worker._private_jobs (task_id, payload, priority, run_at)
        SELECT
            {task_id}, {payload}::json, CASE WHEN n > {due} THEN -100 ELSE 0 END,
            now() + CASE WHEN n > {due} THEN interval '1 day' ELSE '0' END
        FROM generate_series(1, {due} + {later}) AS n;"
    )
}

/// Jobs that failed for good, which its purge takes, and as many that did not.
pub fn fill_failed(old: u64, young: u64) -> String {
    let fill = fill(Backlog::due(old + young), 1);
    format!(
        "{fill}
        UPDATE graphile_worker._private_jobs SET attempts = max_attempts
        WHERE id IN (SELECT id FROM graphile_worker._private_jobs LIMIT {old});"
    )
}
