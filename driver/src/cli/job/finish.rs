//! `chokaq job`: how a run of a job ends.

use std::path::PathBuf;

use chokaq::{
    ArchiveSucceeded, ArchiveSucceededJobsOutcome, ArchiveSucceededOutcome, FailJob, FailJobOutcome, FailureReason,
    FinishedJob, RescheduleForRetry, RescheduleForRetryOutcome,
};
use clap::Args;
use serde::Deserialize;

use super::{Fence, Worker};
use crate::cli::input::{ErrorSource, text_of};
use crate::cli::{Answer, Failure, Session, parse};

#[derive(Debug, Args)]
pub struct Succeed {
    /// The id of the job
    job_id: String,
    #[command(flatten)]
    fence: Fence,
    /// How long it ran, for instance 1s 500ms
    #[arg(long, value_name = "DURATION", value_parser = parse::milliseconds)]
    duration: Option<f64>,
}

#[derive(Debug, Args)]
pub struct SucceedMany {
    /// A JSON array of {jobId, attempt, durationMs, resurrectCount}, of which jobId alone must be there; - for standard
    /// input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    #[command(flatten)]
    worker: Worker,
}

/// A job of such an array.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Finished {
    job_id: String,
    attempt: Option<i32>,
    duration_ms: Option<f64>,
    resurrect_count: Option<i32>,
}

#[derive(Debug, Args)]
pub struct Fail {
    /// The id of the job
    job_id: String,
    #[command(flatten)]
    worker: Worker,
    /// The attempt that failed
    #[arg(long, value_name = "NUMBER")]
    attempt: i32,
    /// Only when it was resurrected so often, as the fetch said
    #[arg(long, value_name = "NUMBER")]
    resurrect_count: Option<i32>,
    /// Why, by name or number
    #[arg(long, alias = "failure-reason", value_parser = parse::failure_reason(), ignore_case = true)]
    reason: FailureReason,
    #[command(flatten)]
    error: ErrorSource,
    /// Retry after this, instead of the queue's own delay
    #[arg(long, value_name = "DURATION", value_parser = parse::seconds)]
    retry_after: Option<i32>,
}

#[derive(Debug, Args)]
pub struct Retry {
    /// The id of the job
    job_id: String,
    #[command(flatten)]
    fence: Fence,
    /// Run it no sooner than this after now [default: 0s]
    #[arg(long, value_name = "DURATION", value_parser = parse::seconds)]
    delay: Option<i32>,
    #[command(flatten)]
    error: ErrorSource,
}

impl Succeed {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let done = ArchiveSucceeded {
            job_id: &self.job_id,
            worker_id: self.fence.worker.as_deref(),
            attempt: self.fence.attempt,
            duration_ms: self.duration,
            resurrect_count: self.fence.resurrect_count,
        };
        let result = session.client().await?.archive_succeeded(&done).await?;
        session.output.answer(&result)?;
        Ok(Answer::when(matches!(
            result.outcome,
            ArchiveSucceededOutcome::Archived | ArchiveSucceededOutcome::AlreadyArchived
        )))
    }
}

impl SucceedMany {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let jobs = finished(&text_of(&self.file)?)?;
        let jobs = jobs.iter().map(|job| FinishedJob {
            job_id: &job.job_id,
            attempt: job.attempt,
            duration_ms: job.duration_ms,
            resurrect_count: job.resurrect_count,
        });
        let jobs = jobs.collect::<Vec<_>>();
        let results = session.client().await?.archive_succeeded_jobs(&jobs, &self.worker.name).await?;
        session.output.rows(&results, &["JobId", "Outcome"])?;
        let is_archived = |outcome| {
            matches!(outcome, ArchiveSucceededJobsOutcome::Archived | ArchiveSucceededJobsOutcome::AlreadyArchived)
        };
        Ok(Answer::when(results.iter().all(|result| is_archived(result.outcome))))
    }
}

fn finished(json: &str) -> Result<Vec<Finished>, Failure> {
    serde_json::from_str(json).map_err(|error| {
        Failure::new(format_args!("not an array of finished jobs: {error}"))
            .hint(r#"write for instance [{"jobId": "a1", "attempt": 1, "durationMs": 12.5}]"#)
    })
}

impl Fail {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let error = self.error.read()?;
        let failure = FailJob {
            job_id: &self.job_id,
            worker_id: &self.worker.name,
            attempt: self.attempt,
            failure_reason: self.reason,
            error_details: error.as_deref(),
            retry_after_seconds: self.retry_after,
            resurrect_count: self.resurrect_count,
        };
        let result = session.client().await?.fail_job(&failure).await?;
        session.output.answer(&result)?;
        Ok(Answer::when(matches!(
            result.outcome,
            FailJobOutcome::Rescheduled | FailJobOutcome::Moved | FailJobOutcome::AlreadyMoved
        )))
    }
}

impl Retry {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let error = self.error.read()?;
        let retry = RescheduleForRetry {
            job_id: &self.job_id,
            worker_id: self.fence.worker.as_deref(),
            attempt: self.fence.attempt,
            delay_seconds: self.delay,
            error_details: error.as_deref(),
            resurrect_count: self.fence.resurrect_count,
        };
        let result = session.client().await?.reschedule_for_retry(&retry).await?;
        session.output.answer(&result)?;
        Ok(Answer::when(result.outcome == RescheduleForRetryOutcome::Rescheduled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_id_must_be_there_and_a_misspelled_field_is_refused() {
        let whole = r#"[{"jobId": "a", "attempt": 2, "durationMs": 1.5, "resurrectCount": 1}]"#;
        let job =
            Finished { job_id: "a".to_owned(), attempt: Some(2), duration_ms: Some(1.5), resurrect_count: Some(1) };
        assert_eq!(finished(whole).unwrap(), [job]);
        assert_eq!(finished(r#"[{"jobId": "a"}]"#).unwrap().len(), 1);
        for wrong in [r#"[{"attempt": 1}]"#, r#"[{"jobId": "a", "attempts": 1}]"#, r#"{"jobId": "a"}"#] {
            assert!(finished(wrong).is_err(), "{wrong}");
        }
    }
}
