//! Servers that stop in the middle of everything. What was acknowledged is there afterwards, once; the driver that was
//! connected goes on by itself. `CHOKAQ_CRASHES` says how often they stop.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use chokaq::{
    ArchiveSucceeded, ArchiveSucceededOutcome, Client, Enqueue, ErrorKind, FailJob, FailJobOutcome, FailureReason,
    FetchNextBatch, FetchedJob, FinishedJob, Resurrect,
};
use chokaq_tests::server::cluster::{Cluster, Stop};
use chokaq_tests::{Db, Engine, Result, Scenario, Session, recount, scenario};

pub const SCENARIOS: &[Scenario] =
    &[scenario!(what_was_acknowledged_survives_a_hard_stop_once).limit(Duration::from_secs(3_600))];

const WORKERS: usize = 4;

/// Durable to the letter, unlike the server of the other cases.
const DURABLE: [&str; 3] = ["fsync=on", "synchronous_commit=on", "full_page_writes=on"];

/// What was asked for and what was answered.
#[derive(Default)]
struct Book {
    /// Of every job that was asked for, each its own.
    payloads: HashSet<String>,
    /// The payloads of the jobs whose enqueue was acknowledged, by their ids.
    enqueued: HashMap<String, String>,
    archived: HashSet<String>,
    dead: HashSet<String>,
}

/// Clients that do what clients do until they are told to stop.
struct Load {
    client: Client,
    book: Mutex<Book>,
    answers: AtomicUsize,
    losses: AtomicUsize,
    stops: AtomicBool,
}

impl Load {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer; none when it was lost with the connection. Nothing else may go wrong.
    fn heard<T>(&self, answer: chokaq::Result<T>) -> Result<Option<T>> {
        match answer {
            Ok(answer) => {
                self.answers.fetch_add(1, Ordering::SeqCst);
                Ok(Some(answer))
            }
            Err(error) if error.kind() == ErrorKind::Connection => {
                self.losses.fetch_add(1, Ordering::SeqCst);
                Ok(None)
            }
            Err(error) => bail!("{error:?}"),
        }
    }

    async fn work(self: Arc<Self>, name: String) -> Result<()> {
        let mut dead = Vec::new();
        for number in 0.. {
            if self.stops.load(Ordering::SeqCst) {
                break;
            }
            self.enqueue(&format!("{name}-{number}"), number % 2 == 0).await?;
            let fetch = FetchNextBatch { start_now: true, batch_size: Some(2), ..FetchNextBatch::new(&name) };
            let jobs = self.heard(self.client.fetch_next_batch(&fetch).await)?.unwrap_or_default();
            for (job, dice) in jobs.iter().zip(number..) {
                match dice % 8 {
                    /* Left to the sweeps. */
                    0 => {}
                    1 | 2 => dead.extend(self.fail(job, &name).await?),
                    _ => self.archive(job, &name).await?,
                }
            }
            if number % 4 == 3
                && let Some(id) = dead.pop()
            {
                self.book().dead.remove(&id);
                let back = Resurrect { job_id: &id, resurrected_by: &name, ..Resurrect::default() };
                self.heard(self.client.resurrect(&back).await)?;
            }
        }
        self.client.get_version().await.context("the driver did not recover")?;
        Ok(())
    }

    /// With an id of its own, or one that the server gives it, which is never asked for twice.
    async fn enqueue(&self, payload: &str, named: bool) -> Result<()> {
        self.book().payloads.insert(payload.to_owned());
        let job = Enqueue { job_id: named.then_some(payload), payload: Some(payload), ..Enqueue::new("q", "t") };
        if let Some(answer) = self.heard(self.client.enqueue(&job).await)? {
            self.book().enqueued.insert(answer.job_id, payload.to_owned());
        }
        Ok(())
    }

    async fn archive(&self, job: &FetchedJob, name: &str) -> Result<()> {
        let done = ArchiveSucceeded {
            job_id: &job.job_id,
            worker_id: Some(name),
            attempt: Some(job.attempt_count),
            resurrect_count: Some(job.resurrect_count),
            duration_ms: None,
        };
        if let Some(answer) = self.heard(self.client.archive_succeeded(&done).await)? {
            let ends = [ArchiveSucceededOutcome::Archived, ArchiveSucceededOutcome::AlreadyArchived];
            ensure!(ends.contains(&answer.outcome), "{answer:?}");
            self.book().archived.insert(job.job_id.clone());
        }
        Ok(())
    }

    async fn fail(&self, job: &FetchedJob, name: &str) -> Result<Option<String>> {
        let failure = FailJob {
            job_id: &job.job_id,
            worker_id: name,
            attempt: job.attempt_count,
            failure_reason: FailureReason::FatalError,
            error_details: Some("it broke"),
            retry_after_seconds: None,
            resurrect_count: Some(job.resurrect_count),
        };
        let Some(answer) = self.heard(self.client.fail_job(&failure).await)? else { return Ok(None) };
        ensure!([FailJobOutcome::Moved, FailJobOutcome::AlreadyMoved].contains(&answer.outcome), "{answer:?}");
        self.book().dead.insert(job.job_id.clone());
        Ok(Some(job.job_id.clone()))
    }

    /// Lets all of them work, ends the server after so many answers, and starts it again.
    async fn meets(self: &Arc<Self>, cluster: &mut Cluster, how: Stop, round: usize) -> Result<()> {
        self.stops.store(false, Ordering::SeqCst);
        let enough = self.answers.load(Ordering::SeqCst) + 40 + round * 37 % 200;
        let workers: Vec<_> = (0..WORKERS).map(|n| tokio::spawn(self.clone().work(format!("w{n}-{round}")))).collect();
        while self.answers.load(Ordering::SeqCst) < enough && !workers.iter().any(|worker| worker.is_finished()) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        cluster.stop(how)?;
        cluster.restart().await?;
        self.stops.store(true, Ordering::SeqCst);
        for worker in workers {
            worker.await??;
        }
        Ok(())
    }

    /// Nothing that was acknowledged is lost, nothing is there twice, and every counter is exact.
    async fn check(&self, s: &mut Session) -> Result<()> {
        recount::check(s, 0).await?;
        let sql = "SELECT h.Id, h.Payload, 'Hot' AS Pillar FROM chokaq.JobsHot AS h
            UNION ALL SELECT a.Id, a.Payload, 'Archive' FROM chokaq.JobsArchive AS a
            UNION ALL SELECT d.Id, d.Payload, 'DLQ' FROM chokaq.JobsDLQ AS d";
        let rows = s.sql(sql, &[]).await?;
        let book = self.book();
        let (mut payloads, mut found) = (HashSet::new(), HashMap::new());
        for row in &rows.rows {
            let payload = row.text("Payload");
            ensure!(book.payloads.contains(&payload), "nobody asked for {payload}");
            ensure!(payloads.insert(payload.clone()), "{payload} is there twice");
            found.insert(row.text("Id"), (payload, row.text("Pillar")));
        }
        for (id, payload) in &book.enqueued {
            ensure!(found.get(id).is_some_and(|(it, _)| it == payload), "{id} ({payload}) was lost");
        }
        for (ids, pillar) in [(&book.archived, "Archive"), (&book.dead, "DLQ")] {
            for id in ids {
                ensure!(found.get(id).is_some_and(|(_, it)| it == pillar), "{id} is not in {pillar}");
            }
        }
        Ok(())
    }
}

async fn what_was_acknowledged_survives_a_hard_stop_once(db: &Db<'_>) -> Result<()> {
    let asked = std::env::var("CHOKAQ_CRASHES").ok().map(|text| text.parse()).transpose()?;
    let crashes: usize = asked.unwrap_or(if db.engine == Engine::Postgres { 2 } else { 1 });
    /* A server of the user's own is not stopped. */
    let Some(mut cluster) = Cluster::start(db.engine, &DURABLE).await? else { return Ok(()) };
    let client = Client::builder().pool_size(WORKERS as u32).connect(&cluster.url()?).await?;
    let load = Arc::new(Load {
        client: client.clone(),
        book: Mutex::default(),
        answers: AtomicUsize::new(0),
        losses: AtomicUsize::new(0),
        stops: AtomicBool::new(false),
    });
    for round in 0..crashes {
        let how = if round % 2 == 0 { Stop::Kill } else { Stop::Immediate };
        load.meets(&mut cluster, how, round).await?;
        load.check(&mut cluster.connect().await?).await.with_context(|| format!("after stop {round}, {how:?}"))?;
    }
    sweep_and_finish(&client).await?;
    let mut s = cluster.connect().await?;
    load.check(&mut s).await?;
    assert_eq!(s.count("SELECT COUNT(*) AS N FROM chokaq.JobsHot", &[]).await?, 0);
    if asked.is_some() {
        let (answers, losses) = (load.answers.load(Ordering::SeqCst), load.losses.load(Ordering::SeqCst));
        let book = load.book();
        let (enqueued, archived) = (book.enqueued.len(), book.archived.len());
        println!(
            "{}: {crashes} hard stops, {answers} calls acknowledged ({enqueued} enqueued, {archived} archived), \
             {losses} without an answer",
            db.engine
        );
    }
    Ok(())
}

/// What was in flight comes back with the sweeps, and everything that waits can be done.
async fn sweep_and_finish(client: &Client) -> Result<()> {
    let client = client.with_timeout(None);
    client.recover_abandoned(Some(0), None).await?;
    client.archive_zombies(Some(0), None).await?;
    loop {
        let fetch = FetchNextBatch { start_now: true, batch_size: Some(500), ..FetchNextBatch::new("last") };
        let jobs = client.fetch_next_batch(&fetch).await?;
        if jobs.is_empty() {
            return Ok(());
        }
        let done: Vec<_> = jobs
            .iter()
            .map(|job| FinishedJob {
                job_id: &job.job_id,
                attempt: Some(job.attempt_count),
                resurrect_count: Some(job.resurrect_count),
                duration_ms: None,
            })
            .collect();
        client.archive_succeeded_jobs(&done, "last").await?;
    }
}
