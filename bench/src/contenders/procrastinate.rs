//! procrastinate: one job at a time; updates the row in place and writes an event for every step.

use anyhow::Result;
use serde::Deserialize;

use super::floor::numbers;
use crate::contender::{Backlog, Contender, Recipe, Statement, payload};
use crate::server::Database;

/// What the script in Python prints.
#[derive(Deserialize)]
pub struct Statements {
    version: String,
    schema: String,
    claim: String,
    complete: String,
    /// Deletes what ended more than 90 days ago.
    pub purge: String,
}

/// Installs its schema.
pub async fn contender(statements: Statements, database: Database) -> Result<Contender> {
    database.connect().await?.batch_execute(&statements.schema).await?;
    let Statements { version, claim, complete, .. } = statements;
    Ok(Contender {
        name: format!("procrastinate {version}"),
        keeps: "updates the row in place, writes an event for every step",
        database,
        fill: Box::new(fill),
        recipe: Box::new(move |batch| {
            (batch == 1).then(|| Recipe {
                claim: Statement::new(&claim, |worker, _| vec![Box::new(worker as i64)]),
                steps: vec![Statement::new(&complete, |_, rows| vec![Box::new(numbers(rows)[0])])],
                one_by_one: true,
            })
        }),
    })
}

/// Its triggers would write the events one by one and notify for each: here they are written as one set.
fn fill(Backlog { due, later }: Backlog) -> String {
    let payload = payload("n");
    let jobs = format!(
        "INSERT INTO procrastinate_jobs (id, queue_name, task_name, priority, args, scheduled_at)
        SELECT
            n, 'default', 'bench', CASE WHEN n > {due} THEN 100 ELSE 0 END, {payload}::jsonb,
            CASE WHEN n > {due} THEN now() + interval '1 day' END
        FROM generate_series(1, {due} + {later}) AS n;
        INSERT INTO procrastinate_events (job_id, type) SELECT id, 'deferred' FROM procrastinate_jobs;"
    );
    filled(&jobs)
}

/// Jobs that succeeded 91 days ago, and jobs that succeeded today.
pub fn fill_succeeded(old: u64, young: u64) -> String {
    let payload = payload("n");
    let jobs = format!(
        "INSERT INTO procrastinate_jobs (id, queue_name, task_name, args, status, attempts)
        SELECT n, 'default', 'bench', {payload}::jsonb, 'succeeded', 1 FROM generate_series(1, {old} + {young}) AS n;
        INSERT INTO procrastinate_events (job_id, type, at)
        SELECT j.id, t.type, now() - CASE WHEN j.id <= {old} THEN interval '91 days' ELSE '0' END
        FROM procrastinate_jobs AS j
        CROSS JOIN unnest('{{deferred,started,succeeded}}'::procrastinate_job_event_type[]) AS t (type);"
    );
    filled(&jobs)
}

fn filled(jobs: &str) -> String {
    format!(
        "TRUNCATE procrastinate_jobs, procrastinate_workers, procrastinate_periodic_defers RESTART IDENTITY CASCADE;
        ALTER TABLE procrastinate_jobs DISABLE TRIGGER USER;
        {jobs}
        ALTER TABLE procrastinate_jobs ENABLE TRIGGER USER;
        SELECT procrastinate_register_worker_v1() FROM generate_series(1, 100);"
    )
}
