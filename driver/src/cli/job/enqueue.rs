//! `chokaq job enqueue` and `enqueue-many`: putting jobs in.

use std::path::PathBuf;

use chokaq::{Enqueue, EnqueueOutcome};
use clap::Args;
use time::OffsetDateTime;

use crate::cli::input::{PayloadSource, text_of};
use crate::cli::{Answer, Failure, Session, parse};

#[derive(Debug, Args)]
pub struct New {
    /// Its queue; a new name makes a new queue
    #[arg(long)]
    queue: String,
    /// Its type, by which workers know what to do
    #[arg(long = "type")]
    r#type: String,
    #[command(flatten)]
    payload: PayloadSource,
    /// The job's id [default: the server makes a time-sortable one]
    #[arg(long, value_name = "JOB_ID")]
    job_id: Option<String>,
    /// Any text up to 1000 characters
    #[arg(long)]
    tags: Option<String>,
    /// Higher first [default: 10]
    #[arg(long, allow_negative_numbers = true)]
    priority: Option<i32>,
    /// Run it no sooner than this after now, on the server's clock
    #[arg(long, value_name = "DURATION", value_parser = parse::seconds)]
    delay: Option<i32>,
    /// Run it no sooner than this instant, for instance 2026-01-31T08:00:00Z
    #[arg(long, value_name = "INSTANT", value_parser = parse::instant, conflicts_with = "delay")]
    scheduled_at: Option<OffsetDateTime>,
    /// Only when no live job has this key; exit code 1 when one has
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Who asks for it
    #[arg(long, value_name = "NAME")]
    created_by: Option<String>,
}

impl New {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let payload = self.payload.read()?;
        let client = session.client().await?;
        let result = client
            .enqueue(&Enqueue {
                queue: &self.queue,
                r#type: &self.r#type,
                payload: payload.as_deref(),
                job_id: self.job_id.as_deref(),
                tags: self.tags.as_deref(),
                priority: self.priority,
                delay_seconds: self.delay,
                scheduled_at: self.scheduled_at,
                idempotency_key: self.idempotency_key.as_deref(),
                created_by: self.created_by.as_deref(),
            })
            .await?;
        session.output.answer(&result)?;
        Ok(Answer::when(result.outcome == EnqueueOutcome::Enqueued))
    }
}

#[derive(Debug, Args)]
pub struct NewMany {
    /// A JSON array of {queue, type, payload, jobId, tags, priority, delaySeconds, scheduledAtUtc, idempotencyKey,
    /// createdBy}; - for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
}

impl NewMany {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let jobs = text_of(&self.file)?;
        let results = session.client().await?.enqueue_many_json(&jobs).await?;
        session.output.rows(&results, &["Ordinal", "Outcome", "JobId"])?;
        Ok(Answer::when(results.iter().all(|result| result.outcome == EnqueueOutcome::Enqueued)))
    }
}
