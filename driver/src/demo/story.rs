//! The story itself, chapter by chapter.

use std::time::{Duration, Instant};

use chokaq::{
    Client, Dialect, DlqFilter, Enqueue, EnqueueOutcome, FailureReason, FetchNextBatch, Job, ListDlq, PurgeArchive,
    Resurrect, ResurrectOutcome,
};

use super::cast::{BROKEN, Cast, repaired};
use super::narrator::Narrator;
use super::{balance, worker};
use crate::cli::{Answer, Failure};

const OPERATOR: &str = "admin@example.com";
const WORKER: &str = "worker-1";
const CRASHED: &str = "worker-that-crashed";

/// Rows per transaction: small, so that several transactions are seen.
const BATCH: i32 = 10;

/// Seconds without a heartbeat until a job counts as a zombie here; a queue's own default is ten minutes.
const ZOMBIE_AFTER: i32 = 1;
const ZOMBIE_POLL: Duration = Duration::from_millis(250);
const ZOMBIE_LIMIT: Duration = Duration::from_secs(30);

/// Tells the whole story.
pub async fn tell(client: &Client, narrator: &Narrator, is_own_server: bool) -> Result<Answer, Failure> {
    let story = Story { client, narrator, dialect: client.config().dialect(), cast: Cast::new() };
    story.deploy(is_own_server).await?;
    let mails = story.mails_are_enqueued().await?;
    story.worker_runs_them().await?;
    story.operator_looks(&mails).await?;
    let repaired = story.operator_repairs_and_worker_succeeds(&mails).await?;
    let reports = story.worker_crashes().await?;
    story.zombies_come_back().await?;
    story.archive_is_purged(&repaired).await?;
    story.books_balance(&mails, &reports).await?;
    Ok(Answer::Yes)
}

struct Story<'a> {
    client: &'a Client,
    narrator: &'a Narrator,
    dialect: Dialect,
    cast: Cast,
}

impl Story<'_> {
    fn did(&self, procedure: &str, text: impl AsRef<str>) -> Result<(), Failure> {
        Ok(self.narrator.did(self.dialect, procedure, text.as_ref())?)
    }

    async fn deploy(&self, is_own_server: bool) -> Result<(), Failure> {
        self.narrator.chapter("Tables and procedures are deployed")?;
        let applied = self.client.deploy().up().await?;
        let place = if is_own_server { "a PostgreSQL of the demo's own, gone after it" } else { "the named database" };
        self.narrator.note(&format!("chokaq migrate up: {} migrations applied to {place}", applied.len()))?;
        Ok(())
    }

    async fn mails_are_enqueued(&self) -> Result<Vec<String>, Failure> {
        self.narrator.chapter("Mails are enqueued; in one payload a comma is missing")?;
        let ids = self.enqueue(&self.cast.mailing_jobs()).await?;
        self.did("enqueue_many", format!("{} jobs into queue {}", ids.len(), self.cast.mail_queue))?;
        Ok(ids)
    }

    async fn enqueue(&self, jobs: &[Enqueue<'_>]) -> Result<Vec<String>, Failure> {
        let results = self.client.enqueue_many(jobs).await?;
        let enqueued = results.iter().filter(|result| result.outcome == EnqueueOutcome::Enqueued).count();
        expect(enqueued == jobs.len() && results.len() == jobs.len(), "every new job is enqueued")?;
        Ok(results.into_iter().map(|result| result.job_id).collect())
    }

    async fn worker_runs_them(&self) -> Result<(), Failure> {
        self.narrator.chapter("A worker parses and sends them")?;
        let tally = worker::work_off(self.client, &self.cast.mail_queue, WORKER).await?;
        self.did("fetch_next_batch", format!("{} fetches claimed the jobs, up to 10 each", tally.fetches))?;
        self.did("mark_as_processing", "each was started, its attempt counted")?;
        self.did("archive_succeeded", format!("{} went to the Archive", tally.succeeded))?;
        self.did("fail_job", format!("{} went to the DLQ: FatalError, for no retry repairs a payload", tally.dead))?;
        expect(tally.dead == 1, "exactly one mail fails")
    }

    async fn operator_looks(&self, mails: &[String]) -> Result<(), Failure> {
        self.narrator.chapter("An operator asks the DLQ what failed, and why")?;
        let filter = DlqFilter { queue: Some(&self.cast.mail_queue), ..DlqFilter::default() };
        let listed = self.client.list_dlq(&ListDlq { filter, ..ListDlq::default() }).await?;
        let [failed] = listed.as_slice() else {
            return Err(Failure::new("the DLQ does not hold exactly the broken mail"));
        };
        expect(failed.job_id == mails[BROKEN], "the DLQ holds the broken mail")?;
        self.did(
            "list_dlq",
            format!("{}: {} after attempt {}", failed.job_id, failed.failure_reason_name, failed.attempt_count),
        )?;
        let job = self.client.get_dlq_job(&failed.job_id).await?.ok_or_else(gone)?;
        self.did("get_dlq_job", "the error and the payload, to the letter:")?;
        self.narrator.quote(job.error_details.as_deref().unwrap_or_default())?;
        self.narrator.quote(job.payload.as_deref().unwrap_or_default())?;
        Ok(())
    }

    /// Answers with the job as it lies in the Archive.
    async fn operator_repairs_and_worker_succeeds(&self, mails: &[String]) -> Result<Job, Failure> {
        self.narrator.chapter("The operator repairs the payload and resurrects the job in one step")?;
        let broken = self.client.get_dlq_job(&mails[BROKEN]).await?.ok_or_else(gone)?;
        let payload = repaired(broken.payload.as_deref().unwrap_or_default());
        let result = self
            .client
            .resurrect(&Resurrect {
                new_payload: Some(&payload),
                new_tags: Some("resurrected,manual"),
                new_priority: Some(30),
                // Had somebody else edited it since it was read, the answer would be `changed`.
                expected_revision: Some(broken.revision),
                ..Resurrect::new(&broken.job_id, OPERATOR)
            })
            .await?;
        expect(result.outcome == ResurrectOutcome::Resurrected, "the repaired mail comes back")?;
        self.did("resurrect", "back in its queue: new payload, tags, priority 30, attempts 0")?;
        self.narrator.quote(&payload)?;

        let tally = worker::work_off(self.client, &self.cast.mail_queue, WORKER).await?;
        expect(tally.succeeded == 1 && tally.dead == 0, "the repaired mail succeeds")?;
        self.did("archive_succeeded", "the worker sent it")?;
        let job = self.client.get_job(&broken.job_id).await?.ok_or_else(gone)?;
        self.did(
            "get_job",
            format!(
                "it is in the {}; resurrected {} time, last changed by {}",
                job.pillar,
                job.resurrect_count,
                job.last_modified_by.as_deref().unwrap_or("nobody")
            ),
        )?;
        Ok(job)
    }

    async fn worker_crashes(&self) -> Result<Vec<String>, Failure> {
        self.narrator.chapter("Another worker starts reports and crashes; they are found as zombies")?;
        let ids = self.enqueue(&self.cast.reporting_jobs()).await?;
        self.did("enqueue_many", format!("{} jobs into queue {}", ids.len(), self.cast.report_queue))?;
        let started = self
            .client
            .fetch_next_batch(&FetchNextBatch {
                batch_size: i32::try_from(ids.len()).ok(),
                queues: Some(&[&self.cast.report_queue]),
                start_now: true,
                ..FetchNextBatch::new(CRASHED)
            })
            .await?;
        self.did(
            "fetch_next_batch",
            format!("{CRASHED} started {} of them and was never heard of again", started.len()),
        )?;
        expect(started.len() == ids.len(), "one fetch starts all reports")?;

        let waited = Instant::now();
        let mut moved = 0;
        let mut batches = 0;
        while moved < ids.len() as i64 {
            expect(waited.elapsed() < ZOMBIE_LIMIT, "the zombies are found in time")?;
            tokio::time::sleep(ZOMBIE_POLL).await;
            let swept = self.client.archive_zombies(Some(ZOMBIE_AFTER), Some(BATCH)).await?;
            moved += swept.moved_count;
            batches += swept.batch_count;
        }
        self.did(
            "archive_zombies",
            format!("{moved} without a heartbeat for {ZOMBIE_AFTER} s went to the DLQ as Zombie, in {batches} batches"),
        )?;
        expect(self.queue_balances(&self.cast.report_queue, &ids).await?, "the counters equal the tables")?;
        Ok(ids)
    }

    async fn zombies_come_back(&self) -> Result<(), Failure> {
        self.narrator.chapter("Reports are safe to run twice, so the operator brings them all back")?;
        let filter = DlqFilter {
            queue: Some(&self.cast.report_queue),
            failure_reason: Some(FailureReason::Zombie),
            ..DlqFilter::default()
        };
        let list = ListDlq { filter, limit: Some(1000), ..ListDlq::default() };
        let zombies = self.client.list_dlq(&list).await?.into_iter().map(|job| job.job_id).collect::<Vec<_>>();
        self.did("list_dlq", format!("{} zombies", zombies.len()))?;
        let result = self.client.resurrect_batch(&zombies, OPERATOR, Some(BATCH)).await?;
        self.did(
            "resurrect_batch",
            format!("{} resurrected in {} batches of up to {BATCH}", result.resurrected_count, result.batch_count),
        )?;
        let tally = worker::work_off(self.client, &self.cast.report_queue, WORKER).await?;
        self.did("archive_succeeded", format!("the worker ran {} of them", tally.succeeded))?;
        expect(tally.succeeded == zombies.len(), "every zombie succeeds at last")
    }

    async fn archive_is_purged(&self, repaired: &Job) -> Result<(), Failure> {
        self.narrator.chapter("Old rows of the Archive are purged in short transactions")?;
        let cut_off = repaired.finished_at.ok_or_else(|| Failure::new("the repaired mail has no FinishedAtUtc"))?;
        let purge =
            PurgeArchive { cleanup_batch_size: Some(BATCH), purged_by: Some(OPERATOR), ..PurgeArchive::new(cut_off) };
        let result = self.client.purge_archive(&purge).await?;
        self.did(
            "purge_archive",
            format!(
                "{} that finished before the repaired mail are gone, in {} batches",
                result.deleted_count, result.batch_count
            ),
        )?;
        expect(result.deleted_count >= self.cast.mails.len() as i64 - 1, "the healthy mails are purged")
    }

    async fn books_balance(&self, mails: &[String], reports: &[String]) -> Result<(), Failure> {
        self.narrator.chapter("The counters are held against the tables, job by job")?;
        let mails_hold = self.queue_balances(&self.cast.mail_queue, mails).await?;
        let reports_hold = self.queue_balances(&self.cast.report_queue, reports).await?;
        expect(mails_hold && reports_hold, "the counters equal the tables")?;
        self.narrator
            .note("every counter equals the tables; what was purged from the Archive still counts as succeeded")?;
        Ok(())
    }

    async fn queue_balances(&self, queue: &str, job_ids: &[String]) -> Result<bool, Failure> {
        let checks = balance::check(self.client, queue, job_ids).await?;
        self.did("get_queue_stats", format!("queue {queue}"))?;
        for check in &checks {
            let sign = if check.holds() { '=' } else { '≠' };
            self.narrator.note(&format!("  {:22} {:>4} {sign} {}", check.counter, check.counted, check.found))?;
        }
        Ok(checks.iter().all(balance::Check::holds))
    }
}

/// The story has a plot; where the database departs from it, the demo has failed.
fn expect(holds: bool, what: &str) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure::new(format_args!("the demo failed: it expects that {what}"))) }
}

fn gone() -> Failure {
    Failure::new("the demo failed: its job is gone")
}
