//! One claim of 10 before backlogs of all kinds: what it costs must depend on the batch alone.

use std::sync::Arc;
use std::time::Instant;

use chokaq_bench::contender::{Backlog, Contender, Recipe};
use chokaq_bench::crew::Worker;
use chokaq_bench::kit::{self, Hot, Reason};
use chokaq_bench::plot::{Line, Plot};
use chokaq_bench::report::{Table, ratio};
use chokaq_bench::stats::Sample;
use chokaq_bench::{Database, Result};

use super::Options;
use super::cast::Cast;

/// Less than 1,000 jobs hold.
const CLAIMS: usize = 90;

const DUE: [(u64, &str); 3] = [(1_000, "1k due"), (100_000, "100k due"), (1_000_000, "1M due")];

pub async fn measure(options: &Options, cast: &Cast, server: &str) -> Result<()> {
    let about = format!(
        "A claim of 10 by one session (by procrastinate: of 1), in ms: the median of {} claims, each followed by its \
        completion, which is not counted. Later, paused and full jobs have a higher priority than the 1,000 due ones.",
        CLAIMS * options.repeats
    );
    let mut report = options.report("claim", "The cost of a claim against the backlog", &about, server)?;
    everyone(options, cast, &mut report).await?;
    if cast.contenders.iter().any(Cast::is_kit) {
        the_kit(options, cast, &mut report).await?;
    }
    report.end()
}

/// The backlogs that every contender knows.
async fn everyone(options: &Options, cast: &Cast, report: &mut chokaq_bench::report::Report) -> Result<()> {
    let mut backlogs: Vec<(String, Backlog)> =
        DUE.iter().map(|(due, name)| ((*name).to_owned(), Backlog::due(options.rows(*due).max(1_000)))).collect();
    backlogs.push(("1M later".to_owned(), Backlog { due: 1_000, later: options.rows(1_000_000) }));

    /* One way of the kit stands for all: the claim is the same. */
    let contenders: Vec<&Contender> =
        cast.contenders.iter().filter(|one| !Cast::is_kit(one) || one.name.ends_with("start_now")).collect();
    let mut samples = vec![vec![Sample::default(); backlogs.len()]; contenders.len()];
    for _ in 0..options.repeats {
        for (contender, samples) in contenders.iter().zip(&mut samples) {
            let recipe = (contender.recipe)(10).or_else(|| (contender.recipe)(1));
            let Some(recipe) = recipe.map(Arc::new) else { continue };
            for ((name, backlog), sample) in backlogs.iter().zip(samples) {
                time_claims(&contender.database, &(contender.fill)(*backlog), &recipe, sample).await?;
                eprintln!("{name}: {:.2} ms by {}", sample.median(), contender.name);
            }
        }
    }

    let mut table = Table::new(
        std::iter::once("contender".to_owned())
            .chain(backlogs.iter().map(|(name, _)| name.clone()))
            .chain(["1M due / 1k due".to_owned(), "1M later / 1k due".to_owned()]),
    );
    for (contender, samples) in contenders.iter().zip(&samples) {
        let medians: Vec<f64> = samples.iter().map(Sample::median).collect();
        table.row(
            std::iter::once(contender.name.clone())
                .chain(medians.iter().map(|median| format!("{median:.2}")))
                .chain([ratio(medians[2] / medians[0]), ratio(medians[3] / medians[0])]),
        );
    }
    report.say(&table.to_string());

    let title = "A claim of 10, by jobs due";
    if let Some(file) = report.plot("claim", title) {
        let lines = contenders.iter().zip(&samples).map(|(contender, samples)| Line {
            name: contender.name.clone(),
            points: backlogs
                .iter()
                .zip(samples)
                .filter(|((_, backlog), _)| backlog.later == 0)
                .map(|((_, backlog), sample)| (backlog.due as f64, sample.median()))
                .collect(),
        });
        Plot { title, x: "jobs due", y: "ms", logarithmic: (true, false), lines: lines.collect() }.draw(&file)?;
    }
    Ok(())
}

/// The backlogs that only the kit knows, against the plain one of the same run.
async fn the_kit(options: &Options, cast: &Cast, report: &mut chokaq_bench::report::Report) -> Result<()> {
    let many = options.rows(1_000_000);
    let plain = Hot::due(1_000);
    let behind = |reason| Hot { in_front: many, reason, ..plain };
    /* Jobs for a fetch in every queue. */
    let in_queues = |queues| Hot { due: 100_000, queues, ..plain };
    let backlogs = [
        ("1k due", plain),
        ("1k due behind 1M for later", behind(Reason::Later)),
        ("1k due behind 1M in a paused queue", behind(Reason::Paused)),
        ("1k due behind 1M in a full queue", behind(Reason::Full)),
        ("100k due in 1 queue", in_queues(1)),
        ("100k due in 100 queues", in_queues(100)),
        ("100k due in 1,000 queues", in_queues(1_000)),
    ];
    let mut samples = vec![Sample::default(); backlogs.len()];
    for _ in 0..options.repeats {
        for ((name, hot), sample) in backlogs.iter().zip(&mut samples) {
            let recipe = kit::Way::StartNow.recipe(10).map(Arc::new);
            let Some(recipe) = recipe else { continue };
            time_claims(&cast.kit, &kit::fill(hot), &recipe, sample).await?;
            eprintln!("{name}: {:.2} ms by the kit", sample.median());
        }
    }

    let mut table = Table::new(["chokaq, fetch of 10", "p50, ms", "p99, ms", "to the first of its kind"]);
    for (n, ((name, _), sample)) in backlogs.iter().zip(&samples).enumerate() {
        let first = &samples[if n < 4 { 0 } else { 4 }];
        table.row([
            (*name).to_owned(),
            format!("{:.2}", sample.median()),
            format!("{:.2}", sample.quantile(0.99)),
            ratio(sample.median() / first.median()),
        ]);
    }
    report.say(&table.to_string());
    Ok(())
}

async fn time_claims(database: &Database, fill: &str, recipe: &Arc<Recipe>, sample: &mut Sample) -> Result<()> {
    database.prepare(fill).await?;
    let worker = Worker::start(database, recipe, 1).await?;
    for n in 0..CLAIMS + 6 {
        let start = Instant::now();
        let rows = worker.claim().await?;
        let taken = start.elapsed();
        anyhow::ensure!(!rows.is_empty(), "a claim found nothing");
        worker.finish(&rows).await?;
        /* The plans of a session are settled after a few calls. */
        if n >= 6 {
            sample.push(taken.as_secs_f64() * 1_000.0);
        }
    }
    Ok(())
}
