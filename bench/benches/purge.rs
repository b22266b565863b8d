//! The purge of old jobs beside young ones, its floors, its progress through two million rows; and a batch of dead jobs
//! brought back.

use std::time::{Duration, Instant};

use chokaq_bench::kit::{fill_archive, fill_dlq};
use chokaq_bench::profile::Profile;
use chokaq_bench::purging::{by_the_kit, loop_by_hand, one_delete};
use chokaq_bench::scene::Scene;
use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};

const BATCHES: [i32; 3] = [1_000, 100, 4_000];

const TABLE: (&str, &str, &str) = ("chokaq.jobs_archive", "id", "finished_at_utc");

fn purge(criterion: &mut Criterion) {
    let (scene, profile) = (Scene::new().expect("PostgreSQL starts"), Profile::from_env());
    let old = profile.rows(500_000);
    let mut group = criterion.benchmark_group("purge of 500k old jobs beside 500k young ones");
    group.sample_size(10).sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(old));
    group.warm_up_time(Duration::from_millis(1)).measurement_time(profile.time(Duration::from_secs(10)));
    let (table, id, finished_at) = TABLE;
    let mut measure = |id: BenchmarkId, sql: String| {
        group.bench_function(id, |bencher| {
            bencher.iter_custom(|times| timed(&scene, times, &fill_archive(old, old), &sql));
        });
    };
    for &batch in profile.some(&BATCHES) {
        measure(BenchmarkId::new("purge_archive", batch), by_the_kit(batch));
        measure(BenchmarkId::new("floor, loop by hand", batch), loop_by_hand(table, id, finished_at, batch));
    }
    measure(BenchmarkId::from_parameter("floor, one DELETE"), one_delete(table, finished_at));
}

/// The first tenth and the last: each purged by as many batches, the rows before them gone.
fn progress(criterion: &mut Criterion) {
    let (scene, profile) = (Scene::new().expect("PostgreSQL starts"), Profile::from_env());
    let all = profile.rows(2_000_000);
    let tenth = all / 10;
    let mut group = criterion.benchmark_group("purge of 2M jobs");
    group.sample_size(10).sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(tenth));
    group.warm_up_time(Duration::from_millis(1)).measurement_time(profile.time(Duration::from_secs(5)));
    for (name, purged_before) in [("first tenth", 0), ("last tenth", all - tenth)] {
        let purge = |rows: u64| {
            format!(
                "CALL chokaq.purge_archive(
                    p_older_than_utc => clock_timestamp() - interval '90 days', p_max_batches => {}
                )",
                rows / 1_000
            )
        };
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|times| {
                let mut taken = Duration::ZERO;
                for _ in 0..times {
                    scene.block_on(async {
                        scene.database.prepare(&fill_archive(all, tenth)).await.expect("the jobs are made");
                        let client = scene.database.connect().await.expect("a session opens");
                        if purged_before > 0 {
                            client.batch_execute(&purge(purged_before)).await.expect("a purge answers");
                        }
                        let start = Instant::now();
                        client.batch_execute(&purge(tenth)).await.expect("a purge answers");
                        taken += start.elapsed();
                    });
                }
                taken
            });
        });
    }
}

fn resurrect(criterion: &mut Criterion) {
    let (scene, profile) = (Scene::new().expect("PostgreSQL starts"), Profile::from_env());
    let jobs = profile.rows(100_000);
    let mut group = criterion.benchmark_group("resurrect_batch of 100k jobs");
    group.sample_size(10).sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(jobs));
    group.warm_up_time(Duration::from_millis(1)).measurement_time(profile.time(Duration::from_secs(10)));
    for &batch in profile.some(&BATCHES) {
        /* A CALL takes no subquery, and in a block a variable for each of its results. */
        let sql = format!(
            "DO $$
            DECLARE
                v_ids text[] := ARRAY(SELECT id FROM chokaq.jobs_dlq);
                v_1 integer; v_2 integer; v_3 integer; v_4 integer; v_5 integer;
            BEGIN
                CALL chokaq.resurrect_batch(v_ids, 'ann', {batch}, v_1, v_2, v_3, v_4, v_5);
            END;
            $$"
        );
        group.bench_function(BenchmarkId::from_parameter(batch), |bencher| {
            bencher.iter_custom(|times| timed(&scene, times, &fill_dlq(jobs), &sql));
        });
    }
}

/// How long a statement takes over tables filled anew before each time.
fn timed(scene: &Scene, times: u64, fill: &str, sql: &str) -> Duration {
    let mut taken = Duration::ZERO;
    for _ in 0..times {
        scene.block_on(async {
            scene.database.prepare(fill).await.expect("the jobs are made");
            let client = scene.database.connect().await.expect("a session opens");
            let start = Instant::now();
            client.batch_execute(sql).await.expect("the statement runs");
            taken += start.elapsed();
        });
    }
    taken
}

criterion_group!(benches, purge, progress, resurrect);
criterion_main!(benches);
