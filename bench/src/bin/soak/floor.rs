//! Whoever brings jobs and whoever runs them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chokaq::{
    ArchiveSucceededJobsOutcome, Enqueue, EnqueueOutcome, FailJob, FailureReason, FetchNextBatch, FetchedJob,
    FinishedJob, MoveToDlq, RescheduleForRetry,
};
use chokaq_bench::Result;

use crate::{Soak, Tally};

/// Between two enqueues.
const BEAT: Duration = Duration::from_millis(100);
const QUEUES: [&str; 5] = ["mail", "pdf", "billing", "search", "import"];
const PAYLOAD: &str = r#"{"to": "ann@example.com", "template": "welcome-1", "locale": "en"}"#;

/// Brings `rate` jobs a second: a tenth of them for later, a tenth with a key. What a beat fell short of, the next one
/// brings, so that the rate is held beside the watch's pauses too.
pub async fn enqueue(soak: Arc<Soak>, rate: u32) -> Result<()> {
    let began = Instant::now();
    let mut brought = 0_u64;
    let pace = Arc::clone(&soak);
    pace.repeat(BEAT, move |soak, _| {
        let wanted = (began.elapsed().as_secs_f64() * f64::from(rate)) as u64;
        let first = brought;
        // A beat after a long pause is no flood.
        brought = wanted.min(brought + u64::from(rate));
        async move { bring(&soak, first..brought).await }
    })
    .await
}

async fn bring(soak: &Soak, numbers: std::ops::Range<u64>) -> Result<()> {
    if numbers.is_empty() {
        return Ok(());
    }
    let keys: Vec<String> = numbers.clone().map(|n| format!("order-{n}")).collect();
    let jobs: Vec<Enqueue<'_>> = numbers
        .zip(&keys)
        .map(|(n, key)| Enqueue {
            payload: Some(PAYLOAD),
            tags: (n % 3 == 0).then_some("soak"),
            priority: Some((n % 7) as i32),
            delay_seconds: (n % 10 == 1).then_some((n % 5) as i32 + 1),
            idempotency_key: (n % 10 == 2).then_some(key),
            created_by: Some("soak"),
            ..Enqueue::new(QUEUES[n as usize % QUEUES.len()], "soak_v1")
        })
        .collect();
    let answers = soak.client.enqueue_many(&jobs).await?;
    Tally::add(&soak.tally.enqueued, answers.iter().filter(|it| it.outcome == EnqueueOutcome::Enqueued).count());
    Ok(())
}

/// One worker. Of forty jobs it fails one for good and one for now, sets one back, hands one to the DLQ and forgets two.
pub async fn work(soak: Arc<Soak>, worker: String) -> Result<()> {
    let pace = Arc::clone(&soak);
    pace.repeat(Duration::from_millis(20), move |soak, turn| {
        let worker = worker.clone();
        async move {
            // Half of the fetches start at once, the others by a call of their own.
            while cycle(&soak, &worker, turn % 2 == 0).await? == 10 {}
            Ok(())
        }
    })
    .await
}

async fn cycle(soak: &Soak, worker: &str, start_now: bool) -> Result<usize> {
    let fetch = FetchNextBatch { start_now, ..FetchNextBatch::new(worker) };
    let mut jobs = soak.client.fetch_next_batch(&fetch).await?;
    let fetched = jobs.len();
    if !start_now {
        jobs = start(soak, worker, jobs).await?;
    }
    if jobs.is_empty() {
        return Ok(fetched);
    }
    let ids: Vec<&str> = jobs.iter().map(|job| job.job_id.as_str()).collect();
    soak.client.keep_alive(&ids, worker).await?;

    let mut done = Vec::with_capacity(jobs.len());
    for job in &jobs {
        if !ends_badly(soak, worker, job).await? {
            done.push(FinishedJob {
                job_id: &job.job_id,
                attempt: Some(job.attempt_count),
                duration_ms: Some(1.5),
                resurrect_count: Some(job.resurrect_count),
            });
        }
    }
    let answers = soak.client.archive_succeeded_jobs(&done, worker).await?;
    let archived = answers.iter().filter(|it| it.outcome == ArchiveSucceededJobsOutcome::Archived).count();
    Tally::add(&soak.tally.archived, archived);
    Ok(fetched)
}

/// Starts what was fetched but for one in forty, which is given back, and one, which is forgotten.
async fn start(soak: &Soak, worker: &str, jobs: Vec<FetchedJob>) -> Result<Vec<FetchedJob>> {
    let mut kept = Vec::with_capacity(jobs.len());
    for job in jobs {
        match lot(&job) {
            38 => {
                soak.client.release_job(&job.job_id, worker).await?;
            }
            39 => {}
            _ => kept.push(job),
        }
    }
    let ids: Vec<&str> = kept.iter().map(|job| job.job_id.as_str()).collect();
    if ids.is_empty() {
        return Ok(kept);
    }
    let started = soak.client.mark_jobs_as_processing(&ids, worker).await?;
    for (job, answer) in kept.iter_mut().zip(started) {
        job.attempt_count = answer.attempt_count.unwrap_or(job.attempt_count);
    }
    Ok(kept)
}

/// What becomes of a job is decided by the end of its id and by its attempt: a retry may go well.
fn lot(job: &FetchedJob) -> u64 {
    let sum: u64 = job.job_id.bytes().rev().take(4).map(u64::from).sum();
    (sum * 7 + job.attempt_count as u64 + 3 * job.resurrect_count as u64) % 40
}

async fn ends_badly(soak: &Soak, worker: &str, job: &FetchedJob) -> Result<bool> {
    let (job_id, attempt, resurrect_count) = (&*job.job_id, job.attempt_count, Some(job.resurrect_count));
    let failure = |failure_reason| FailJob {
        job_id,
        worker_id: worker,
        attempt,
        failure_reason,
        error_details: Some("SMTP 421: try again later"),
        retry_after_seconds: Some(1),
        resurrect_count,
    };
    match lot(job) {
        0 => {
            soak.client.fail_job(&failure(FailureReason::FatalError)).await?;
        }
        1 => {
            soak.client.fail_job(&failure(FailureReason::Transient)).await?;
        }
        2 => {
            let retry = RescheduleForRetry {
                job_id,
                worker_id: Some(worker),
                attempt: Some(attempt),
                delay_seconds: Some(1),
                error_details: None,
                resurrect_count,
            };
            soak.client.reschedule_for_retry(&retry).await?;
        }
        3 => {
            let failure = MoveToDlq {
                job_id,
                failure_reason: FailureReason::Rejected,
                error_details: Some("no such mailbox"),
                worker_id: Some(worker),
                attempt: Some(attempt),
                moved_by: None,
                resurrect_count,
            };
            soak.client.move_to_dlq(&failure).await?;
        }
        // The worker dies here: the sweep finds it.
        4 => {}
        _ => return Ok(false),
    }
    Ok(true)
}
