//! What clients do all day, as much of it as a server takes, with a book of what it acknowledged.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use chokaq::{
    ArchiveSucceeded, ArchiveSucceededOutcome, Client, Enqueue, ErrorKind, FailJob, FailJobOutcome, FailureReason,
    FetchNextBatch, FetchedJob, FinishedJob, Resurrect,
};
use chokaq_tests::{Result, Session, recount};
use tokio::task::JoinHandle;

pub const WORKERS: usize = 4;

/// What was asked for and what was answered.
#[derive(Default)]
pub struct Book {
    /// Of every job that was asked for, each its own.
    payloads: HashSet<String>,
    /// The payloads of the jobs whose enqueue was acknowledged, by their ids.
    pub enqueued: HashMap<String, String>,
    /// The payloads of those that the server said it had no room for.
    refused: HashSet<String>,
    pub archived: HashSet<String>,
    dead: HashSet<String>,
}

/// Clients that do what clients do until they are told to stop.
pub struct Load {
    client: Client,
    /// How many letters each payload has beside its name.
    filler: usize,
    book: Mutex<Book>,
    answers: AtomicUsize,
    refusals: AtomicUsize,
    losses: AtomicUsize,
    stops: AtomicBool,
}

impl Load {
    pub fn new(client: &Client, filler: usize) -> Arc<Self> {
        Arc::new(Self {
            client: client.clone(),
            filler,
            book: Mutex::default(),
            answers: AtomicUsize::new(0),
            refusals: AtomicUsize::new(0),
            losses: AtomicUsize::new(0),
            stops: AtomicBool::new(false),
        })
    }

    /// How many calls were acknowledged.
    pub fn answers(&self) -> usize {
        self.answers.load(Ordering::SeqCst)
    }

    /// How many the server had no room for.
    pub fn refusals(&self) -> usize {
        self.refusals.load(Ordering::SeqCst)
    }

    /// How many were lost with their connection.
    pub fn losses(&self) -> usize {
        self.losses.load(Ordering::SeqCst)
    }

    /// Lets all of them work.
    pub fn begin(self: &Arc<Self>, name: &str) -> Vec<JoinHandle<Result<()>>> {
        self.stops.store(false, Ordering::SeqCst);
        (0..WORKERS).map(|n| tokio::spawn(self.clone().work(format!("w{n}-{name}")))).collect()
    }

    /// Lets them work until there have been that many of it, or one of them fails.
    pub async fn until(&self, workers: &[JoinHandle<Result<()>>], count: fn(&Self) -> usize, enough: usize) {
        while count(self) < enough && !workers.iter().any(JoinHandle::is_finished) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Tells them to stop; each must have a working connection again.
    pub async fn end(&self, workers: Vec<JoinHandle<Result<()>>>) -> Result<()> {
        self.stops.store(true, Ordering::SeqCst);
        for worker in workers {
            worker.await??;
        }
        Ok(())
    }

    pub fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer; none when it was lost with the connection, or there was no room. Nothing else may go wrong.
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
            Err(error) if is_full(&error) => {
                self.refusals.fetch_add(1, Ordering::SeqCst);
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
        let filled = format!("{payload} {}", noise(payload, self.filler));
        let job = Enqueue { job_id: named.then_some(payload), payload: Some(&filled), ..Enqueue::new("q", "t") };
        let answer = self.client.enqueue(&job).await;
        /* One with an id may have been done when its connection was lost, and been refused when it was sent again. */
        if !named && answer.as_ref().is_err_and(is_full) {
            self.book().refused.insert(payload.to_owned());
        }
        if let Some(answer) = self.heard(answer)? {
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

    /// Nothing that was acknowledged is lost, nothing is there twice, and every counter is exact.
    pub async fn check(&self, s: &mut Session) -> Result<()> {
        recount::check(s, 0).await?;
        let sql = "SELECT h.Id, h.Payload, 'Hot' AS Pillar FROM chokaq.JobsHot AS h
            UNION ALL SELECT a.Id, a.Payload, 'Archive' FROM chokaq.JobsArchive AS a
            UNION ALL SELECT d.Id, d.Payload, 'DLQ' FROM chokaq.JobsDLQ AS d";
        let rows = s.sql(sql, &[]).await?;
        let book = self.book();
        let (mut payloads, mut found) = (HashSet::new(), HashMap::new());
        for row in &rows.rows {
            let payload = row.text("Payload").split(' ').next().unwrap_or_default().to_owned();
            ensure!(!book.refused.contains(&payload), "{payload} is there, and was refused");
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

/// Whether the server had no room on its disk. (Over TDS Babelfish has no number for it.)
fn is_full(error: &chokaq::Error) -> bool {
    error.kind() == ErrorKind::Database
        && (error.code() == Some("53100") || error.message().contains("No space left on device"))
}

/// So many letters that no server can store in fewer, nearly.
fn noise(seed: &str, length: usize) -> String {
    let mut noise = String::with_capacity(length + 16);
    while noise.len() < length {
        let mut hasher = DefaultHasher::new();
        (seed, noise.len()).hash(&mut hasher);
        noise += &format!("{:016x}", hasher.finish());
    }
    noise.truncate(length);
    noise
}

/// What was in flight comes back with the sweeps, and everything that waits can be done.
pub async fn sweep_and_finish(client: &Client) -> Result<()> {
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
