//! Four sessions, one job at a time, while another session holds an old snapshot open, so that nothing they leave behind
//! can be cleaned away; against the same without the snapshot.

use std::time::Duration;

use chokaq_bench::contender::{Backlog, Contender};
use chokaq_bench::plot::{Line, Plot};
use chokaq_bench::report::{Table, ratio, thousands};
use chokaq_bench::{Result, crew};

use super::Options;
use super::cast::Cast;

const SESSIONS: usize = 4;

pub async fn measure(options: &Options, cast: &Cast, server: &str) -> Result<()> {
    let time = Duration::from_secs_f64(options.snapshot_seconds);
    let about = format!(
        "Jobs per second of {SESSIONS} sessions, one job at a time, in the first and in the last sixth of {} s, with \
        and without another session's snapshot from before the first. What counts is the last column: the last sixth \
        beside the snapshot against the last sixth without it.",
        options.snapshot_seconds
    );
    let mut report = options.report("snapshot", "Beside an old snapshot", &about, server)?;

    let mut table = Table::new([
        "contender",
        "first, without",
        "last, without",
        "first, with",
        "last, with",
        "last, with / without",
    ]);
    let mut lines = Vec::new();
    for contender in cast.contenders.iter().filter(|one| (one.recipe)(1).is_some()) {
        let without = run(options, contender, time, false).await?;
        let with = run(options, contender, time, true).await?;
        let sixth = time / 6;
        let parts = |run: &crew::Run| (run.rate_between(Duration::ZERO, sixth), run.rate_between(sixth * 5, time));
        let (without, with_snapshot) = (parts(&without), parts(&with));
        table.row([
            contender.name.clone(),
            thousands(without.0),
            thousands(without.1),
            thousands(with_snapshot.0),
            thousands(with_snapshot.1),
            ratio(with_snapshot.1 / without.1),
        ]);
        eprintln!("{:.0}, {:.0} jobs/s in the end by {}", without.1, with_snapshot.1, contender.name);
        let step = time / 30;
        lines.push(Line {
            name: contender.name.clone(),
            points: (0..30)
                .map(|n| ((step * n + step / 2).as_secs_f64(), with.rate_between(step * n, step * (n + 1))))
                .collect(),
        });
    }
    report.say(&table.to_string());
    let title = "Beside an old snapshot";
    if let Some(file) = report.plot("snapshot", title) {
        Plot { title, x: "seconds", y: "jobs per second", logarithmic: (false, false), lines }.draw(&file)?;
    }
    report.end()
}

async fn run(options: &Options, contender: &Contender, time: Duration, snapshot: bool) -> Result<crew::Run> {
    let Some(recipe) = (contender.recipe)(1) else { anyhow::bail!("{} takes no single jobs", contender.name) };
    let backlog = Backlog::due(options.due_for(1, time));
    contender.database.prepare(&(contender.fill)(backlog)).await?;
    let holder = contender.database.connect().await?;
    if snapshot {
        holder.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;").await?;
    }
    crew::work(&contender.database, recipe, SESSIONS, time).await
}
