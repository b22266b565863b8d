//! Claim and complete: jobs per second by size of batch and number of sessions.

use chokaq_bench::contender::Backlog;
use chokaq_bench::plot::{Line, Plot};
use chokaq_bench::report::{Table, ratio, with_spread};
use chokaq_bench::stats::Sample;
use chokaq_bench::{Result, crew};

use super::Options;
use super::cast::Cast;

pub async fn measure(options: &Options, cast: &Cast, server: &str) -> Result<()> {
    let about = format!(
        "Jobs that were claimed and completed in a second: the median of {} runs of {} s each, the contenders in turn, \
        and half the distance between the least and the greatest. At least 100,000 due jobs.",
        options.repeats, options.seconds
    );
    let mut report = options.report("throughput", "Claim and complete", &about, server)?;

    for &batch in &options.batches {
        let mut lines: Vec<Line> =
            cast.contenders.iter().map(|one| Line { name: one.name.clone(), points: Vec::new() }).collect();
        for &sessions in &options.sessions {
            let samples = measure_all(options, cast, batch, sessions).await?;
            for (line, sample) in lines.iter_mut().zip(&samples) {
                if !sample.is_empty() {
                    line.points.push((sessions as f64, sample.median()));
                }
            }
            report.say(&format!("### Batch {batch}, sessions {sessions}\n\n{}", table(cast, &samples)));
        }
        lines.retain(|line| line.points.len() > 1);
        let title = format!("Claim and complete in batches of {batch}");
        if let Some(file) = report.plot(&format!("throughput-{batch}"), &title).filter(|_| !lines.is_empty()) {
            Plot { title: &title, x: "sessions", y: "jobs per second", logarithmic: (false, false), lines }
                .draw(&file)?;
        }
    }
    report.end()
}

async fn measure_all(options: &Options, cast: &Cast, batch: i32, sessions: usize) -> Result<Vec<Sample>> {
    let backlog = Backlog::due(options.due_for(batch, options.time()));
    let mut samples = vec![Sample::default(); cast.contenders.len()];
    for _ in 0..options.repeats {
        for (contender, sample) in cast.contenders.iter().zip(&mut samples) {
            if let Some(recipe) = (contender.recipe)(batch) {
                contender.database.prepare(&(contender.fill)(backlog)).await?;
                let rate = crew::work(&contender.database, recipe, sessions, options.time()).await?.rate();
                eprintln!("batch {batch}, sessions {sessions}: {rate:.0} jobs/s by {}", contender.name);
                sample.push(rate);
            }
        }
    }
    Ok(samples)
}

fn table(cast: &Cast, samples: &[Sample]) -> Table {
    let ways: Vec<usize> =
        (0..samples.len()).filter(|&n| Cast::is_kit(&cast.contenders[n]) && !samples[n].is_empty()).collect();
    let mut header = vec!["contender".to_owned(), "what it keeps".to_owned(), "jobs/s".to_owned()];
    header.extend(ways.iter().map(|&way| format!("{} is so many times this", cast.contenders[way].name)));
    let mut table = Table::new(header);
    for (contender, sample) in cast.contenders.iter().zip(samples) {
        let mut cells = vec![contender.name.clone(), contender.keeps.to_owned(), with_spread(sample)];
        cells.extend(ways.iter().map(|&way| ratio(samples[way].median() / sample.median())));
        table.row(cells);
    }
    table
}
