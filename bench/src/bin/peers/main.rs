//! The kit beside the queues that a user would pick instead, and beside the floor: the same work on the same server in
//! the same run. Prints tables of ratios; with a folder for the report it also keeps them, with plots.

mod cast;
mod claim;
mod purge;
mod sessions;
mod snapshot;
mod throughput;

use std::path::{Path, PathBuf};
use std::time::Duration;

use chokaq_bench::report::{Report, machine};
use chokaq_bench::{Result, Server};
use clap::{Parser, ValueEnum};

/// Measures ChokaQ beside its peers and the floor.
#[derive(Parser)]
struct Options {
    /// What to measure
    #[arg(long, value_delimiter = ',', default_values = ["throughput", "claim", "sessions", "purge", "snapshot"])]
    parts: Vec<Part>,
    /// Only contenders with this in their names; several, separated by commas
    #[arg(long, value_delimiter = ',')]
    contenders: Vec<String>,
    /// Measure everything so often, the contenders in turn
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// How long a measurement of throughput takes
    #[arg(long, default_value_t = 4.0)]
    seconds: f64,
    /// The part with the old snapshot takes this long, twice for each contender
    #[arg(long, default_value_t = 60.0)]
    snapshot_seconds: f64,
    /// Sizes of a batch
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10, 100])]
    batches: Vec<i32>,
    /// Numbers of sessions
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8])]
    sessions: Vec<usize>,
    /// Divide the numbers of rows by this, for a quick look
    #[arg(long, default_value_t = 1)]
    smaller: u64,
    /// Keep the tables and plots in this folder
    #[arg(long)]
    report: Option<PathBuf>,
    /// What a reader of the figures should know, such as what else the machine did
    #[arg(long, default_value = "")]
    note: String,
    /// Where the peers are installed
    #[arg(long, default_value = "target/peers")]
    installed: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Claim and complete, jobs per second
    Throughput,
    /// A claim of 10 before growing backlogs
    Claim,
    /// Sessions on one queue
    Sessions,
    /// A purge of old rows beside young ones
    Purge,
    /// Throughput beside a snapshot that is held open
    Snapshot,
}

impl Options {
    fn rows(&self, rows: u64) -> u64 {
        (rows / self.smaller).max(1)
    }

    fn time(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }

    /// Enough due jobs for a measurement of that long in batches of that size, and never fewer than 100,000.
    fn due_for(&self, batch: i32, time: Duration) -> u64 {
        let a_second = match batch {
            1 => 8_000.0,
            2..=10 => 30_000.0,
            _ => 80_000.0,
        };
        self.rows(100_000).max((time.as_secs_f64() * 1.1 * a_second) as u64)
    }

    /// Begins the report of a part; `about` says what is measured.
    fn report(&self, name: &'static str, title: &str, about: &str, server: &str) -> Result<Report> {
        let command = std::env::args().skip(1).map(quoted).collect::<Vec<_>>().join(" ");
        let about = format!(
            "{about} {}\n\nMeasured {} by `make peers ARGS='{command}'` on {}; {server}.",
            self.note,
            today(),
            machine()
        );
        Report::begin(name, title, &about, self.report.as_deref())
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    let server = Server::start().await?;
    let about = server.describe().await?;
    let cast = cast::Cast::assemble(&server, Path::new(&options.installed), &options).await?;

    for part in &options.parts {
        match part {
            Part::Throughput => throughput::measure(&options, &cast, &about).await?,
            Part::Claim => claim::measure(&options, &cast, &about).await?,
            Part::Sessions => sessions::measure(&options, &cast, &about).await?,
            Part::Purge => purge::measure(&options, &cast, &about).await?,
            Part::Snapshot => snapshot::measure(&options, &cast, &about).await?,
        }
    }
    Ok(())
}

/// An argument as it is written in a shell.
fn quoted(argument: String) -> String {
    if argument.contains(' ') { format!("\"{argument}\"") } else { argument }
}

fn today() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let date = time::OffsetDateTime::UNIX_EPOCH + now;
    date.date().to_string()
}
