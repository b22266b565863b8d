//! Clients that are killed at any point, while others work on. `CHOKAQ_CRASHES` says how often.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use chokaq::{ArchiveSucceeded, Client, Enqueue, FailJob, FailureReason, FetchNextBatch};
use chokaq_tests::proxy::Proxy;
use chokaq_tests::{Db, Engine, Result, Scenario, Session, scenario};

use crate::load::sweep_and_finish;

pub const SCENARIOS: &[Scenario] =
    &[scenario!(a_killed_client_leaves_whole_calls_and_nothing_else).limit(Duration::from_secs(3_600))];

/// Set for a process that is such a client: its database, and a name of its own.
const URL: &str = "CHOKAQ_TEST_CLIENT_OF";
const NAME: &str = "CHOKAQ_TEST_CLIENT_NAME";

/// As many jobs come in one call.
const BATCH: usize = 5;

/// Whether this process is one of the clients; then what it does, until it is killed.
pub fn client() -> Option<ExitCode> {
    let (url, name) = (std::env::var(URL).ok()?, std::env::var(NAME).ok()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let Err(error) = runtime.block_on(work(&url, &name));
    eprintln!("{name}: {error:?}");
    Some(ExitCode::FAILURE)
}

/// Says on its standard output what was acknowledged, and what it is about to bring back.
async fn work(url: &str, name: &str) -> chokaq::Result<std::convert::Infallible> {
    let client = Client::builder().pool_size(1).timeout(None).connect(url).await?;
    let mut round = 0;
    loop {
        round += 1;
        let batch = format!("{name}-{round}");
        let ids: Vec<String> = (0..BATCH).map(|n| format!("{batch}-{n}")).collect();
        let jobs: Vec<_> = ids
            .iter()
            .map(|id| Enqueue { job_id: Some(id), payload: Some(&batch), ..Enqueue::new("q", "t") })
            .collect();
        client.enqueue_many(&jobs).await?;
        println!("enqueued {}", ids.join(" "));

        let fetch = FetchNextBatch { start_now: true, batch_size: Some(4), ..FetchNextBatch::new(name) };
        let mut dead = Vec::new();
        for (n, job) in client.fetch_next_batch(&fetch).await?.into_iter().enumerate() {
            let (attempt, resurrect_count) = (job.attempt_count, Some(job.resurrect_count));
            if n % 2 == 0 {
                let done = ArchiveSucceeded {
                    job_id: &job.job_id,
                    worker_id: Some(name),
                    attempt: Some(attempt),
                    duration_ms: None,
                    resurrect_count,
                };
                client.archive_succeeded(&done).await?;
                println!("archived {}", job.job_id);
            } else {
                let failure = FailJob {
                    job_id: &job.job_id,
                    worker_id: name,
                    attempt,
                    failure_reason: FailureReason::FatalError,
                    error_details: None,
                    retry_after_seconds: None,
                    resurrect_count,
                };
                client.fail_job(&failure).await?;
                println!("dead {}", job.job_id);
                dead.push(job.job_id);
            }
        }
        if round % 2 == 0 {
            println!("raised {}", dead.join(" "));
            client.resurrect_batch(&dead.iter().map(String::as_str).collect::<Vec<_>>(), name, Some(1)).await?;
        }
    }
}

/// A client at work, and what it says.
struct Running {
    process: Child,
    said: Option<JoinHandle<std::io::Result<Vec<String>>>>,
}

impl Running {
    fn start(url: &str, name: &str) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.env(URL, url).env(NAME, name).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let lines = BufReader::new(process.stdout.take().context("its output")?).lines();
        Ok(Self { process, said: Some(std::thread::spawn(move || lines.collect())) })
    }

    fn runs(&mut self) -> Result<()> {
        ensure!(self.process.try_wait()?.is_none(), "it ended by itself");
        Ok(())
    }

    /// SIGKILL: it cleans up nothing and says good-bye to nobody.
    fn kill(mut self) -> Result<Vec<String>> {
        self.runs()?;
        self.process.kill()?;
        let said = self.said.take().context("it is killed once")?;
        Ok(said.join().map_err(|_| anyhow!("the reader panicked"))??)
    }
}

impl Drop for Running {
    /// A case that fails leaves none behind.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// None should, and what they would have asked for would be waited for in vain.
async fn one_ended(running: &mut [Running]) -> Result<()> {
    loop {
        for client in running.iter_mut() {
            client.runs()?;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn a_killed_client_leaves_whole_calls_and_nothing_else(db: &Db<'_>) -> Result<()> {
    let asked = std::env::var("CHOKAQ_CRASHES").ok().map(|text| text.parse()).transpose()?;
    let (at_once, kills) = if db.engine == Engine::Postgres { (3, 12) } else { (2, 2) };
    let kills: usize = asked.unwrap_or(kills);
    let proxy = Proxy::start(db.engine, &db.url()?).await?;
    let start = |number: usize| Running::start(proxy.url(), &format!("c{number}"));
    let mut running = (0..at_once).map(start).collect::<Result<Vec<_>>>()?;
    let mut said = Vec::new();
    for kill in 0..kills {
        /* Each at a request of its own: among the first of the youngest client, or far on. */
        tokio::select! {
            () = proxy.requested(proxy.requests() + 7 + kill * 37 % 61) => {}
            ended = one_ended(&mut running) => ended?,
        }
        let next = start(at_once + kill)?;
        let victim = std::mem::replace(&mut running[kill % at_once], next);
        said.extend(victim.kill()?);
    }
    for victim in running {
        said.extend(victim.kill()?);
    }
    proxy.left().await;

    let mut s = db.session().await?;
    db.recount().await?;
    check(&mut s, &said, kills).await?;
    let client = Client::connect(&db.url()?).await?;
    sweep_and_finish(&client).await?;
    assert_eq!(s.count("SELECT COUNT(*) AS N FROM chokaq.JobsHot", &[]).await?, 0);
    Ok(())
}

/// What was acknowledged is there, each call whole or not at all. (That nothing is there twice is in the recount.)
async fn check(s: &mut Session, said: &[String], kills: usize) -> Result<()> {
    let sql = "SELECT h.Id, h.Payload, 'Hot' AS Pillar FROM chokaq.JobsHot AS h
        UNION ALL SELECT a.Id, a.Payload, 'Archive' FROM chokaq.JobsArchive AS a
        UNION ALL SELECT d.Id, d.Payload, 'DLQ' FROM chokaq.JobsDLQ AS d";
    let mut batches: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = BTreeMap::new();
    for row in s.sql(sql, &[]).await?.rows {
        *batches.entry(row.text("Payload")).or_default() += 1;
        found.insert(row.text("Id"), row.text("Pillar"));
    }
    for (batch, jobs) in &batches {
        ensure!(*jobs == BATCH, "{jobs} jobs of the batch {batch}");
    }
    let ids = |what: &str| -> Vec<&str> {
        let lines = said.iter().filter_map(|line| line.strip_prefix(what)?.strip_prefix(' '));
        lines.flat_map(|ids| ids.split(' ')).filter(|id| !id.is_empty()).collect()
    };
    let raised: BTreeSet<&str> = ids("raised").into_iter().collect();
    let expected =
        [("Archive", ids("archived")), ("DLQ", ids("dead").into_iter().filter(|id| !raised.contains(id)).collect())];
    for id in ids("enqueued") {
        ensure!(found.contains_key(id), "{id} was lost");
    }
    for (pillar, ids) in &expected {
        ensure!(ids.len() > kills / 2, "only {} went to {pillar}", ids.len());
        for id in ids {
            ensure!(found.get(*id).is_some_and(|it| it == pillar), "{id} is not in {pillar}");
        }
    }
    Ok(())
}
