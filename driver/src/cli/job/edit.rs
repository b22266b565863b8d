//! `chokaq job edit`: correcting a job that has not been fetched.

use chokaq::{Pillar, UpdateJobData, UpdateJobDataOutcome};
use clap::Args;

use crate::cli::edit::{Changes, Original};
use crate::cli::{Answer, Failure, Session};

#[derive(Debug, Args)]
pub struct Edit {
    #[command(flatten)]
    changes: Changes,
    /// Higher first
    #[arg(long, allow_negative_numbers = true)]
    priority: Option<i32>,
}

impl Edit {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let client = session.client().await?;
        let original = async |job_id: &str| {
            let job = client.get_job(job_id).await?;
            Ok(job.filter(|job| job.pillar == Pillar::Hot).map(|job| Original {
                payload: job.payload,
                tags: job.tags,
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
            .await;
        let result = edit.conclude(result, UpdateJobDataOutcome::Updated.as_str(), |result| result.outcome.as_str())?;
        session.output.answer(&result)?;
        Ok(Answer::when(result.outcome == UpdateJobDataOutcome::Updated))
    }
}
