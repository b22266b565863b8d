//! The fetch: with start and success by every way to call them, and alone before backlogs of all kinds.

use std::time::{Duration, Instant};

use chokaq_bench::crew::{Crew, Worker};
use chokaq_bench::kit::{Hot, Reason, Way};
use chokaq_bench::profile::Profile;
use chokaq_bench::scene::{Scene, Supply};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const BATCHES: [i32; 3] = [10, 1, 100];
const SESSIONS: [usize; 2] = [8, 1];

fn fetch_start_succeed(criterion: &mut Criterion) {
    let (scene, profile) = (Scene::new().expect("PostgreSQL starts"), Profile::from_env());
    let mut supply = scene.fill(Hot::due(profile.rows(200_000))).expect("the jobs are made");
    let mut group = criterion.benchmark_group("fetch, start, succeed");
    group.sample_size(profile.samples(20)).measurement_time(profile.time(Duration::from_secs(5)));
    group.warm_up_time(profile.time(Duration::from_secs(1)));

    for &sessions in profile.some(&SESSIONS) {
        for &batch in profile.some(&BATCHES) {
            for way in Way::ALL {
                let Some(recipe) = way.recipe(batch) else { continue };
                let crew = scene.block_on(Crew::start(&scene.database, recipe, sessions)).expect("workers connect");
                group.throughput(Throughput::Elements(batch as u64));
                let id = BenchmarkId::new(way.name(), format!("batch {batch}, sessions {sessions}"));
                group.bench_function(id, |bencher| {
                    bencher.iter_custom(|cycles| supply.cycles(&crew, batch, cycles).expect("the workers work"));
                });
            }
        }
    }
}

fn fetch_of_ten(criterion: &mut Criterion) {
    let (scene, profile) = (Scene::new().expect("PostgreSQL starts"), Profile::from_env());
    let many = profile.rows(1_000_000);
    let behind = |reason| Hot { in_front: many, reason, ..Hot::due(1_000) };
    let in_queues = |queues| Hot { queues, ..Hot::due(profile.rows(100_000)) };
    let backlogs = [
        ("1k due", Hot::due(1_000)),
        ("100k due", Hot::due(profile.rows(100_000))),
        ("1M due", Hot::due(many)),
        ("1k due behind 1M for later", behind(Reason::Later)),
        ("1k due behind 1M in a paused queue", behind(Reason::Paused)),
        ("1k due behind 1M in a full queue", behind(Reason::Full)),
        ("100k due in 1 queue", in_queues(1)),
        ("100k due in 100 queues", in_queues(100)),
        ("100k due in 1,000 queues", in_queues(1_000)),
    ];
    let mut group = criterion.benchmark_group("fetch of 10");
    group.sample_size(profile.samples(50)).measurement_time(profile.time(Duration::from_secs(3)));
    group.warm_up_time(profile.time(Duration::from_secs(1))).throughput(Throughput::Elements(10));

    for (name, hot) in backlogs {
        let mut supply = scene.fill(hot).expect("the jobs are made");
        let recipe = Way::StartNow.recipe(10).expect("it works in batches").into();
        let worker = scene.block_on(Worker::start(&scene.database, &recipe, 1)).expect("a worker connects");
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|fetches| timed_fetches(&scene, &mut supply, &worker, fetches));
        });
    }
}

/// The fetches alone: the end of the jobs and their replacement are not counted.
fn timed_fetches(scene: &Scene, supply: &mut Supply<'_>, worker: &Worker, fetches: u64) -> Duration {
    let mut taken = Duration::ZERO;
    for _ in 0..fetches {
        let jobs = scene.block_on(async {
            let start = Instant::now();
            let rows = worker.claim().await.expect("a fetch answers");
            taken += start.elapsed();
            worker.finish(&rows).await.expect("the jobs are archived");
            rows.len()
        });
        assert_eq!(jobs, 10);
        supply.replace(10).expect("the jobs are replaced");
    }
    taken
}

criterion_group!(benches, fetch_start_succeed, fetch_of_ten);
criterion_main!(benches);
