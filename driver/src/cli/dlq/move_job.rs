//! `chokaq dlq move`: isolating a job.

use chokaq::{FailureReason, MoveToDlq, MoveToDlqOutcome};
use clap::Args;

use crate::cli::input::ErrorSource;
use crate::cli::job::Fence;
use crate::cli::operator::Operator;
use crate::cli::{Answer, Failure, Session, parse};

const EXAMPLES: &str = "\
Examples:
  chokaq dlq move a1 --reason Rejected --error 'the customer is gone'";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Move {
    /// The id of the job
    job_id: String,
    /// Why, by name or number
    #[arg(long, alias = "failure-reason", value_parser = parse::failure_reason(), ignore_case = true)]
    reason: FailureReason,
    #[command(flatten)]
    error: ErrorSource,
    #[command(flatten)]
    fence: Fence,
    #[command(flatten)]
    operator: Operator,
}

impl Move {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let error = self.error.read()?;
        // A worker that gives its own job up is named as the worker; anybody else is an operator.
        let moved_by = if self.fence.worker.is_none() { Some(self.operator.name()?) } else { None };
        let failure = MoveToDlq {
            error_details: error.as_deref(),
            worker_id: self.fence.worker.as_deref(),
            attempt: self.fence.attempt,
            resurrect_count: self.fence.resurrect_count,
            moved_by: moved_by.as_deref(),
            ..MoveToDlq::new(&self.job_id, self.reason)
        };
        let result = session.client().await?.move_to_dlq(&failure).await?;
        session.output.answer(&result)?;
        Ok(Answer::when(matches!(result.outcome, MoveToDlqOutcome::Moved | MoveToDlqOutcome::AlreadyMoved)))
    }
}
