//! A purge of old rows beside young ones: how fast, how long its longest transaction, how steady, and what workers beside
//! it notice.

use std::time::{Duration, Instant};

use chokaq_bench::contenders::{floor, graphile_worker, pg_boss, procrastinate};
use chokaq_bench::kit::{self, Hot, Way};
use chokaq_bench::plot::{Line, Plot};
use chokaq_bench::purging::{by_the_kit, loop_by_hand, one_delete};
use chokaq_bench::report::{Report, Table, ratio, thousands, with_spread};
use chokaq_bench::stats::Sample;
use chokaq_bench::{Database, Result, crew};
use time::OffsetDateTime;
use tokio_postgres::SimpleQueryMessage;

use super::Options;
use super::cast::{Cast, Purge};

const BATCHES: [i32; 3] = [100, 1_000, 4_000];

/// Someone's way to purge.
struct Contest<'a> {
    name: String,
    database: &'a Database,
    fill: String,
    purge: Means<'a>,
    sample: Sample,
    longest: Duration,
}

/// How it is run.
enum Means<'a> {
    /// One statement, whatever it commits on the way.
    Statement(String),
    /// pg-boss' transactions, one a batch of keys.
    Keys { first: &'a str, next: &'a str },
}

pub async fn measure(options: &Options, cast: &Cast, server: &str) -> Result<()> {
    let (old, young) = (options.rows(500_000), options.rows(500_000));
    let about = format!(
        "{} old rows beside as many young ones: the median of {} runs, the contenders in turn, and half the distance \
        between the least and the greatest. The loop by hand goes along the index from key to key and commits each \
        batch; it skips nothing, counts nothing and records nothing.",
        thousands(old as f64),
        options.repeats
    );
    let mut report = options.report("purge", "Purge", &about, server)?;
    everyone(options, cast, (old, young), &mut report).await?;
    if cast.contenders.iter().any(Cast::is_kit) {
        progress(options, cast, &mut report).await?;
        beside(options, cast, &mut report).await?;
    }
    report.end()
}

async fn everyone(options: &Options, cast: &Cast, (old, young): (u64, u64), report: &mut Report) -> Result<()> {
    let mut contests: Vec<Contest> = Vec::new();
    let mut enter = |name: String, database, fill, purge| {
        contests.push(Contest { name, database, fill, purge, sample: Sample::default(), longest: Duration::ZERO });
    };
    for (name, database, purge) in &cast.purges {
        match purge {
            Purge::GraphileWorker(sql) => {
                let fill = graphile_worker::fill_failed(old, young);
                enter(format!("{name}, failed jobs, one DELETE"), database, fill, Means::Statement(sql.clone()));
            }
            Purge::PgBoss { first, next } => {
                let fill = pg_boss::fill_completed(old, young);
                enter(format!("{name}, batches of 10,000 keys"), database, fill, Means::Keys { first, next });
            }
            Purge::Procrastinate(sql) => {
                let fill = procrastinate::fill_succeeded(old, young);
                enter(format!("{name}, one DELETE with cascades"), database, fill, Means::Statement(sql.clone()));
            }
        }
    }
    if let Some(bare) = cast.contenders.iter().find(|one| Cast::is_floor(one)) {
        let fill = || floor::fill_archive(old, young);
        let by_hand = loop_by_hand("archive", "id", "finished_at", 1_000);
        enter("floor, bare: loop of 1,000".to_owned(), &bare.database, fill(), Means::Statement(by_hand));
        let at_once = one_delete("archive", "finished_at");
        enter("floor, bare: one DELETE".to_owned(), &bare.database, fill(), Means::Statement(at_once));
    }
    let fill = || kit::fill_archive(old, young);
    let by_hand = |batch| loop_by_hand("chokaq.jobs_archive", "id", "finished_at_utc", batch);
    let floor_of = |batch: i32| format!("floor, kit's row: loop of {}", thousands(batch.into()));
    for batch in BATCHES {
        enter(floor_of(batch), &cast.kit, fill(), Means::Statement(by_hand(batch)));
        let name = format!("chokaq, purge_archive of {}", thousands(batch.into()));
        enter(name, &cast.kit, fill(), Means::Statement(by_the_kit(batch)));
    }
    let at_once = one_delete("chokaq.jobs_archive", "finished_at_utc");
    enter("floor, kit's row: one DELETE".to_owned(), &cast.kit, fill(), Means::Statement(at_once));

    for _ in 0..options.repeats {
        for contest in &mut contests {
            contest.database.prepare(&contest.fill).await?;
            let start = Instant::now();
            let longest = contest.purge.run(contest.database).await?;
            let rate = old as f64 / start.elapsed().as_secs_f64();
            eprintln!("{rate:.0} rows/s by {}", contest.name);
            contest.sample.push(rate);
            contest.longest = contest.longest.max(longest);
        }
    }

    let ours = |batch: i32| {
        let name = format!("chokaq, purge_archive of {}", thousands(batch.into()));
        contests.iter().find(|one| one.name == name).map_or(f64::NAN, |one| one.sample.median())
    };
    let thousand = ours(1_000);
    let mut table =
        Table::new(["", "rows/s", "longest statement, ms", "chokaq in batches of 1,000 is so many times this"]);
    for contest in &contests {
        table.row([
            contest.name.clone(),
            with_spread(&contest.sample),
            thousands(contest.longest.as_secs_f64() * 1_000.0),
            ratio(thousand / contest.sample.median()),
        ]);
    }
    report.say(&table.to_string());
    Ok(())
}

impl Means<'_> {
    /// Purges; the longest statement that it took.
    async fn run(&self, database: &Database) -> Result<Duration> {
        let client = database.connect().await?;
        let start = Instant::now();
        match self {
            Self::Statement(sql) => {
                client.batch_execute(sql).await?;
                Ok(start.elapsed())
            }
            Self::Keys { first, next } => {
                let mut longest = Duration::ZERO;
                let mut statement = (*first).to_owned();
                loop {
                    let start = Instant::now();
                    let answer = client.simple_query(&statement).await?;
                    longest = longest.max(start.elapsed());
                    let cursor = answer.iter().find_map(|message| match message {
                        SimpleQueryMessage::Row(row) => row.try_get("walkCursor").ok().flatten(),
                        _ => None,
                    });
                    match cursor {
                        Some(key) => statement = next.replace(":after", key),
                        None => return Ok(longest),
                    }
                }
            }
        }
    }
}

/// Two million rows, batch by batch: the time of each, which is the time of one transaction.
async fn progress(options: &Options, cast: &Cast, report: &mut Report) -> Result<()> {
    let total = options.rows(2_000_000);
    let mut table = Table::new([
        "purge_archive_batch, batches of 1,000",
        "rows/s, first tenth",
        "rows/s, last tenth",
        "first / last",
        "longest transaction, ms",
        "p50, ms",
    ]);
    let mut line = Line { name: "purge_archive_batch".to_owned(), points: Vec::new() };
    for repeat in 1..=options.repeats {
        cast.kit.prepare(&kit::fill_archive(total, options.rows(500_000))).await?;
        let batches = purge_by_batches(&cast.kit).await?;
        let tenth = batches.len() / 10;
        let rate = |part: &[(Duration, Duration)]| {
            1_000.0 * part.len() as f64 / part.iter().map(|(_, taken)| taken.as_secs_f64()).sum::<f64>()
        };
        let (first, last) = (rate(&batches[..tenth]), rate(&batches[batches.len() - tenth..]));
        let taken: Sample = batches.iter().map(|(_, taken)| taken.as_secs_f64() * 1_000.0).collect();
        table.row([
            format!("run {repeat}, {} rows", thousands(total as f64)),
            thousands(first),
            thousands(last),
            ratio(first / last),
            format!("{:.1}", taken.max()),
            format!("{:.2}", taken.median()),
        ]);
        let step = (batches.len() / 200).max(1);
        line.points = batches
            .iter()
            .enumerate()
            .step_by(step)
            .map(|(n, (at, _))| (at.as_secs_f64(), 1_000.0 * (n + 1) as f64))
            .collect();
    }
    report.say(&table.to_string());
    let title = "Progress of a purge in batches of 1,000";
    if let Some(file) = report.plot("purge", title) {
        Plot { title, x: "seconds", y: "rows deleted", logarithmic: (false, false), lines: vec![line] }.draw(&file)?;
    }
    Ok(())
}

/// When each batch ended, and how long it took.
async fn purge_by_batches(database: &Database) -> Result<Vec<(Duration, Duration)>> {
    let client = database.connect().await?;
    let batch = client
        .prepare(
            "SELECT has_more, last_finished_at_utc, last_job_id FROM chokaq.purge_archive_batch(
                p_older_than_utc => $1, p_cleanup_batch_size => 1000, p_after_finished_at_utc => $2, p_after_job_id => $3
            )",
        )
        .await?;
    let old = OffsetDateTime::now_utc() - Duration::from_secs(90 * 86_400);
    let (mut finished_at, mut job_id): (Option<OffsetDateTime>, Option<String>) = (None, None);
    let mut batches = Vec::new();
    let start = Instant::now();
    loop {
        let begun = Instant::now();
        let row = client.query_one(&batch, &[&old, &finished_at, &job_id]).await?;
        batches.push((start.elapsed(), begun.elapsed()));
        if !row.get::<_, bool>("has_more") {
            return Ok(batches);
        }
        (finished_at, job_id) = (row.get("last_finished_at_utc"), row.get("last_job_id"));
    }
}

/// Four workers with and without a purge beside them.
async fn beside(options: &Options, cast: &Cast, report: &mut Report) -> Result<()> {
    let mut table = Table::new([
        "4 workers, jobs/s",
        "alone",
        "beside a purge of 1,000",
        "of their throughput",
        "rows/s purged meanwhile",
    ]);
    for batch in [1, 10] {
        let (mut alone, mut with_purge, mut purged) = (Sample::default(), Sample::default(), Sample::default());
        for _ in 0..options.repeats {
            alone.push(run_beside(options, cast, batch, None).await?.0);
            let old = options.rows(3_000_000);
            let (jobs, rows) = run_beside(options, cast, batch, Some(old)).await?;
            with_purge.push(jobs);
            purged.push(rows);
        }
        table.row([
            format!("batches of {batch}"),
            with_spread(&alone),
            with_spread(&with_purge),
            ratio(with_purge.median() / alone.median()),
            with_spread(&purged),
        ]);
    }
    report.say(&table.to_string());
    Ok(())
}

/// Jobs per second, and rows that the purge deleted in a second, both while both were at it.
async fn run_beside(options: &Options, cast: &Cast, batch: i32, old: Option<u64>) -> Result<(f64, f64)> {
    let time = options.time();
    let hot = kit::fill(&Hot::due(options.due_for(batch, time)));
    let archive = kit::fill_archive(old.unwrap_or(0), options.rows(500_000));
    cast.kit.prepare(&format!("{hot} {archive}")).await?;
    let Some(recipe) = Way::StartNow.recipe(batch) else { anyhow::bail!("no such batch") };
    let client = cast.kit.connect().await?;
    let purge = async {
        /* What the workers do before is not counted either. */
        tokio::time::sleep(time / 10).await;
        let began: OffsetDateTime = client.query_one("SELECT clock_timestamp()", &[]).await?.get(0);
        let start = Instant::now();
        if old.is_some() {
            client.batch_execute(&by_the_kit(1_000)).await?;
        }
        anyhow::Ok((began, start.elapsed()))
    };
    let (run, purge) = tokio::join!(crew::work(&cast.kit, recipe, 4, time), purge);
    let (run, (began, took)) = (run?, purge?);
    let Some(_) = old else { return Ok((run.rate_between(Duration::ZERO, time), 0.0)) };
    /* The purge goes on when the workers have ended, and faster: that is not counted. */
    let both = took.min(time);
    let deleted = "SELECT COALESCE(sum(job_count), 0)::float8 FROM chokaq.operator_history
        WHERE action = 'archive_purged' AND at_utc >= $1 AND at_utc <= $2";
    let rows: f64 = client.query_one(deleted, &[&began, &(began + both)]).await?.get(0);
    Ok((run.rate_between(Duration::ZERO, both), rows / both.as_secs_f64()))
}
