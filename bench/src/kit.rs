//! The kit: tables filled past its procedures, which is quick, and the three ways in which a worker may call them.

use tokio_postgres::Row;

use crate::contender::{Argument, Backlog, Contender, Recipe, Statement, payload, worker_name};
use crate::server::Database;

const FETCH: &str = "SELECT * FROM chokaq.fetch_next_batch(p_worker_id => $1, p_batch_size => $2, p_start_now => $3)";
const MARK: &str = "SELECT * FROM chokaq.mark_as_processing(p_job_id => $1, p_worker_id => $2)";
const MARK_MANY: &str = "SELECT * FROM chokaq.mark_jobs_as_processing(p_job_ids => $1, p_worker_id => $2)";
const ARCHIVE: &str = "SELECT * FROM chokaq.archive_succeeded(
    p_job_id => $1, p_worker_id => $2, p_attempt => $3, p_resurrect_count => $4
)";
const ARCHIVE_MANY: &str = "SELECT * FROM chokaq.archive_succeeded_jobs(p_jobs => $1, p_worker_id => $2)";

/// How a worker calls the kit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A fetch, then each job is started and archived by itself.
    SingleCalls,
    /// A fetch, one call that starts all of its jobs, one that archives them.
    Sets,
    /// A fetch that also starts, one call that archives.
    StartNow,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::SingleCalls, Self::Sets, Self::StartNow];

    /// As a table says it.
    pub fn name(self) -> &'static str {
        match self {
            Self::SingleCalls => "single calls",
            Self::Sets => "sets",
            Self::StartNow => "start_now",
        }
    }

    /// Its statements. The set forms are for sets: a batch of one has none.
    pub fn recipe(self, batch: i32) -> Option<Recipe> {
        let starts = self == Self::StartNow;
        let claim = Statement::new(FETCH, move |worker, _| {
            vec![Box::new(worker_name(worker)), Box::new(batch), Box::new(starts)]
        });
        let mark =
            Statement::new(MARK, |worker, rows| vec![Box::new(ids(rows).remove(0)), Box::new(worker_name(worker))]);
        let mark_many =
            Statement::new(MARK_MANY, |worker, rows| vec![Box::new(ids(rows)), Box::new(worker_name(worker))]);
        let archive = Statement::new(ARCHIVE, move |worker, rows| {
            let row = &rows[0];
            vec![
                Box::new(row.get::<_, String>("job_id")),
                Box::new(worker_name(worker)),
                Box::new(attempt(row, starts)),
                Box::new(row.get::<_, i32>("resurrect_count")),
            ]
        });
        let archive_many = Statement::new(ARCHIVE_MANY, move |worker, rows| {
            let jobs: Vec<_> = rows
                .iter()
                .map(|row| {
                    serde_json::json!({
                        "jobId": row.get::<_, &str>("job_id"),
                        "attempt": attempt(row, starts),
                        "resurrectCount": row.get::<_, i32>("resurrect_count"),
                    })
                })
                .collect();
            vec![Box::new(serde_json::Value::from(jobs)) as Argument, Box::new(worker_name(worker))]
        });

        let (steps, one_by_one) = match (self, batch) {
            (Self::SingleCalls, _) => (vec![mark, archive], true),
            (Self::Sets, 1) => return None,
            (Self::Sets, _) => (vec![mark_many, archive_many], false),
            (Self::StartNow, 1) => (vec![archive], true),
            (Self::StartNow, _) => (vec![archive_many], false),
        };
        Some(Recipe { claim, steps, one_by_one })
    }
}

fn ids(rows: &[Row]) -> Vec<String> {
    rows.iter().map(|row| row.get("job_id")).collect()
}

/// The attempt that runs: a fetch that did not start it tells the count before.
fn attempt(row: &Row, starts: bool) -> i32 {
    row.get::<_, i32>("attempt_count") + i32::from(!starts)
}

/// One way of the kit as a contender.
pub fn contender(database: &Database, way: Way) -> Contender {
    Contender {
        name: format!("chokaq, {}", way.name()),
        keeps: "moves the row to the Archive, counts exactly",
        database: database.clone(),
        fill: Box::new(|backlog| fill(&Hot::of(backlog))),
        recipe: Box::new(move |batch| way.recipe(batch)),
    }
}

/// What JobsHot is filled with.
#[derive(Clone, Copy, Debug)]
pub struct Hot {
    /// Due jobs of priority 10.
    pub due: u64,
    /// The queues that they are spread over.
    pub queues: u64,
    /// Jobs of priority 100 that stand before them.
    pub in_front: u64,
    /// Why those may not be taken.
    pub reason: Reason,
}

/// Why a job may not be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is scheduled for tomorrow.
    Later,
    /// Its queue is paused.
    Paused,
    /// Its queue has as many workers as it may.
    Full,
}

impl Hot {
    /// Due jobs of one queue.
    pub fn due(due: u64) -> Self {
        Self { due, queues: 1, in_front: 0, reason: Reason::Later }
    }

    fn of(backlog: Backlog) -> Self {
        Self { in_front: backlog.later, ..Self::due(backlog.due) }
    }
}

/// The script that leaves JobsHot with just that, and the other tables empty.
pub fn fill(hot: &Hot) -> String {
    let (due, queues, in_front) = (hot.due, hot.queues, hot.in_front);
    let is_later = hot.reason == Reason::Later;
    let front_queue = if is_later { "bench-0" } else { "front" };
    let shut = match hot.reason {
        Reason::Later => String::new(),
        Reason::Paused => "UPDATE chokaq.queues SET is_paused = true WHERE queue = 'front';".to_owned(),
        Reason::Full => "
            UPDATE chokaq.queues SET max_workers = 10 WHERE queue = 'front';
            UPDATE chokaq.jobs_hot
            SET status = 2, worker_id = 'other', fetched_at_utc = now(), started_at_utc = now(), heartbeat_utc = now()
            WHERE id IN (SELECT id FROM chokaq.jobs_hot WHERE queue = 'front' LIMIT 10);"
            .to_owned(),
    };
    let due_jobs = insert_jobs(0, due, &format!("'bench-' || n % {queues}"), 10, false);
    let front_jobs = insert_jobs(due, in_front, &format!("'{front_queue}'"), 100, is_later);
    format!(
        "TRUNCATE chokaq.jobs_hot, chokaq.jobs_archive, chokaq.jobs_dlq, chokaq.counter_deltas, chokaq.metric_buckets,
            chokaq.queues, chokaq.queue_claims, chokaq.queue_totals, chokaq.operator_history;
        SELECT chokaq.ensure_queues(ARRAY(SELECT 'bench-' || n FROM generate_series(0, {queues} - 1) AS n) || '{{front}}');
        {due_jobs}
        {front_jobs}
        {shut}"
    )
}

/// The script that adds as many due jobs as were taken, and empties the Archive.
pub fn top_up(hot: &Hot, added: u64, count: u64) -> String {
    let queue = format!("'bench-' || n % {}", hot.queues);
    let jobs = insert_jobs(hot.due + hot.in_front + added, count, &queue, 10, false);
    format!("TRUNCATE chokaq.jobs_archive; {jobs} ANALYZE chokaq.jobs_hot;")
}

/// `count` pending jobs, numbered from `from`.
fn insert_jobs(from: u64, count: u64, queue: &str, priority: i32, is_later: bool) -> String {
    let payload = payload("n");
    let due_at = if is_later { "now() + interval '1 day'" } else { "now()" };
    let last = from + count;
    format!(
        "INSERT INTO chokaq.jobs_hot (
            id, queue, type, payload, priority, status, due_at_utc, is_due, first_due_at_utc, arrival, created_at_utc,
            last_updated_utc, revision
        )
        SELECT
            'job-' || to_char(n, 'FM0000000000'), {queue}, 'mail', {payload}, {priority}, 0, {due_at}, NOT {is_later},
            {due_at}, n, now(), now(), n
        FROM generate_series({from} + 1, {last}) AS n;"
    )
}

/// The script that fills JobsArchive with jobs done 91 days ago and jobs done today, in the order in which they were
/// done, as in life.
pub fn fill_archive(old: u64, young: u64) -> String {
    let payload = payload("n");
    format!(
        "TRUNCATE chokaq.jobs_archive, chokaq.operator_history;
        INSERT INTO chokaq.jobs_archive (
            id, queue, type, payload, priority, attempt_count, worker_id, started_at_utc, finished_at_utc, duration_ms,
            created_at_utc, resurrect_count, revision
        )
        SELECT
            'done-' || to_char(n, 'FM0000000000'), 'bench-0', 'mail', {payload}, 10, 1, 'worker-1', at, at, 12.5, at, 0, n
        FROM (
            SELECT
                n,
                now() - CASE WHEN n <= {old} THEN interval '91 days' ELSE '1 hour' END + n * interval '1 millisecond' AS at
            FROM generate_series(1, {old} + {young}) AS n
        ) AS j;"
    )
}

/// The script that fills JobsDLQ.
pub fn fill_dlq(jobs: u64) -> String {
    let payload = payload("n");
    format!(
        "TRUNCATE chokaq.jobs_hot, chokaq.jobs_dlq, chokaq.counter_deltas, chokaq.operator_history;
        SELECT chokaq.ensure_queues('{{bench-0}}');
        INSERT INTO chokaq.jobs_dlq (
            id, queue, type, payload, priority, attempt_count, worker_id, failure_reason, error_details, failed_at_utc,
            created_at_utc, last_updated_utc, resurrect_count, revision
        )
        SELECT
            'dead-' || to_char(n, 'FM0000000000'), 'bench-0', 'mail', {payload}, 10, 3, 'worker-1', 0,
            'The server said 550: no such mailbox', now(), now(), now(), 0, n
        FROM generate_series(1, {jobs}) AS n;"
    )
}
