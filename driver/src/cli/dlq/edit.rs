//! `chokaq dlq edit`: repairing a failed job, and bringing it back in the same step when that is asked for.

use chokaq::{Client, Resurrect, ResurrectOutcome, UpdateDlqJobData, UpdateDlqJobDataOutcome};
use clap::Args;

use super::resurrect::Place;
use crate::cli::edit::{Changes, Original, Settled};
use crate::cli::{Answer, Failure, Session};

const EXAMPLES: &str = "\
Examples:
  chokaq dlq edit a1
  chokaq dlq edit a1 --resurrect
  chokaq dlq edit a1 --payload-file fixed.json --tags reviewed --by ann";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Edit {
    #[command(flatten)]
    changes: Changes,
    /// Bring it back to its queue in the same step, if it is changed at all
    #[arg(long, conflicts_with_all = ["clear_payload", "clear_tags"])]
    resurrect: bool,
    #[command(flatten, next_help_heading = "With --resurrect")]
    place: Place,
}

impl Edit {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        if self.place.is_given() && !self.resurrect {
            return Err(Failure::new("--priority, --delay and --keep-key are for a job that comes back to its queue")
                .hint("say --resurrect too"));
        }
        let client = session.client().await?;
        let original = async |job_id: &str| {
            let job = client.get_dlq_job(job_id).await?;
            Ok(job.map(|job| Original {
                payload: job.payload,
                tags: job.tags,
                error: job.error_details,
                revision: Some(job.revision),
            }))
        };
        let Some(edit) = self.changes.settle(false, original).await? else {
            return Ok(Answer::No);
        };
        if self.resurrect {
            resurrect(session, &client, edit, &self.place).await
        } else {
            update(session, &client, edit).await
        }
    }
}

async fn update(session: &Session, client: &Client, edit: Settled) -> Result<Answer, Failure> {
    let result = client
        .update_dlq_job_data(&UpdateDlqJobData {
            job_id: &edit.job_id,
            modified_by: &edit.modified_by,
            payload: edit.payload.as_deref(),
            tags: edit.tags.as_deref(),
            clear_payload: edit.clear_payload,
            clear_tags: edit.clear_tags,
            allow_invalid_json: edit.allow_invalid_json,
            expected_revision: edit.expected_revision,
        })
        .await;
    let result = edit.conclude(result, UpdateDlqJobDataOutcome::Updated.as_str(), |result| result.outcome.as_str())?;
    session.output.answer(&result)?;
    Ok(Answer::when(result.outcome == UpdateDlqJobDataOutcome::Updated))
}

async fn resurrect(session: &Session, client: &Client, edit: Settled, place: &Place) -> Result<Answer, Failure> {
    let result = client
        .resurrect(&Resurrect {
            new_payload: edit.payload.as_deref(),
            // There is no way to say NULL here; a job without tags has none either way.
            new_tags: if edit.clear_tags { Some("") } else { edit.tags.as_deref() },
            new_priority: place.priority,
            allow_invalid_json: edit.allow_invalid_json,
            delay_seconds: place.delay,
            keep_idempotency_key: place.keep_key,
            expected_revision: edit.expected_revision,
            ..Resurrect::new(&edit.job_id, &edit.modified_by)
        })
        .await;
    let result = edit.conclude(result, ResurrectOutcome::Resurrected.as_str(), |result| result.outcome.as_str())?;
    session.output.answer(&result)?;
    Ok(Answer::when(result.outcome == ResurrectOutcome::Resurrected))
}
