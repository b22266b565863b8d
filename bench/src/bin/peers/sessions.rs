//! Sessions on one queue, and on a queue each: counters and queue rows must be no bottleneck.

use chokaq_bench::kit::{self, Hot, Way};
use chokaq_bench::plot::{Line, Plot};
use chokaq_bench::report::{Table, ratio, with_spread};
use chokaq_bench::stats::Sample;
use chokaq_bench::{Result, crew};

use super::Options;
use super::cast::Cast;

const SESSIONS: [usize; 4] = [1, 2, 4, 8];

pub async fn measure(options: &Options, cast: &Cast, server: &str) -> Result<()> {
    let about = format!(
        "Jobs per second of the kit, fetched with start_now and archived, all in one queue: the median of {} runs of \
        {} s each, and half the distance between the least and the greatest.",
        options.repeats, options.seconds
    );
    let mut report = options.report("sessions", "Sessions on one queue", &about, server)?;

    let header = SESSIONS.iter().map(|sessions| format!("{sessions} sessions"));
    let mut table = Table::new(std::iter::once("batch".to_owned()).chain(header).chain(["8 to 1".to_owned()]));
    let mut lines = Vec::new();
    for &batch in &options.batches {
        let hot = Hot::due(options.due_for(batch, options.time()));
        let mut samples = vec![Sample::default(); SESSIONS.len()];
        for _ in 0..options.repeats {
            for (sessions, sample) in SESSIONS.iter().zip(&mut samples) {
                let Some(recipe) = Way::StartNow.recipe(batch) else { continue };
                cast.kit.prepare(&kit::fill(&hot)).await?;
                sample.push(crew::work(&cast.kit, recipe, *sessions, options.time()).await?.rate());
            }
        }
        let scale = ratio(samples[3].median() / samples[0].median());
        table.row(std::iter::once(batch.to_string()).chain(samples.iter().map(with_spread)).chain([scale]));
        lines.push(Line {
            name: format!("batches of {batch}"),
            points: SESSIONS.iter().zip(&samples).map(|(n, sample)| (*n as f64, sample.median())).collect(),
        });
    }
    report.say(&table.to_string());
    let title = "Jobs per second on one queue";
    if let Some(file) = report.plot("sessions", title) {
        Plot { title, x: "sessions", y: "jobs per second", logarithmic: (false, true), lines }.draw(&file)?;
    }
    report.end()
}
