//! `chokaq dlq purge`: jobs by their ids, or what a filter lets through.

use std::fmt::Display;

use chokaq::{Client, PurgeDlqByFilter, PurgeDlqByFilterBatch};
use clap::Args;

use super::filter::{Selected, Selection};
use super::preview::{self, PROBE, Preview};
use crate::cli::consent::{Consent, jobs};
use crate::cli::operator::Operator;
use crate::cli::{Answer, Failure, Session, loops};

const EXAMPLES: &str = "\
Examples:
  chokaq dlq purge a1 a2
  chokaq dlq purge --queue mail --reason Cancelled
  chokaq dlq purge --to 90d --what-if
  chokaq dlq purge --to 90d --max-jobs 100000 --yes";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Purge {
    #[command(flatten)]
    operator: Operator,
    /// Jobs per transaction, up to 4000 [default: 1000]
    #[arg(long, value_name = "NUMBER")]
    cleanup_batch_size: Option<i32>,
    #[command(flatten)]
    consent: Consent,
    // A heading holds for whatever follows it.
    #[command(flatten)]
    selection: Selection,
}

fn question(count: impl Display) -> String {
    format!("delete {} from the DLQ for good?", jobs(count))
}

impl Purge {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let selected = self.selection.read()?;
        let by = self.operator.name()?;
        let ids = match selected {
            Selected::One(id) => vec![id],
            Selected::Many(ids) => ids,
            Selected::Filtered => {
                let (client, now) = session.client_and_clock().await?;
                let call = PurgeDlqByFilter {
                    max_jobs: self.selection.max_jobs,
                    cleanup_batch_size: self.cleanup_batch_size,
                    ..PurgeDlqByFilter::new(self.selection.filter.until(now)?, &by)
                };
                return by_filter(session, &session.patient(&client), &self.selection, &self.consent, &call).await;
            }
        };
        if !ids.is_empty() && !self.consent.ask(&question(ids.len()))? {
            return Ok(Answer::No);
        }
        let client = session.patient(&session.client().await?);
        let result = loops::purge_dlq(&client, ids, &by, self.cleanup_batch_size).await?;
        session.output.answer(&result)?;
        Ok(Answer::when(result.purged_count == result.requested_count))
    }
}

async fn by_filter(
    session: &Session,
    client: &Client,
    selection: &Selection,
    consent: &Consent,
    call: &PurgeDlqByFilter<'_>,
) -> Result<Answer, Failure> {
    if selection.what_if || !consent.yes {
        let answer = client.purge_dlq_by_filter(call).await?;
        let probe = PurgeDlqByFilterBatch {
            cleanup_batch_size: Some(PROBE),
            ..PurgeDlqByFilterBatch::new(call.filter, call.purged_by)
        };
        let probe = client.purge_dlq_by_filter_batch(&probe).await?;
        let is_full = probe.matched_count == i64::from(PROBE);
        let probed = probe.last_failed_at.zip(probe.last_job_id.as_deref()).filter(|_| is_full);
        let preview = Preview { matched_count: answer.matched_count, has_more: answer.has_more, probed };
        preview::show(client, &selection.filter, call.filter, &preview).await?;
        if selection.what_if || answer.matched_count == 0 {
            session.output.answer(&answer)?;
            return Ok(Answer::Yes);
        }
        if !consent.ask(&question(answer.matched_count))? {
            return Ok(Answer::No);
        }
    }
    let result = loops::purge_dlq_by_filter(client, call).await?;
    session.output.answer(&result)?;
    loops::tell_rest(result.skipped_count, 0, result.has_more);
    Ok(Answer::when(result.purged_count == result.matched_count))
}
