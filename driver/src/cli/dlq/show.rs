//! `chokaq dlq show`: why a job is here, and whether it is safe to run it again.

use chokaq::FailureReason;
use clap::Args;

use crate::cli::input::shell_word;
use crate::cli::{Answer, Failure, Output, Session, note, page};

const EXAMPLES: &str = "\
Examples:
  chokaq dlq show a1
  chokaq --json dlq show a1 | jq -r .Payload        to the letter";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Show {
    /// The id of the job
    job_id: String,
}

impl Show {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let (client, now) = session.client_and_clock().await?;
        let job = client.get_dlq_job(&self.job_id).await?;
        let answer = page::show(session.output, job.as_ref(), &self.job_id, now)?;
        if let (Some(job), false) = (job, matches!(session.output, Output::Json)) {
            note(format_args!("\n{}", next(job.failure_reason, &shell_word(&job.job_id))));
        }
        Ok(answer)
    }
}

/// What can be done with the job, and what to look at before.
fn next(reason: FailureReason, id: &str) -> String {
    format!(
        "{} {}.\n  \
           chokaq dlq edit {id} --resurrect  repair it and run it again, in one step\n  \
           chokaq dlq resurrect {id}         run it again as it is\n  \
           chokaq dlq purge {id}             delete it for good\n  \
           chokaq job history {id}           what operators did to it",
        reason.name(),
        before_it_runs_again(reason)
    )
}

/// What the family of a reason asks of an operator.
fn before_it_runs_again(reason: FailureReason) -> &'static str {
    match reason {
        FailureReason::FatalError | FailureReason::Rejected => {
            "fails again until its payload or the code that runs it is repaired"
        }
        FailureReason::Zombie | FailureReason::HeartbeatFailure => {
            "may have done a part of its work: make sure that this part can be done twice, or undo it first"
        }
        FailureReason::Cancelled => "was somebody's decision: bring it back only when that was a mistake",
        FailureReason::MaxRetriesExceeded
        | FailureReason::CircuitBreakerOpen
        | FailureReason::Throttled
        | FailureReason::Timeout
        | FailureReason::Transient
        | FailureReason::RetryLifetimeExpired => {
            "was tried long enough: make sure first that what it calls has recovered"
        }
        _ => "says nothing of the cause: read the error above and the worker's log first",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_advice_and_only_unknown_the_last() {
        let unknown = before_it_runs_again(FailureReason::Unknown);
        for reason in FailureReason::ALL.iter().filter(|reason| **reason != FailureReason::Unknown) {
            assert_ne!(before_it_runs_again(*reason), unknown, "{reason}");
        }
    }

    #[test]
    fn the_next_steps_can_be_copied() {
        let next = next(FailureReason::Zombie, &shell_word("a b"));
        assert!(next.contains("chokaq dlq resurrect 'a b' "), "{next}");
    }
}
