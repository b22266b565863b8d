//! What hand-written SQL needs for the same moves: one statement that claims, one that moves what is done to an archive
//! table. It checks nothing, counts nothing and knows no queues. "Bare" moves a row of seven columns over three indexes;
//! "kit's row" moves the kit's own row over the kit's own indexes, so that what is between the two is the price of the
//! row, and what is between that one and the kit is the price of the procedures.

use tokio_postgres::Row;

use crate::contender::{Backlog, Contender, Recipe, Statement, payload, worker_name};
use crate::kit;
use crate::server::Database;

const TABLES: &str = "
    CREATE TABLE jobs (
        id bigint PRIMARY KEY, priority integer NOT NULL, run_at timestamptz NOT NULL, status smallint NOT NULL,
        worker text, started_at timestamptz, payload text
    );
    CREATE INDEX ON jobs (priority DESC, id) WHERE status = 0;
    CREATE TABLE archive (
        id bigint PRIMARY KEY, priority integer NOT NULL, run_at timestamptz NOT NULL, worker text,
        started_at timestamptz, finished_at timestamptz NOT NULL, payload text
    );
    CREATE INDEX ON archive (finished_at, id);";

const CLAIM: &str = "
    UPDATE jobs SET status = 2, worker = $1, started_at = clock_timestamp()
    WHERE id = ANY (ARRAY(
        SELECT id FROM jobs
        WHERE status = 0 AND run_at <= clock_timestamp()
        ORDER BY priority DESC, id
        LIMIT $2
        FOR UPDATE SKIP LOCKED
    ))
    RETURNING id, payload";

const COMPLETE: &str = "
    WITH gone AS (DELETE FROM jobs WHERE id = ANY ($1) RETURNING *)
    INSERT INTO archive SELECT id, priority, run_at, worker, started_at, clock_timestamp(), payload FROM gone";

/// Creates its tables.
pub async fn bare(database: Database) -> anyhow::Result<Contender> {
    database.connect().await?.batch_execute(TABLES).await?;
    Ok(Contender {
        name: "floor, bare".to_owned(),
        keeps: "moves the row to an archive table",
        database,
        fill: Box::new(fill),
        recipe: Box::new(|batch| {
            Some(Recipe {
                claim: claim(CLAIM, batch),
                steps: vec![Statement::new(COMPLETE, |_, rows| vec![Box::new(numbers(rows))])],
                one_by_one: false,
            })
        }),
    })
}

fn fill(Backlog { due, later }: Backlog) -> String {
    let payload = payload("n");
    format!(
        "TRUNCATE jobs, archive;
        INSERT INTO jobs
        SELECT
            n, CASE WHEN n > {due} THEN 100 ELSE 10 END,
            now() + CASE WHEN n > {due} THEN interval '1 day' ELSE '0' END, 0, NULL, NULL, {payload}
        FROM generate_series(1, {due} + {later}) AS n;"
    )
}

const KIT_CLAIM: &str = "
    UPDATE chokaq.jobs_hot
    SET
        status = 2, attempt_count = attempt_count + 1, worker_id = $1, fetched_at_utc = clock_timestamp(),
        started_at_utc = clock_timestamp(), heartbeat_utc = clock_timestamp(), last_updated_utc = clock_timestamp()
    WHERE id = ANY (ARRAY(
        SELECT id FROM chokaq.jobs_hot
        WHERE queue = 'bench-0' AND worker_id IS NULL AND is_due
        ORDER BY queue, priority DESC, due_at_utc, arrival
        LIMIT $2
        FOR UPDATE SKIP LOCKED
    ))
    RETURNING id, queue, type, payload";

const KIT_COMPLETE: &str = "
    WITH gone AS (DELETE FROM chokaq.jobs_hot WHERE id = ANY ($1) RETURNING *)
    INSERT INTO chokaq.jobs_archive (
        id, queue, type, payload, tags, idempotency_key, priority, attempt_count, worker_id, scheduled_at_utc,
        started_at_utc, finished_at_utc, created_at_utc, created_by, last_modified_by, resurrect_count, revision
    )
    SELECT
        id, queue, type, payload, tags, idempotency_key, priority, attempt_count, worker_id, scheduled_at_utc,
        started_at_utc, clock_timestamp(), created_at_utc, created_by, last_modified_by, resurrect_count, revision
    FROM gone";

/// The same two statements over the kit's own tables.
pub fn kits_row(kit: &Database) -> Contender {
    let ways = kit::contender(kit, kit::Way::StartNow);
    Contender {
        name: "floor, kit's row".to_owned(),
        keeps: "moves the row to the Archive",
        recipe: Box::new(|batch| {
            Some(Recipe {
                claim: claim(KIT_CLAIM, batch),
                steps: vec![Statement::new(KIT_COMPLETE, |_, rows| {
                    vec![Box::new(rows.iter().map(|row| row.get("id")).collect::<Vec<String>>())]
                })],
                one_by_one: false,
            })
        }),
        ..ways
    }
}

fn claim(sql: &str, batch: i32) -> Statement {
    Statement::new(sql, move |worker, _| vec![Box::new(worker_name(worker)), Box::new(i64::from(batch))])
}

/// The first column, a bigint.
pub(super) fn numbers(rows: &[Row]) -> Vec<i64> {
    rows.iter().map(|row| row.get(0)).collect()
}

/// The script that fills the bare archive table like the kit's.
pub fn fill_archive(old: u64, young: u64) -> String {
    let payload = payload("n");
    format!(
        "TRUNCATE archive;
        INSERT INTO archive
        SELECT n, 10, at, 'worker-1', at, at, {payload}
        FROM (
            SELECT
                n,
                now() - CASE WHEN n <= {old} THEN interval '91 days' ELSE '1 hour' END + n * interval '1 millisecond' AS at
            FROM generate_series(1, {old} + {young}) AS n
        ) AS j;"
    )
}
