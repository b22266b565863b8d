//! `chokaq job`: what a worker does with its jobs before they end.

use chokaq::{FetchNextBatch, KeepAliveOutcome, MarkAsProcessingOutcome, ReleaseJobOutcome};
use clap::Args;

use super::Worker;
use crate::cli::input::JobIds;
use crate::cli::{Answer, Failure, Session, note};

#[derive(Debug, Args)]
pub struct Fetch {
    #[command(flatten)]
    worker: Worker,
    /// At most so many, up to 1000 [default: 10]
    #[arg(long, value_name = "NUMBER")]
    batch_size: Option<i32>,
    /// Only from this queue; may be repeated [default: all]
    #[arg(long)]
    queue: Vec<String>,
    /// Start them in the same write
    #[arg(long)]
    start_now: bool,
}

/// One job of a worker.
#[derive(Debug, Args)]
pub struct OwnJob {
    /// The id of the job
    job_id: String,
    #[command(flatten)]
    worker: Worker,
}

/// Jobs of a worker.
#[derive(Debug, Args)]
pub struct OwnJobs {
    #[command(flatten)]
    jobs: JobIds,
    #[command(flatten)]
    worker: Worker,
}

/// What people see of a fetched job.
const FETCHED: [&str; 6] = ["JobId", "Queue", "Type", "Priority", "AttemptCount", "Payload"];

impl Fetch {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
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

pub async fn start(session: &Session, own: OwnJob) -> Result<Answer, Failure> {
    let result = session.client().await?.mark_as_processing(&own.job_id, &own.worker.name).await?;
    session.output.answer(&result)?;
    Ok(Answer::when(has_started(result.outcome)))
}

pub async fn start_many(session: &Session, own: OwnJobs) -> Result<Answer, Failure> {
    let job_ids = own.jobs.read()?;
    let results = session.client().await?.mark_jobs_as_processing(&job_ids, &own.worker.name).await?;
    session.output.rows(&results, &["JobId", "Outcome", "AttemptCount"])?;
    Ok(Answer::when(results.iter().all(|result| has_started(result.outcome))))
}

fn has_started(outcome: MarkAsProcessingOutcome) -> bool {
    matches!(outcome, MarkAsProcessingOutcome::Started | MarkAsProcessingOutcome::AlreadyStarted)
}

pub async fn release(session: &Session, own: OwnJob) -> Result<Answer, Failure> {
    let result = session.client().await?.release_job(&own.job_id, &own.worker.name).await?;
    session.output.answer(&result)?;
    Ok(Answer::when(result.outcome == ReleaseJobOutcome::Released))
}

pub async fn keep_alive(session: &Session, own: OwnJobs) -> Result<Answer, Failure> {
    let job_ids = own.jobs.read()?;
    let results = session.client().await?.keep_alive(&job_ids, &own.worker.name).await?;
    session.output.rows(&results, &["JobId", "Outcome"])?;
    Ok(Answer::when(results.iter().all(|result| result.outcome == KeepAliveOutcome::Alive)))
}
