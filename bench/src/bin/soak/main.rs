//! Workers, operators, sweeps and purges at a limited rate for a given time. What must hold is checked throughout, and
//! what must stay flat is printed: throughput, the driver's memory, connections, dead rows.

mod desk;
mod floor;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chokaq::Client;
use chokaq_bench::Result;
use chokaq_tests::server::Servers;
use chokaq_tests::{Db, Engine};
use clap::{Parser, ValueEnum};
use tokio::sync::{RwLock, watch as signal};
use tokio::task::JoinSet;

use crate::watch::Watch;

/// Keeps the kit busy and checks that nothing is lost, doubled or left behind.
///
/// PostgreSQL is a throw-away one, or that of CHOKAQ_TEST_POSTGRES_URL; a T-SQL server that of CHOKAQ_TEST_MSSQL_URL, or
/// a local one, as for the tests.
#[derive(Parser)]
struct Options {
    /// How long
    #[arg(long, default_value_t = 60.0)]
    minutes: f64,
    /// Jobs enqueued per second
    #[arg(long, default_value_t = 200)]
    rate: u32,
    /// Workers, each with its own name and connection
    #[arg(long, default_value_t = 4)]
    workers: u32,
    /// Check and print after so many seconds
    #[arg(long, default_value_t = 60.0)]
    every: f64,
    /// Where
    #[arg(long, value_enum, default_value = "postgres")]
    engine: EngineName,
}

#[derive(Clone, Copy, ValueEnum)]
enum EngineName {
    /// PostgreSQL
    Postgres,
    /// SQL Server, or Babelfish
    Mssql,
}

/// What was acknowledged: the tables must say the same.
#[derive(Default)]
struct Tally {
    enqueued: AtomicI64,
    archived: AtomicI64,
    archive_purged: AtomicI64,
}

impl Tally {
    fn read(count: &AtomicI64) -> i64 {
        count.load(Ordering::SeqCst)
    }

    fn add(count: &AtomicI64, more: impl TryInto<i64>) {
        count.fetch_add(more.try_into().unwrap_or(0), Ordering::SeqCst);
    }
}

/// What everyone who takes part shares.
struct Soak {
    client: Client,
    tally: Tally,
    /// Everyone acts under a read lock; the watch takes the write lock, so that its recount sees nothing half done.
    gate: RwLock<()>,
    stop: signal::Receiver<bool>,
}

impl Soak {
    /// Repeats an act until the run ends, with a pause after each.
    async fn repeat<F>(self: Arc<Self>, pause: Duration, mut act: impl FnMut(Arc<Self>, u64) -> F) -> Result<()>
    where
        F: Future<Output = Result<()>>,
    {
        let mut stop = self.stop.clone();
        for turn in 0.. {
            if *stop.borrow() {
                break;
            }
            {
                let _open = self.gate.read().await;
                act(Arc::clone(&self), turn).await?;
            }
            // A pause that the end of the run cuts short.
            let _ = tokio::time::timeout(pause, stop.wait_for(|stopped| *stopped)).await;
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    let options = Options::parse();
    let servers = Servers::find()?;
    let outcome = servers.block_on(run(&options, &servers));
    servers.finish()?;
    outcome
}

async fn run(options: &Options, servers: &Servers) -> Result<()> {
    let engine = match options.engine {
        EngineName::Postgres => Engine::Postgres,
        EngineName::Mssql => Engine::Mssql,
    };
    let db = Db::create(engine, servers).await?;
    let client = Client::builder().pool_size(options.workers + 4).connect(&db.url()?).await?;
    let (stopper, stop) = signal::channel(false);
    let soak = Arc::new(Soak { client, tally: Tally::default(), gate: RwLock::new(()), stop });

    let mut everyone = JoinSet::new();
    everyone.spawn(floor::enqueue(Arc::clone(&soak), options.rate));
    for number in 1..=options.workers {
        everyone.spawn(floor::work(Arc::clone(&soak), format!("worker-{number}")));
    }
    everyone.spawn(desk::operate(Arc::clone(&soak)));
    everyone.spawn(desk::sweep(Arc::clone(&soak)));
    everyone.spawn(desk::purge(Arc::clone(&soak)));

    let mut watch = Watch::new(&db, &soak).await?;
    let rounds = (options.minutes * 60.0 / options.every).ceil() as u32;
    let mut ended = Ok(());
    for _ in 0..rounds {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs_f64(options.every)) => {}
            // Nobody ends before being told to, unless with an error.
            Some(early) = everyone.join_next() => {
                ended = early?;
                break;
            }
        }
        watch.look().await?;
    }
    // All receivers gone means that everyone has ended.
    let _ = stopper.send(true);
    while let Some(end) = everyone.join_next().await {
        ended = ended.and(end?);
    }
    ended?;
    watch.finish().await?;
    drop(watch);
    db.finish().await?;
    Ok(())
}
