//! A worker as small as one can be: fetch, start, run, and say how it went.

use std::time::Instant;

use chokaq::{ArchiveSucceeded, Client, FailJob, FailJobOutcome, FailureReason, FetchNextBatch, FetchedJob};
use serde::Deserialize;

use super::cast::{MAIL, REPORT};
use crate::cli::Failure;

/// Jobs per fetch.
const BATCH_SIZE: i32 = 10;

#[derive(Debug, Deserialize)]
struct Mail {
    to: String,
    subject: String,
    body: String,
}

#[derive(Debug, Deserialize)]
struct Report {
    month: u32,
}

/// Why a job cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error("JsonException: {0}")]
    Json(#[from] serde_json::Error),
    #[error("no handler for type {0:?}")]
    Type(String),
    #[error("the address {0:?} has no @")]
    Address(String),
}

/// What the worker did until its queue was empty.
#[derive(Debug, Default)]
pub struct Tally {
    pub fetches: usize,
    pub succeeded: usize,
    pub dead: usize,
}

/// Works until a fetch comes back empty.
pub async fn work_off(client: &Client, queue: &str, worker_id: &str) -> Result<Tally, Failure> {
    let mut tally = Tally::default();
    loop {
        let jobs = client
            .fetch_next_batch(&FetchNextBatch {
                batch_size: Some(BATCH_SIZE),
                queues: Some(&[queue]),
                ..FetchNextBatch::new(worker_id)
            })
            .await?;
        if jobs.is_empty() {
            return Ok(tally);
        }
        tally.fetches += 1;
        for job in jobs {
            work_on(client, &job, worker_id, &mut tally).await?;
        }
    }
}

async fn work_on(client: &Client, job: &FetchedJob, worker_id: &str, tally: &mut Tally) -> Result<(), Failure> {
    // Attempt and resurrect count are the fence: should this worker be taken for dead, its late answer ends nobody
    // else's run.
    let Some(attempt) = client.mark_as_processing(&job.job_id, worker_id).await?.attempt_count else {
        return Ok(());
    };
    let begun = Instant::now();
    match perform(&job.r#type, job.payload.as_deref().unwrap_or_default()) {
        Ok(_) => {
            client
                .archive_succeeded(&ArchiveSucceeded {
                    job_id: &job.job_id,
                    worker_id: Some(worker_id),
                    attempt: Some(attempt),
                    duration_ms: Some(begun.elapsed().as_secs_f64() * 1000.0),
                    resurrect_count: Some(job.resurrect_count),
                })
                .await?;
            tally.succeeded += 1;
        }
        Err(trouble) => {
            let answer = client
                .fail_job(&FailJob {
                    job_id: &job.job_id,
                    worker_id,
                    attempt,
                    // The same payload would fail for ever.
                    failure_reason: FailureReason::FatalError,
                    error_details: Some(&trouble.to_string()),
                    retry_after_seconds: None,
                    resurrect_count: Some(job.resurrect_count),
                })
                .await?;
            tally.dead += usize::from(answer.outcome == FailJobOutcome::Moved);
        }
    }
    Ok(())
}

/// Runs one job: parses its payload, and says what it would have sent.
pub fn perform(r#type: &str, payload: &str) -> Result<String, Trouble> {
    match r#type {
        MAIL => {
            let Mail { to, subject, body } = serde_json::from_str(payload)?;
            if !to.contains('@') {
                return Err(Trouble::Address(to));
            }
            Ok(format!("To: {to}\nSubject: {subject}\n\n{body}"))
        }
        REPORT => {
            let Report { month } = serde_json::from_str(payload)?;
            Ok(format!("Report of month {month}"))
        }
        other => Err(Trouble::Type(other.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_comma_is_told_with_its_place() {
        let trouble = perform(MAIL, "{\"to\": \"a@b\"\n\"subject\": \"c\"}").unwrap_err();
        assert!(trouble.to_string().contains("line 2 column 1"), "{trouble}");
    }

    #[test]
    fn a_job_of_an_unknown_type_does_not_run() {
        assert!(matches!(perform("email_v2", "{}"), Err(Trouble::Type(_))));
    }
}
