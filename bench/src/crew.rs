//! Workers side by side, each over its own connection, for a time or until there is nothing left.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};

use crate::contender::{Argument, Recipe, Statement};
use crate::server::Database;

/// A worker: a connection with the statements of a recipe prepared on it.
pub struct Worker {
    client: Client,
    recipe: Arc<Recipe>,
    number: usize,
    claim: tokio_postgres::Statement,
    steps: Vec<tokio_postgres::Statement>,
}

impl Worker {
    /// Connects and prepares.
    pub async fn start(database: &Database, recipe: &Arc<Recipe>, number: usize) -> Result<Self> {
        let client = database.connect().await?;
        let claim = client.prepare(&recipe.claim.sql).await?;
        let mut steps = Vec::new();
        for step in &recipe.steps {
            steps.push(client.prepare(&step.sql).await?);
        }
        Ok(Self { client, recipe: Arc::clone(recipe), number, claim, steps })
    }

    /// Takes what one claim gives.
    pub async fn claim(&self) -> Result<Vec<Row>> {
        let mut rows = self.run(&self.claim, &self.recipe.claim, &[]).await?;
        rows.retain(|row| !is_null(row));
        Ok(rows)
    }

    /// Does with these jobs what has to be done.
    pub async fn finish(&self, rows: &[Row]) -> Result<()> {
        let parts = if self.recipe.one_by_one { 1 } else { rows.len().max(1) };
        for part in rows.chunks(parts) {
            for (prepared, step) in self.steps.iter().zip(&self.recipe.steps) {
                self.run(prepared, step, part).await?;
            }
        }
        Ok(())
    }

    async fn run(&self, prepared: &tokio_postgres::Statement, statement: &Statement, rows: &[Row]) -> Result<Vec<Row>> {
        let arguments = (statement.arguments)(self.number, rows);
        let arguments: Vec<&(dyn ToSql + Sync)> = arguments.iter().map(borrowed).collect();
        Ok(self.client.query(prepared, &arguments).await?)
    }
}

fn borrowed(argument: &Argument) -> &(dyn ToSql + Sync) {
    argument.as_ref()
}

/// Anything may stand in the first column; whether it is NULL is all that is asked.
fn is_null(row: &Row) -> bool {
    matches!(row.try_get::<_, Option<IsThere>>(0), Ok(None))
}

struct IsThere;

impl tokio_postgres::types::FromSql<'_> for IsThere {
    fn from_sql(_: &tokio_postgres::types::Type, _: &[u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self)
    }

    fn accepts(_: &tokio_postgres::types::Type) -> bool {
        true
    }
}

/// What came of it.
pub struct Run {
    /// From the first claim that counts to the last job, or to the end of the time.
    pub elapsed: Duration,
    /// When each cycle ended, counted from the first claim that counts, and how many jobs it finished.
    pub cycles: Vec<(Duration, usize)>,
}

impl Run {
    /// Jobs per second over the whole time.
    pub fn rate(&self) -> f64 {
        let jobs: usize = self.cycles.iter().map(|(_, jobs)| jobs).sum();
        jobs as f64 / self.elapsed.as_secs_f64()
    }

    /// Jobs per second in a part of it.
    pub fn rate_between(&self, from: Duration, to: Duration) -> f64 {
        let jobs: usize = self.cycles.iter().filter(|(at, _)| (from..to).contains(at)).map(|(_, jobs)| jobs).sum();
        jobs as f64 / (to - from).as_secs_f64()
    }
}

/// Lets that many workers work for that long, after as much as a tenth of it that does not count: connections are new,
/// and their plans not made.
pub async fn work(database: &Database, recipe: Recipe, workers: usize, time: Duration) -> Result<Run> {
    let recipe = Arc::new(recipe);
    let start = Arc::new(Barrier::new(workers));
    let mut crew = JoinSet::new();
    for number in 1..=workers {
        let worker = Worker::start(database, &recipe, number).await?;
        let start = Arc::clone(&start);
        crew.spawn(async move {
            start.wait().await;
            let counted = Instant::now() + time / 10;
            let mut cycles = Vec::new();
            loop {
                let rows = worker.claim().await?;
                worker.finish(&rows).await?;
                let now = Instant::now();
                if rows.is_empty() || now >= counted + time {
                    return anyhow::Ok((cycles, now.saturating_duration_since(counted)));
                }
                if now >= counted {
                    cycles.push((now - counted, rows.len()));
                }
            }
        });
    }

    let mut run = Run { elapsed: time, cycles: Vec::new() };
    for outcome in crew.join_all().await {
        let (cycles, elapsed) = outcome?;
        run.cycles.extend(cycles);
        run.elapsed = run.elapsed.min(elapsed);
    }
    let elapsed = run.elapsed;
    run.cycles.retain(|(at, _)| *at <= elapsed);
    ensure!(!run.cycles.is_empty(), "there were too few jobs for a measurement: {time:?} with {workers} workers");
    Ok(run)
}

/// Workers that are there from one measurement to the next.
pub struct Crew {
    workers: Vec<Worker>,
}

impl Crew {
    /// Connects that many.
    pub async fn start(database: &Database, recipe: Recipe, workers: usize) -> Result<Self> {
        let recipe = Arc::new(recipe);
        let workers = (1..=workers).map(|number| Worker::start(database, &recipe, number));
        Ok(Self { workers: futures_util::future::try_join_all(workers).await? })
    }

    /// Lets them do at least that many cycles together; how many they did, and how long it took.
    pub async fn cycles(&self, wanted: u64) -> Result<(u64, Duration)> {
        let each = wanted.div_ceil(self.workers.len() as u64);
        let start = Instant::now();
        let work = self.workers.iter().map(|worker| async move {
            for _ in 0..each {
                let rows = worker.claim().await?;
                ensure!(!rows.is_empty(), "a claim found nothing");
                worker.finish(&rows).await?;
            }
            Ok(())
        });
        futures_util::future::try_join_all(work).await?;
        Ok((each * self.workers.len() as u64, start.elapsed()))
    }
}
