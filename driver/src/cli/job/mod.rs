//! `chokaq job`: the way of a job, one verb per procedure.

mod cancel;
mod edit;
mod enqueue;
mod finish;
mod history;
mod work;

use clap::{Args, Subcommand};

use super::{Answer, Failure, Session, page};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Put one job into its queue
    Enqueue(enqueue::New),
    /// Put up to 10,000 jobs in at once; exit code 1 when one of them was there already
    EnqueueMany(enqueue::NewMany),
    /// Claim the next due jobs; exit code 1 when there is none
    Fetch(work::Fetch),
    /// Start a fetched job: its attempt is counted
    Start(work::OwnJob),
    /// Start up to 1000 fetched jobs at once; exit code 1 when one of them does not run then
    StartMany(work::OwnJobs),
    /// End a job well: it goes to the Archive
    Succeed(finish::Succeed),
    /// End up to 1000 jobs well at once; exit code 1 when one of them is not in the Archive then
    SucceedMany(finish::SucceedMany),
    /// Report a failure; the queue's retry policy decides between another try and the DLQ
    Fail(finish::Fail),
    /// Put a running job back for another try, whatever the retry policy says
    Retry(finish::Retry),
    /// Give a fetched job back to its queue
    Release(work::OwnJob),
    /// Renew the heartbeat of a worker's jobs; exit code 1 when it lost one of them
    KeepAlive(work::OwnJobs),
    /// Show a job, whichever table it is in
    Show {
        /// The id of the job
        job_id: String,
    },
    /// Show what operators did to a job: who, when, and what it was like before
    History(history::History),
    /// Change payload, tags or priority of a pending job; without a change to make, in your editor
    Edit(edit::Edit),
    /// Move jobs that have not started to the DLQ, as Cancelled
    Cancel(cancel::Cancel),
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

impl Command {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        match self {
            Self::Enqueue(new) => new.run(session).await,
            Self::EnqueueMany(new) => new.run(session).await,
            Self::Fetch(fetch) => fetch.run(session).await,
            Self::Start(own) => work::start(session, own).await,
            Self::StartMany(own) => work::start_many(session, own).await,
            Self::Succeed(succeed) => succeed.run(session).await,
            Self::SucceedMany(succeed) => succeed.run(session).await,
            Self::Fail(fail) => fail.run(session).await,
            Self::Retry(retry) => retry.run(session).await,
            Self::Release(own) => work::release(session, own).await,
            Self::KeepAlive(own) => work::keep_alive(session, own).await,
            Self::Show { job_id } => {
                let (client, now) = session.client_and_clock().await?;
                page::show(session.output, client.get_job(&job_id).await?.as_ref(), &job_id, now)
            }
            Self::History(history) => history.run(session).await,
            Self::Edit(edit) => edit.run(session).await,
            Self::Cancel(cancel) => cancel.run(session).await,
        }
    }
}
