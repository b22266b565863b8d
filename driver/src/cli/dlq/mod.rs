//! `chokaq dlq`: inspecting failed jobs, repairing them, bringing them back, ending them for good.

mod ages;
mod edit;
mod filter;
mod list;
mod move_job;
mod preview;
mod purge;
mod resurrect;
mod show;
mod sum;
mod summary;

use clap::Subcommand;

use super::{Answer, Failure, Session};

const EXAMPLES: &str = "\
At three in the morning:
  chokaq dlq summary                  what failed, of which type, why, since when
  chokaq dlq list --from 1h           the jobs themselves
  chokaq dlq show a1                  why is this job here?
  chokaq dlq edit a1 --resurrect      repair it and run it again
  chokaq dlq resurrect --queue mail --reason MaxRetriesExceeded --from 2h";

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Command {
    /// List failed jobs, newest first
    List(list::List),
    /// Count failed jobs by queue, type, reason or age
    Summary(summary::Summary),
    /// Show one failed job whole: why it failed, its error, its payload, what can be done
    Show(show::Show),
    /// Repair payload or tags of a failed job; without a change to make, in your editor
    Edit(edit::Edit),
    /// Take a job out of its queue into the DLQ
    Move(move_job::Move),
    /// Bring failed jobs back to their queues: one, repaired in the same step, or many
    Resurrect(Box<resurrect::Bring>),
    /// Delete failed jobs for good; the operator history keeps that they were
    Purge(purge::Purge),
}

impl Command {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        match self {
            Self::List(list) => list.run(session).await,
            Self::Summary(summary) => summary.run(session).await,
            Self::Show(show) => show.run(session).await,
            Self::Edit(edit) => edit.run(session).await,
            Self::Move(command) => command.run(session).await,
            Self::Resurrect(bring) => bring.run(session).await,
            Self::Purge(purge) => purge.run(session).await,
        }
    }
}
