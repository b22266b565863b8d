//! `chokaq dlq resurrect`: one job, repaired in the same step; many by their ids; what a filter lets through.

use chokaq::{Client, Resurrect, ResurrectByFilter, ResurrectByFilterBatch, ResurrectOutcome};
use clap::Args;

use super::filter::{Selected, Selection};
use super::preview::{self, PROBE, Preview};
use crate::cli::consent::{Consent, jobs};
use crate::cli::edit::check_payload;
use crate::cli::input::PayloadSource;
use crate::cli::operator::Operator;
use crate::cli::{Answer, Failure, Session, loops, parse};

const EXAMPLES: &str = "\
Examples:
  chokaq dlq resurrect a1
  chokaq dlq resurrect a1 --payload-file fixed.json --tags reviewed
  chokaq dlq resurrect --queue mail --reason MaxRetriesExceeded --from 2h
  chokaq dlq resurrect --type email_v1 --max-jobs 10000 --yes
  chokaq --json dlq list --search 'no route to host' --all | chokaq dlq resurrect --ids-from - --yes";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Bring {
    #[command(flatten)]
    operator: Operator,
    /// Jobs per transaction, for many, up to 4000 [default: 1000]
    #[arg(long, value_name = "NUMBER")]
    batch_size: Option<i32>,
    #[command(flatten)]
    consent: Consent,
    // A heading holds for whatever follows it.
    #[command(flatten)]
    selection: Selection,
    #[command(flatten, next_help_heading = "For one job")]
    repair: Repair,
}

/// What one job gets on its way back.
#[derive(Debug, Args)]
pub struct Repair {
    #[command(flatten)]
    payload: PayloadSource,
    /// The new tags
    #[arg(long)]
    tags: Option<String>,
    /// Take a payload that is not JSON
    #[arg(long)]
    allow_invalid_json: bool,
    /// Only when the job still has this revision; exit code 1 when it has not
    #[arg(long, value_name = "REVISION")]
    expected_revision: Option<i64>,
    #[command(flatten)]
    place: Place,
}

/// Where one job gets in its queue.
#[derive(Debug, Args)]
pub struct Place {
    /// Higher first [default: 10]
    #[arg(long, allow_negative_numbers = true)]
    pub priority: Option<i32>,
    /// Run it no sooner than this after now [default: 0s]
    #[arg(long, value_name = "DURATION", value_parser = parse::seconds)]
    pub delay: Option<i32>,
    /// Keep its idempotency key; exit code 1 when a live job holds it
    #[arg(long, alias = "keep-idempotency-key")]
    pub keep_key: bool,
}

impl Place {
    /// Whether anything about it was said.
    pub fn is_given(&self) -> bool {
        self.priority.is_some() || self.delay.is_some() || self.keep_key
    }
}

impl Bring {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let selected = self.selection.read()?;
        let by = self.operator.name()?;
        match selected {
            Selected::One(id) => self.repair.run(session, &id, &by).await,
            _ if self.repair.is_given() => Err(Failure::new("a repair is for one job alone")
                .hint("repair each with `chokaq dlq edit`, then resurrect all without these options")),
            Selected::Many(ids) => {
                let question = format!("resurrect {}?", jobs(ids.len()));
                if !ids.is_empty() && !self.consent.ask(&question)? {
                    return Ok(Answer::No);
                }
                let client = session.patient(&session.client().await?);
                let result = loops::resurrect(&client, ids, &by, self.batch_size).await?;
                session.output.answer(&result)?;
                Ok(Answer::when(result.resurrected_count == result.requested_count))
            }
            Selected::Filtered => {
                let (client, now) = session.client_and_clock().await?;
                let call = ResurrectByFilter {
                    max_jobs: self.selection.max_jobs,
                    batch_size: self.batch_size,
                    ..ResurrectByFilter::new(self.selection.filter.until(now)?, &by)
                };
                by_filter(session, &session.patient(&client), &self.selection, &self.consent, &call).await
            }
        }
    }
}

async fn by_filter(
    session: &Session,
    client: &Client,
    selection: &Selection,
    consent: &Consent,
    call: &ResurrectByFilter<'_>,
) -> Result<Answer, Failure> {
    if selection.what_if || !consent.yes {
        let answer = client.resurrect_by_filter(call).await?;
        let probe = ResurrectByFilterBatch {
            batch_size: Some(PROBE),
            ..ResurrectByFilterBatch::new(call.filter, call.resurrected_by)
        };
        let probe = client.resurrect_by_filter_batch(&probe).await?;
        let is_full = probe.matched_count == i64::from(PROBE);
        let probed = probe.last_failed_at.zip(probe.last_job_id.as_deref()).filter(|_| is_full);
        let preview = Preview { matched_count: answer.matched_count, has_more: answer.has_more, probed };
        preview::show(client, &selection.filter, call.filter, &preview).await?;
        if selection.what_if || answer.matched_count == 0 {
            session.output.answer(&answer)?;
            return Ok(Answer::Yes);
        }
        if !consent.ask(&format!("resurrect {}?", jobs(answer.matched_count)))? {
            return Ok(Answer::No);
        }
    }
    let result = loops::resurrect_by_filter(client, call).await?;
    session.output.answer(&result)?;
    loops::tell_rest(result.skipped_count, result.conflict_count, result.has_more);
    Ok(Answer::when(result.resurrected_count == result.matched_count))
}

impl Repair {
    fn is_given(&self) -> bool {
        self.payload.is_given()
            || self.tags.is_some()
            || self.allow_invalid_json
            || self.expected_revision.is_some()
            || self.place.is_given()
    }

    async fn run(self, session: &Session, job_id: &str, by: &str) -> Result<Answer, Failure> {
        let payload = self.payload.read()?;
        check_payload(payload.as_deref(), self.allow_invalid_json)?;
        let resurrection = Resurrect {
            new_payload: payload.as_deref(),
            new_tags: self.tags.as_deref(),
            new_priority: self.place.priority,
            allow_invalid_json: self.allow_invalid_json,
            delay_seconds: self.place.delay,
            keep_idempotency_key: self.place.keep_key,
            expected_revision: self.expected_revision,
            ..Resurrect::new(job_id, by)
        };
        let result = session.client().await?.resurrect(&resurrection).await?;
        session.output.answer(&result)?;
        Ok(Answer::when(result.outcome == ResurrectOutcome::Resurrected))
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
        let line = format!("resurrect --ids-from ids.txt --by me {options}");
        Line::try_parse_from(line.split_whitespace()).unwrap().bring
    }

    #[test]
    fn every_repair_is_seen_so_that_none_is_lost_on_many() {
        for option in [
            "--payload x",
            "--payload-file x",
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
        assert!(!bring("--yes --batch-size 10 --max-jobs 5 --queue q").repair.is_given());
    }
}
