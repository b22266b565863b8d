//! The fetch and the purge on PostgreSQL, each beside its floor: the least SQL that does something like it on a bare
//! table, in the same run on the same server. Read the ratios; the times belong to the machine.

use std::time::{Duration, Instant};

use chokaq::{Client, FetchNextBatch, PurgeArchive};
use chokaq_tests::server::Servers;
use chokaq_tests::{Result, Session};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use time::OffsetDateTime;

const BATCH: i32 = 10;

/// What stands in the way of a fetch: name, jobs that are due, SQL that adds what is not to be taken.
const BACKLOGS: [(&str, i64, &str); 4] = [
    ("1k due", 1_000, ""),
    ("100k due", 100_000, ""),
    (
        "1k due behind 100k for later",
        1_000,
        "UPDATE chokaq.jobs_hot SET priority = 100, is_due = false, due_at_utc = due_at_utc + interval '1 day'
        WHERE arrival > 1000;",
    ),
    (
        "1k due behind 100k in a paused queue",
        1_000,
        "UPDATE chokaq.jobs_hot SET priority = 100, queue = 'paused' WHERE arrival > 1000;
        SELECT chokaq.ensure_queues('{paused}');
        UPDATE chokaq.queues SET is_paused = true WHERE queue = 'paused';",
    ),
];

const FLOOR_FETCH: &str = "UPDATE floor_jobs SET status = 1 WHERE id = ANY (ARRAY(
    SELECT id FROM floor_jobs WHERE status = 0 ORDER BY priority DESC, id LIMIT 10 FOR UPDATE SKIP LOCKED
)) RETURNING id, payload";

/// A database, a session that arranges, and the driver's client.
struct Bench {
    servers: Servers,
    database: String,
}

impl Bench {
    fn new() -> Result<Self> {
        let servers = Servers::find()?;
        let postgres = servers.postgres()?;
        let database = servers.block_on(postgres.create_database())?;
        Ok(Self { database, servers })
    }

    fn session(&self) -> Result<Session> {
        self.servers.block_on(self.servers.postgres()?.connect(&self.database))
    }

    fn client(&self) -> Result<Client> {
        Ok(self.servers.block_on(Client::connect(&self.servers.postgres()?.url(&self.database)))?)
    }
}

async fn run(session: &mut Session, sql: &str) {
    session.batch(sql, "").await.expect("the SQL of a bench runs");
}

async fn fill_hot(session: &mut Session, jobs: i64, rest: &str) {
    let total = if rest.is_empty() { jobs } else { 100_000 + jobs };
    let sql = format!(
        "TRUNCATE chokaq.jobs_hot;
        SELECT chokaq.ensure_queues('{{bench}}');
        INSERT INTO chokaq.jobs_hot (
            id, queue, type, payload, priority, status, due_at_utc, is_due, first_due_at_utc, arrival,
            created_at_utc, last_updated_utc, revision
        )
        SELECT n::text, 'bench', 'bench', '{{}}', 10, 0, now(), true, now(), n, now(), now(), n
        FROM generate_series(1, {total}) AS n;
        {rest}"
    );
    run(session, &sql).await;
    run(session, "VACUUM ANALYZE chokaq.jobs_hot").await;
}

fn fetch(criterion: &mut Criterion) {
    let bench = Bench::new().expect("PostgreSQL starts");
    let client = bench.client().expect("the driver connects");
    let mut session = bench.session().expect("a session opens");
    let mut group = criterion.benchmark_group("fetch of 10");
    group.throughput(Throughput::Elements(BATCH as u64));
    let wanted = FetchNextBatch { batch_size: Some(BATCH), ..FetchNextBatch::new("bench") };

    for (name, due, rest) in BACKLOGS {
        bench.servers.block_on(fill_hot(&mut session, due, rest));
        group.bench_function(BenchmarkId::new("fetch_next_batch", name), |bencher| {
            bencher.iter_custom(|times| {
                bench.servers.block_on(timed(times, due, &mut session, async |session, fetch| match fetch {
                    true => {
                        let jobs = client.fetch_next_batch(&wanted).await.expect("a fetch answers");
                        assert_eq!(jobs.len(), BATCH as usize);
                    }
                    false => {
                        let sql = "UPDATE chokaq.jobs_hot SET status = 0, worker_id = NULL WHERE worker_id IS NOT NULL";
                        run(session, sql).await;
                        run(session, "VACUUM chokaq.jobs_hot").await;
                    }
                }))
            });
        });
    }

    for due in [1_000, 100_000] {
        let sql = format!(
            "DROP TABLE IF EXISTS floor_jobs;
            CREATE TABLE floor_jobs (id bigint PRIMARY KEY, priority integer, status integer, payload text);
            INSERT INTO floor_jobs SELECT n, 10, 0, '{{}}' FROM generate_series(1, {due}) AS n;
            CREATE INDEX ON floor_jobs (priority DESC, id) WHERE status = 0;"
        );
        bench.servers.block_on(run(&mut session, &sql));
        group.bench_function(BenchmarkId::new("floor", format!("{due} due")), |bencher| {
            bencher.iter_custom(|times| {
                bench.servers.block_on(timed(times, due, &mut session, async |session, fetch| match fetch {
                    true => {
                        let rows = session.sql(FLOOR_FETCH, &[]).await.expect("the floor answers");
                        assert_eq!(rows.rows.len(), BATCH as usize);
                    }
                    false => {
                        run(session, "UPDATE floor_jobs SET status = 0 WHERE status = 1").await;
                        run(session, "VACUUM floor_jobs").await;
                    }
                }))
            });
        });
    }
}

/// Times that many fetches, putting the jobs back, untimed, before they run out.
async fn timed(times: u64, due: i64, session: &mut Session, mut step: impl AsyncFnMut(&mut Session, bool)) -> Duration {
    let mut taken = Duration::ZERO;
    for n in 0..times {
        if n % (due as u64 / BATCH as u64) == 0 {
            step(session, false).await;
        }
        let start = Instant::now();
        step(session, true).await;
        taken += start.elapsed();
    }
    step(session, false).await;
    taken
}

fn purge(criterion: &mut Criterion) {
    let bench = Bench::new().expect("PostgreSQL starts");
    let client = bench.client().expect("the driver connects").with_timeout(None);
    let mut session = bench.session().expect("a session opens");
    let mut group = criterion.benchmark_group("purge of 20,000 old rows beside 20,000 young ones");
    group.throughput(Throughput::Elements(20_000)).sample_size(10);
    let fill = "TRUNCATE chokaq.jobs_archive;
        INSERT INTO chokaq.jobs_archive (
            id, queue, type, payload, priority, attempt_count, finished_at_utc, created_at_utc, resurrect_count, revision
        )
        SELECT n::text, 'bench', 'bench', '{}', 10, 1, now() - CASE WHEN n % 2 = 0 THEN interval '91 days' ELSE '0' END,
            now(), 0, n
        FROM generate_series(1, 40000) AS n";

    for batch in [1_000, 4_000] {
        group.bench_function(BenchmarkId::new("purge_archive", batch), |bencher| {
            bencher.iter_custom(|times| {
                bench.servers.block_on(async {
                    let mut taken = Duration::ZERO;
                    for _ in 0..times {
                        run(&mut session, fill).await;
                        let old = OffsetDateTime::now_utc() - Duration::from_secs(90 * 86_400);
                        let wanted = PurgeArchive { cleanup_batch_size: Some(batch), ..PurgeArchive::new(old) };
                        let start = Instant::now();
                        let result = client.purge_archive(&wanted).await.expect("a purge answers");
                        taken += start.elapsed();
                        assert_eq!(result.deleted_count, 20_000);
                    }
                    taken
                })
            });
        });
    }

    group.bench_function("floor: one DELETE", |bencher| {
        bencher.iter_custom(|times| {
            bench.servers.block_on(async {
                let mut taken = Duration::ZERO;
                for _ in 0..times {
                    run(&mut session, fill).await;
                    let start = Instant::now();
                    let sql = "DELETE FROM chokaq.jobs_archive WHERE finished_at_utc < now() - interval '90 days'";
                    run(&mut session, sql).await;
                    taken += start.elapsed();
                }
                taken
            })
        });
    });
}

criterion_group!(benches, fetch, purge);
criterion_main!(benches);
