//! `chokaq dlq`: inspecting failed jobs, repairing them, bringing them back, ending them for good.

use chokaq::{
    Client, FailureReason, ListDlq, MoveToDlq, MoveToDlqOutcome, Resurrect, ResurrectOutcome, UpdateDlqJobData,
    UpdateDlqJobDataOutcome,
};
use clap::{Args, Subcommand};
use time::OffsetDateTime;

use super::consent::{Consent, jobs};
use super::edit::{self, Changes, Original};
use super::input::{ErrorSource, JobIds, PayloadSource};
use super::job::Fence;
use super::operator::Operator;
use super::{Answer, Failure, Session, loops, note, parse, warn};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List failed jobs, newest first
    List(List),
    /// Show one failed job whole: why it failed, its error, its payload
    Show {
        /// The id of the job
        job_id: String,
    },
    /// Repair payload or tags of a failed job and leave it in the DLQ; without a change to make, in your editor
    Edit(Edit),
    /// Take a job out of its queue into the DLQ
    Move(Move),
    /// Bring failed jobs back to their queues: one, repaired in the same step, or many
    Resurrect(Box<Bring>),
    /// Delete failed jobs for good; the operator history keeps that they were
    Purge(Purge),
}

#[derive(Debug, Args)]
pub struct List {
    /// Of this queue
    #[arg(long)]
    queue: Option<String>,
    /// Of this type
    #[arg(long = "type")]
    r#type: Option<String>,
    /// That failed for this reason, by name or number
    #[arg(long, alias = "failure-reason", value_parser = parse::failure_reason(), ignore_case = true)]
    reason: Option<FailureReason>,
    /// That failed at this instant or later
    #[arg(long, value_name = "INSTANT", value_parser = parse::instant)]
    from: Option<OffsetDateTime>,
    /// That failed before this instant
    #[arg(long, value_name = "INSTANT", value_parser = parse::instant)]
    to: Option<OffsetDateTime>,
    /// That hold this text, to the letter
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// At most so many, up to 1000 [default: 100]
    #[arg(long)]
    limit: Option<i32>,
    /// The next page: FailedAtUtc of the last job of the page before, with every digit that --json shows
    #[arg(long, value_name = "INSTANT", value_parser = parse::instant, requires = "before_job_id")]
    before_failed_at: Option<OffsetDateTime>,
    /// The next page: the last job of the page before
    #[arg(long, value_name = "JOB_ID", requires = "before_failed_at")]
    before_job_id: Option<String>,
}

#[derive(Debug, Args)]
pub struct Edit {
    #[command(flatten)]
    changes: Changes,
}

#[derive(Debug, Args)]
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

#[derive(Debug, Args)]
pub struct Bring {
    #[command(flatten)]
    jobs: JobIds,
    #[command(flatten)]
    repair: Repair,
    #[command(flatten)]
    operator: Operator,
    /// Jobs per transaction, for many [default: 1000]
    #[arg(long)]
    batch_size: Option<i32>,
    #[command(flatten)]
    consent: Consent,
}

/// What one job gets on its way back.
#[derive(Debug, Args)]
pub struct Repair {
    #[command(flatten)]
    payload: PayloadSource,
    /// Repair the payload in your editor first
    #[arg(long, conflicts_with_all = ["payload", "payload_file"])]
    edit: bool,
    /// The new tags
    #[arg(long)]
    tags: Option<String>,
    /// Higher first [default: 10]
    #[arg(long, allow_negative_numbers = true)]
    priority: Option<i32>,
    /// Take a payload that is not JSON
    #[arg(long)]
    allow_invalid_json: bool,
    /// Run it no sooner than this after now
    #[arg(long, value_name = "DURATION", value_parser = parse::seconds)]
    delay: Option<i32>,
    /// Keep its idempotency key; exit code 1 when a live job holds it
    #[arg(long, alias = "keep-idempotency-key")]
    keep_key: bool,
    /// Only when the job still has this revision; exit code 1 when it has not
    #[arg(long, value_name = "REVISION")]
    expected_revision: Option<i64>,
}

#[derive(Debug, Args)]
pub struct Purge {
    #[command(flatten)]
    jobs: JobIds,
    #[command(flatten)]
    operator: Operator,
    /// Jobs per transaction [default: 1000]
    #[arg(long)]
    cleanup_batch_size: Option<i32>,
    #[command(flatten)]
    consent: Consent,
}

/// What people see of a list.
const LISTED: [&str; 7] =
    ["JobId", "Queue", "Type", "FailureReasonName", "AttemptCount", "FailedAtUtc", "ErrorPreview"];

impl Command {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        match self {
            Self::List(list) => list.run(session).await,
            Self::Show { job_id } => session.show(session.client().await?.get_dlq_job(&job_id).await?, &job_id),
            Self::Edit(edit) => edit.run(session).await,
            Self::Move(command) => command.run(session).await,
            Self::Resurrect(bring) => bring.run(session).await,
            Self::Purge(purge) => purge.run(session).await,
        }
    }
}

impl List {
    async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let jobs = session
            .client()
            .await?
            .list_dlq(&ListDlq {
                queue: self.queue.as_deref(),
                r#type: self.r#type.as_deref(),
                failure_reason: self.reason,
                from: self.from,
                to: self.to,
                search: self.search.as_deref(),
                limit: self.limit,
                before_failed_at: self.before_failed_at,
                before_job_id: self.before_job_id.as_deref(),
            })
            .await?;
        session.output.rows(&jobs, &LISTED)?;
        if jobs.is_empty() {
            note("no job");
        }
        Ok(Answer::Yes)
    }
}

impl Edit {
    async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let client = session.client().await?;
        let job_id = self.changes.job_id.clone();
        let Some(edit) = self.changes.settle(false, async || read(&client, &job_id).await).await? else {
            return Ok(Answer::No);
        };
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
            .await?;
        session.output.answer(&result)?;
        Ok(Answer::when(result.outcome == UpdateDlqJobDataOutcome::Updated))
    }
}

/// A failed job as an editor needs it.
async fn read(client: &Client, job_id: &str) -> Result<Option<Original>, Failure> {
    let job = client.get_dlq_job(job_id).await?;
    Ok(job.map(|job| Original { payload: job.payload, error: job.error_details, revision: Some(job.revision) }))
}

impl Move {
    async fn run(self, session: &Session) -> Result<Answer, Failure> {
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

impl Bring {
    async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let is_list = self.jobs.is_list();
        let ids = self.jobs.read()?;
        let by = self.operator.name()?;
        match ids.as_slice() {
            [id] if !is_list => self.repair.run(session, id, &by).await,
            _ if self.repair.is_given() => Err(Failure::new("a repair is for one job alone")
                .hint("repair each with `chokaq dlq edit`, then resurrect all without these options")),
            _ => {
                if !ids.is_empty() && !self.consent.ask(&format!("resurrect {}?", jobs(ids.len())))? {
                    return Ok(Answer::No);
                }
                let client = session.patient(&session.client().await?);
                let result = loops::resurrect(&client, ids, &by, self.batch_size).await?;
                session.output.answer(&result)?;
                Ok(Answer::when(result.resurrected_count == result.requested_count))
            }
        }
    }
}

impl Repair {
    fn is_given(&self) -> bool {
        self.payload.is_given()
            || self.edit
            || self.tags.is_some()
            || self.priority.is_some()
            || self.allow_invalid_json
            || self.delay.is_some()
            || self.keep_key
            || self.expected_revision.is_some()
    }

    async fn run(self, session: &Session, job_id: &str, by: &str) -> Result<Answer, Failure> {
        let mut payload = self.payload.read()?;
        let mut expected_revision = self.expected_revision;
        let client = session.client().await?;
        if self.edit {
            edit::need_a_terminal()?;
            let Some(original) = read(&client, job_id).await? else {
                warn(format_args!("not_found: {job_id}"));
                return Ok(Answer::No);
            };
            expected_revision = expected_revision.or(original.revision);
            payload = edit::in_editor(&original, self.allow_invalid_json)?;
            if payload.is_none() {
                return Ok(Answer::No);
            }
        }
        let resurrection = Resurrect {
            new_payload: payload.as_deref(),
            new_tags: self.tags.as_deref(),
            new_priority: self.priority,
            allow_invalid_json: self.allow_invalid_json,
            delay_seconds: self.delay,
            keep_idempotency_key: self.keep_key,
            expected_revision,
            ..Resurrect::new(job_id, by)
        };
        let result = client.resurrect(&resurrection).await?;
        session.output.answer(&result)?;
        Ok(Answer::when(result.outcome == ResurrectOutcome::Resurrected))
    }
}

impl Purge {
    async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let ids = self.jobs.read()?;
        let by = self.operator.name()?;
        if !ids.is_empty() && !self.consent.ask(&format!("delete {} from the DLQ for good?", jobs(ids.len())))? {
            return Ok(Answer::No);
        }
        let client = session.patient(&session.client().await?);
        let result = loops::purge_dlq(&client, ids, &by, self.cleanup_batch_size).await?;
        session.output.answer(&result)?;
        Ok(Answer::when(result.purged_count == result.requested_count))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        bring: Bring,
    }

    fn bring(options: &str) -> Bring {
        let line = format!("resurrect --ids-file ids.txt --by me {options}");
        Line::try_parse_from(line.split_whitespace()).unwrap().bring
    }

    #[test]
    fn every_repair_is_seen_so_that_none_is_lost_on_many() {
        for option in [
            "--payload x",
            "--payload-file x",
            "--edit",
            "--tags x",
            "--priority -1",
            "--allow-invalid-json",
            "--delay 5s",
            "--keep-key",
            "--keep-idempotency-key",
            "--expected-revision 7",
        ] {
            assert!(bring(option).repair.is_given(), "{option}");
        }
    }

    #[test]
    fn what_concerns_many_is_no_repair() {
        assert!(!bring("--yes --batch-size 10").repair.is_given());
    }
}
