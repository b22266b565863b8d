//! Looks at everything while nobody acts.

use std::time::Instant;

use anyhow::{Result, ensure};
use chokaq_tests::{Db, Engine, Session};

use crate::{Soak, Tally};

const ENQUEUED: &str = "SELECT CAST(COALESCE(SUM(s.EnqueuedTotal), 0) AS bigint) AS N FROM chokaq.StatsSummary AS s";
const SUCCEEDED: &str = "SELECT CAST(COALESCE(SUM(s.SucceededTotal), 0) AS bigint) AS N FROM chokaq.StatsSummary AS s";
const HOT: &str = "SELECT COUNT(*) AS N FROM chokaq.JobsHot";
const ARCHIVE: &str = "SELECT COUNT(*) AS N FROM chokaq.JobsArchive";
const DLQ: &str = "SELECT COUNT(*) AS N FROM chokaq.JobsDLQ";
const HISTORY: &str = "SELECT COUNT(*) AS N FROM chokaq.OperatorHistory";
const DELTAS: &str = "SELECT COUNT(*) AS N FROM chokaq.CounterDeltas";

/* Catalogs that only PostgreSQL has. */
const CONNECTIONS: &str = "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database()";
const DEAD: &str =
    "SELECT COALESCE(sum(n_dead_tup), 0)::bigint AS n FROM pg_stat_user_tables WHERE schemaname = 'chokaq'";
const SIZE: &str = "SELECT pg_database_size(current_database()) / 1048576 AS n";

/// What is looked at, and what was seen.
pub struct Watch<'a> {
    db: &'a Db<'a>,
    soak: &'a Soak,
    session: Session,
    began: Instant,
    last: (Instant, i64),
    /// Jobs that succeeded per second, of each round.
    rates: Vec<f64>,
    /// The driver's memory in MiB after each round.
    memory: Vec<f64>,
}

impl<'a> Watch<'a> {
    pub async fn new(db: &'a Db<'a>, soak: &'a Soak) -> Result<Self> {
        println!(
            "{:>7} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6} {:>7} {:>7} {:>9}",
            "second", "done/s", "hot", "archive", "dlq", "history", "deltas", "MiB", "conns", "dead", "database"
        );
        let now = Instant::now();
        let session = db.session().await?;
        Ok(Self { db, soak, session, began: now, last: (now, 0), rates: vec![], memory: vec![] })
    }

    /// Checks what must hold, and prints a line.
    pub async fn look(&mut self) -> Result<()> {
        let _closed = self.soak.gate.write().await;
        let tally = &self.soak.tally;
        self.db.expect_archive_purged(Tally::read(&tally.archive_purged));
        self.db.recount().await?;
        for (total, acknowledged) in [(ENQUEUED, &tally.enqueued), (SUCCEEDED, &tally.archived)] {
            let (counted, acknowledged) = (self.count(total).await?, Tally::read(acknowledged));
            ensure!(counted == acknowledged, "{counted} are counted, {acknowledged} were acknowledged: {total}");
        }

        let done = Tally::read(&tally.archived);
        let rate = (done - self.last.1) as f64 / self.last.0.elapsed().as_secs_f64();
        self.last = (Instant::now(), done);
        self.rates.push(rate);
        let memory = memory_mib();
        self.memory.extend(memory);

        let mut counts = Vec::new();
        for sql in [HOT, ARCHIVE, DLQ, HISTORY, DELTAS] {
            counts.push(self.count(sql).await?);
        }
        let [connections, dead, size] = match self.session.engine() {
            Engine::Postgres => [self.count(CONNECTIONS).await?, self.count(DEAD).await?, self.count(SIZE).await?]
                .map(|n| n.to_string()),
            Engine::Mssql => ["-".to_owned(), "-".to_owned(), "-".to_owned()],
        };
        println!(
            "{:>7.0} {:>8.1} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6.1} {connections:>7} {dead:>7} {size:>6} MiB",
            self.began.elapsed().as_secs_f64(),
            rate,
            counts[0],
            counts[1],
            counts[2],
            counts[3],
            counts[4],
            memory.unwrap_or(f64::NAN),
        );
        Ok(())
    }

    /// The last look, and what changed from the first sixth of the rounds to the last one.
    pub async fn finish(&mut self) -> Result<()> {
        self.look().await?;
        // The look just now ended a round that was cut short.
        self.rates.pop();
        self.memory.pop();
        let sixth = (self.rates.len() / 6).max(1);
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        let compare = |of: &[f64]| (mean(&of[..sixth]), mean(&of[of.len() - sixth..]));
        println!("What must hold held in {} looks.", self.rates.len() + 1);
        if self.rates.len() >= 2 {
            let (first, last) = compare(&self.rates);
            println!("Throughput: first sixth {first:.1}, last sixth {last:.1} jobs/s: {:.2}", last / first);
        }
        if self.memory.len() >= 2 {
            let (first, last) = compare(&self.memory);
            println!("Memory of this program: first sixth {first:.1}, last sixth {last:.1} MiB: {:.2}", last / first);
        }
        Ok(())
    }

    async fn count(&mut self, sql: &str) -> Result<i64> {
        Ok(self.session.count(sql, &[]).await?)
    }
}

/// Resident memory of this process, where the system tells.
fn memory_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}
