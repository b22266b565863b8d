//! `chokaq dlq list`: pages by key, so that the last page costs no more than the first.

use chokaq::{DlqListItem, ListDlq};
use clap::Args;
use serde::Serialize;
use time::OffsetDateTime;

use super::filter::{FILTERS, Filter};
use crate::cli::input::shell_word;
use crate::cli::when::{age, written};
use crate::cli::{Answer, Failure, Output, Session, note, parse};

/// What the procedure lists without a limit, and at most.
const DEFAULT_LIMIT: i32 = 100;
const GREATEST_LIMIT: i32 = 1000;

/// What people see.
const SHOWN: [&str; 8] =
    ["JobId", "Queue", "Type", "FailureReasonName", "AttemptCount", "FailedAtUtc", "Age", "ErrorPreview"];

const EXAMPLES: &str = "\
Examples:
  chokaq dlq list --from 1h
  chokaq dlq list --queue mail --reason FatalError --search '100%_done'
  chokaq --json dlq list --type email_v1 --all > failed.jsonl";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct List {
    #[command(flatten, next_help_heading = FILTERS)]
    filter: Filter,
    #[command(flatten, next_help_heading = "Pages")]
    page: Page,
}

/// Which page of the list.
#[derive(Debug, Args)]
struct Page {
    /// At most so many, up to 1000 [default: 100]
    #[arg(long, value_name = "NUMBER")]
    limit: Option<i32>,
    /// The next page: FailedAtUtc of the last job of the page before, with every digit that --json shows
    #[arg(long, value_name = "INSTANT", value_parser = parse::instant, requires = "before_job_id")]
    before_failed_at: Option<OffsetDateTime>,
    /// The next page: the last job of the page before
    #[arg(long, value_name = "JOB_ID", requires = "before_failed_at", allow_hyphen_values = true)]
    before_job_id: Option<String>,
    /// Every page, from there on
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

/// A job as people see it.
#[derive(Serialize)]
struct Listed<'a> {
    #[serde(flatten)]
    job: &'a DlqListItem,
    #[serde(rename = "Age")]
    age: String,
}

impl List {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let (client, now) = session.client_and_clock().await?;
        let filter = self.filter.at(now)?;
        let page = self.page;
        let limit = if page.all { Some(GREATEST_LIMIT) } else { page.limit };
        let mut before = page.before_failed_at.zip(page.before_job_id);
        let mut is_first = true;
        loop {
            let list = ListDlq {
                filter,
                limit,
                before_failed_at: before.as_ref().map(|(failed_at, _)| *failed_at),
                before_job_id: before.as_ref().map(|(_, job_id)| job_id.as_str()),
            };
            let jobs = client.list_dlq(&list).await?;
            show(session.output, &jobs, now, is_first)?;
            let Some(last) = jobs.last() else {
                if is_first {
                    note("no job");
                }
                return Ok(Answer::Yes);
            };
            let is_full = i32::try_from(jobs.len()).is_ok_and(|count| count >= limit.unwrap_or(DEFAULT_LIMIT));
            match (is_full, page.all) {
                (false, _) => return Ok(Answer::Yes),
                (true, false) => {
                    note(format_args!("there may be more: the same command with {}", next_page(last)?));
                    return Ok(Answer::Yes);
                }
                (true, true) => before = Some((last.failed_at, last.job_id.clone())),
            }
            is_first = false;
        }
    }
}

fn show(output: Output, jobs: &[DlqListItem], now: OffsetDateTime, is_first: bool) -> std::io::Result<()> {
    if let Output::Json = output {
        return output.rows(jobs, &SHOWN);
    }
    let listed = jobs.iter().map(|job| Listed { job, age: age(now, job.failed_at) }).collect::<Vec<_>>();
    output.page(&listed, &SHOWN, is_first)
}

/// The flags of the page after this job.
fn next_page(last: &DlqListItem) -> Result<String, Failure> {
    Ok(format!("--before-failed-at={} --before-job-id={}", written(last.failed_at)?, shell_word(&last.job_id)))
}
