//! `chokaq job`: the way of a job, one verb per procedure.

use std::path::PathBuf;

use chokaq::{
    ArchiveSucceeded, ArchiveSucceededOutcome, Enqueue, EnqueueOutcome, FailJob, FailJobOutcome, FailureReason,
    FetchNextBatch, KeepAliveOutcome, MarkAsProcessingOutcome, Pillar, ReleaseJobOutcome, RescheduleForRetry,
    RescheduleForRetryOutcome, UpdateJobData, UpdateJobDataOutcome,
};
use clap::{Args, Subcommand};
use time::OffsetDateTime;

use super::edit::{Changes, Original};
use super::input::{ErrorSource, PayloadSource, text_of};
use super::{Answer, Failure, Session, note, parse};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Put one job into its queue
    Enqueue(New),
    /// Put up to 10,000 jobs in at once; exit code 1 when one of them was there already
    EnqueueMany {
        /// A JSON array of {queue, type, payload, jobId, tags, priority, delaySeconds, scheduledAtUtc,
        /// idempotencyKey, createdBy}; - for standard input
        #[arg(value_name = "FILE", default_value = "-")]
        file: PathBuf,
    },
    /// Claim the next due jobs; exit code 1 when there is none
    Fetch(Fetch),
    /// Start a fetched job: its attempt is counted
    Start {
        /// The id of the job
        job_id: String,
        #[command(flatten)]
        worker: Worker,
    },
    /// End a job well: it goes to the Archive
    Succeed(Succeed),
    /// Report a failure; the queue's retry policy decides between another try and the DLQ
    Fail(Fail),
    /// Put a running job back for another try, whatever the retry policy says
    Retry(Retry),
    /// Give a fetched job back to its queue
    Release {
        /// The id of the job
        job_id: String,
        #[command(flatten)]
        worker: Worker,
    },
    /// Renew the heartbeat of a worker's jobs; exit code 1 when it lost one of them
    KeepAlive {
        /// The ids of the jobs
        #[arg(required = true, value_name = "JOB_ID")]
        job_ids: Vec<String>,
        #[command(flatten)]
        worker: Worker,
    },
    /// Show a job, whichever table it is in
    Show {
        /// The id of the job
        job_id: String,
    },
    /// Change payload, tags or priority of a pending job; without a change to make, in your editor
    Edit(Edit),
}

#[derive(Debug, Args)]
pub struct Worker {
    /// The worker's name
    #[arg(id = "worker", long = "worker", value_name = "NAME")]
    name: String,
}

/// The fence around a running job: without it any attempt of any worker may be ended.
#[derive(Debug, Args)]
pub struct Fence {
    /// Only when this worker has the job
    #[arg(long, value_name = "NAME")]
    pub worker: Option<String>,
    /// Only when this attempt runs
    #[arg(long, value_name = "NUMBER")]
    pub attempt: Option<i32>,
    /// Only when it was resurrected so often, as the fetch said
    #[arg(long, value_name = "NUMBER")]
    pub resurrect_count: Option<i32>,
}

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

#[derive(Debug, Args)]
pub struct Fetch {
    #[command(flatten)]
    worker: Worker,
    /// At most so many, up to 1000 [default: 10]
    #[arg(long)]
    batch_size: Option<i32>,
    /// Only from this queue; may be repeated [default: all]
    #[arg(long)]
    queue: Vec<String>,
    /// Start them in the same write
    #[arg(long)]
    start_now: bool,
}

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

#[derive(Debug, Args)]
pub struct Edit {
    #[command(flatten)]
    changes: Changes,
    /// Higher first
    #[arg(long, allow_negative_numbers = true)]
    priority: Option<i32>,
}

/// What people see of a fetched job.
const FETCHED: [&str; 6] = ["JobId", "Queue", "Type", "Priority", "AttemptCount", "Payload"];

impl Command {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        match self {
            Self::Enqueue(new) => new.run(session).await,
            Self::EnqueueMany { file } => enqueue_many(session, file).await,
            Self::Fetch(fetch) => fetch.run(session).await,
            Self::Start { job_id, worker } => start(session, &job_id, &worker.name).await,
            Self::Succeed(succeed) => succeed.run(session).await,
            Self::Fail(fail) => fail.run(session).await,
            Self::Retry(retry) => retry.run(session).await,
            Self::Release { job_id, worker } => release(session, &job_id, &worker.name).await,
            Self::KeepAlive { job_ids, worker } => keep_alive(session, &job_ids, &worker.name).await,
            Self::Show { job_id } => show(session, &job_id).await,
            Self::Edit(edit) => edit.run(session).await,
        }
    }
}

impl New {
    async fn run(self, session: &Session) -> Result<Answer, Failure> {
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

async fn enqueue_many(session: &Session, file: PathBuf) -> Result<Answer, Failure> {
    let jobs = text_of(&file)?;
    let results = session.client().await?.enqueue_many_json(&jobs).await?;
    session.output.rows(&results, &["Ordinal", "Outcome", "JobId"])?;
    Ok(Answer::when(results.iter().all(|result| result.outcome == EnqueueOutcome::Enqueued)))
}

impl Fetch {
    async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let queues = self.queue.iter().map(String::as_str).collect::<Vec<_>>();
        let jobs = session
            .client()
            .await?
            .fetch_next_batch(&FetchNextBatch {
                worker_id: &self.worker.name,
                batch_size: self.batch_size,
                queues: (!queues.is_empty()).then_some(queues.as_slice()),
                start_now: self.start_now,
            })
            .await?;
        session.output.rows(&jobs, &FETCHED)?;
        if jobs.is_empty() {
            note("nothing is due");
        }
        Ok(Answer::when(!jobs.is_empty()))
    }
}

async fn start(session: &Session, job_id: &str, worker_id: &str) -> Result<Answer, Failure> {
    let result = session.client().await?.mark_as_processing(job_id, worker_id).await?;
    session.output.answer(&result)?;
    Ok(Answer::when(matches!(
        result.outcome,
        MarkAsProcessingOutcome::Started | MarkAsProcessingOutcome::AlreadyStarted
    )))
}

impl Succeed {
    async fn run(self, session: &Session) -> Result<Answer, Failure> {
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

impl Fail {
    async fn run(self, session: &Session) -> Result<Answer, Failure> {
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
    async fn run(self, session: &Session) -> Result<Answer, Failure> {
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

async fn release(session: &Session, job_id: &str, worker_id: &str) -> Result<Answer, Failure> {
    let result = session.client().await?.release_job(job_id, worker_id).await?;
    session.output.answer(&result)?;
    Ok(Answer::when(result.outcome == ReleaseJobOutcome::Released))
}

async fn keep_alive(session: &Session, job_ids: &[String], worker_id: &str) -> Result<Answer, Failure> {
    let results = session.client().await?.keep_alive(job_ids, worker_id).await?;
    session.output.rows(&results, &["JobId", "Outcome"])?;
    Ok(Answer::when(results.iter().all(|result| result.outcome == KeepAliveOutcome::Alive)))
}

async fn show(session: &Session, job_id: &str) -> Result<Answer, Failure> {
    session.show(session.client().await?.get_job(job_id).await?, job_id)
}

impl Edit {
    async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let client = session.client().await?;
        let job_id = self.changes.job_id.clone();
        let original = async || {
            let job = client.get_job(&job_id).await?;
            Ok(job.filter(|job| job.pillar == Pillar::Hot).map(|job| Original {
                payload: job.payload,
                error: job.error_details,
                revision: job.revision,
            }))
        };
        let Some(edit) = self.changes.settle(self.priority.is_some(), original).await? else {
            return Ok(Answer::No);
        };
        let result = client
            .update_job_data(&UpdateJobData {
                job_id: &edit.job_id,
                modified_by: &edit.modified_by,
                payload: edit.payload.as_deref(),
                tags: edit.tags.as_deref(),
                clear_payload: edit.clear_payload,
                clear_tags: edit.clear_tags,
                allow_invalid_json: edit.allow_invalid_json,
                expected_revision: edit.expected_revision,
                priority: self.priority,
            })
            .await?;
        session.output.answer(&result)?;
        Ok(Answer::when(result.outcome == UpdateJobDataOutcome::Updated))
    }
}
