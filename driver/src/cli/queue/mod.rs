//! `chokaq queue`: which queues run, and by which rules.

mod set;
mod shown;

use chokaq::{SetQueueOutcome, SetQueueResult};
use clap::{Args, Subcommand};

use super::operator::Operator;
use super::{Answer, Failure, Output, Session, note, warn};
pub use shown::state;

const EXAMPLES: &str = "\
Examples:
  chokaq queue list
  chokaq queue pause mail
  chokaq queue set mail --max-workers 4 --max-attempts 5 --base-delay 30s
  chokaq queue set mail --max-workers none --max-job-age none";

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Command {
    /// List queues and their settings
    List(List),
    /// Let no job of a queue be fetched, for a while; what runs goes on
    Pause(Named),
    /// Let a paused queue's jobs be fetched again
    Resume(Named),
    /// Put a queue into service again
    Activate(Named),
    /// Take a queue out of service: none of its jobs is fetched
    Deactivate(Named),
    /// Change a queue's limits and its retry policy
    Set(Box<set::Set>),
}

#[derive(Debug, Args)]
pub struct List {
    /// Only this queue; exit code 1 when there is none of this name
    #[arg(long)]
    queue: Option<String>,
}

/// A queue, and who changes it.
#[derive(Debug, Args)]
pub struct Named {
    /// The queue; a new name makes a new queue
    queue: String,
    #[command(flatten)]
    operator: Operator,
}

impl Command {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        match self {
            Self::List(list) => list.run(session).await,
            Self::Pause(named) => named.pause(session, true).await,
            Self::Resume(named) => named.pause(session, false).await,
            Self::Activate(named) => named.activate(session, true).await,
            Self::Deactivate(named) => named.activate(session, false).await,
            Self::Set(set) => set.run(session).await,
        }
    }
}

impl List {
    async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let queues = session.client().await?.get_queues(self.queue.as_deref()).await?;
        shown::queues(session.output, &queues)?;
        match self.queue {
            Some(queue) if queues.is_empty() => {
                warn(format_args!("not_found: {queue}"));
                Ok(Answer::No)
            }
            None if queues.is_empty() => {
                note("no queue");
                Ok(Answer::Yes)
            }
            _ => Ok(Answer::Yes),
        }
    }
}

impl Named {
    async fn pause(self, session: &Session, is_paused: bool) -> Result<Answer, Failure> {
        let by = self.operator.name()?;
        show(session.output, &[session.client().await?.set_queue_paused(&self.queue, is_paused, &by).await?])
    }

    async fn activate(self, session: &Session, is_active: bool) -> Result<Answer, Failure> {
        let by = self.operator.name()?;
        show(session.output, &[session.client().await?.set_queue_active(&self.queue, is_active, &by).await?])
    }
}

/// Shows what changes of one queue answered. A name that was new may have been a slip.
fn show(output: Output, results: &[SetQueueResult]) -> Result<Answer, Failure> {
    shown::changes(output, results)?;
    for result in results.iter().filter(|result| result.outcome == SetQueueOutcome::Created) {
        warn(format_args!("there was no queue {:?}; now there is", result.queue.queue));
    }
    Ok(Answer::Yes)
}
