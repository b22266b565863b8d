//! `chokaq job cancel`: ending jobs before they start. They can be brought back from the DLQ.

use chokaq::{ArchiveCancelledBatch, CancelJobsOutcome};
use clap::Args;

use crate::cli::consent::{Consent, jobs};
use crate::cli::input::JobIds;
use crate::cli::operator::Operator;
use crate::cli::{Answer, Failure, Session, loops};

const EXAMPLES: &str = "\
Examples:
  chokaq job cancel a1 --reason 'sent by hand'
  chokaq job cancel --ids-from ids.txt --yes

`chokaq dlq resurrect` brings a job back that was cancelled by mistake.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Cancel {
    #[command(flatten)]
    jobs: JobIds,
    /// Why, recorded as ErrorDetails [default: they keep what they had]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    #[command(flatten)]
    operator: Operator,
    /// Jobs per transaction, for a list, up to 4000 [default: 1000]
    #[arg(long, value_name = "NUMBER")]
    batch_size: Option<i32>,
    #[command(flatten)]
    consent: Consent,
}

impl Cancel {
    /// Ids on the command line are answered for one by one, a list in counts.
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let is_list = self.jobs.is_list();
        let ids = self.jobs.read()?;
        let by = self.operator.name()?;
        let is_asked = is_list && !ids.is_empty() || ids.len() > 1;
        if is_asked && !self.consent.ask(&format!("cancel {}?", jobs(ids.len())))? {
            return Ok(Answer::No);
        }
        let client = session.client().await?;
        if !is_list {
            let results = client.cancel_jobs(&ids, &by, self.reason.as_deref()).await?;
            session.output.rows(&results, &["JobId", "Outcome"])?;
            let is_cancelled =
                |outcome| matches!(outcome, CancelJobsOutcome::Cancelled | CancelJobsOutcome::AlreadyCancelled);
            return Ok(Answer::when(results.iter().all(|result| is_cancelled(result.outcome))));
        }
        let call = ArchiveCancelledBatch {
            reason: self.reason.as_deref(),
            batch_size: self.batch_size,
            ..ArchiveCancelledBatch::new(&[], &by)
        };
        let result = loops::cancel(&session.patient(&client), ids, &call).await?;
        session.output.answer(&result)?;
        Ok(Answer::when(result.cancelled_count + result.already_cancelled_count == result.requested_count))
    }
}
