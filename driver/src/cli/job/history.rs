//! `chokaq job history`: who did what to a job, and what it was like before.

use std::io::{self, BufWriter, Write};

use chokaq::JobHistoryEntry;
use clap::Args;
use time::OffsetDateTime;

use crate::cli::output::{visible, write_record};
use crate::cli::page::{HEADING, section, write_payload};
use crate::cli::when::{age, written};
use crate::cli::{Answer, Failure, Output, Session, note};

const EXAMPLES: &str = "\
Examples:
  chokaq job history a1
  chokaq --json job history a1 | jq -r 'select(.Action == \"edited\") | .OldPayload'";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct History {
    /// The id of the job, which may be long gone
    job_id: String,
}

impl History {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let (client, now) = session.client_and_clock().await?;
        let entries = client.get_job_history(&self.job_id).await?;
        if entries.is_empty() {
            note(format_args!("nothing is on record that an operator did to {}", self.job_id));
        }
        match session.output {
            Output::Json => session.output.rows(&entries, &[])?,
            Output::Terminal | Output::Plain => show(&entries, now)?,
        }
        Ok(Answer::Yes)
    }
}

fn show(entries: &[JobHistoryEntry], now: OffsetDateTime) -> Result<(), Failure> {
    let mut out = BufWriter::new(anstream::AutoStream::auto(io::stdout()));
    for (index, entry) in entries.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        write(&mut out, entry, now)?;
    }
    Ok(out.flush()?)
}

/// Oldest first, an act a block: the line that says it, what is known of the job then, and what was replaced.
fn write(out: &mut impl Write, entry: &JobHistoryEntry, now: OffsetDateTime) -> Result<(), Failure> {
    let actor = visible(entry.actor.as_deref().unwrap_or("somebody"));
    let at = written(entry.at)?;
    writeln!(out, "{HEADING}{} by {actor}{HEADING:#}, {at} ({} ago)", entry.action, age(now, entry.at))?;
    let failed_at = entry.failed_at.map(written).transpose()?;
    let lines = [
        ("Login", Some(entry.login.clone())),
        ("Queue", entry.queue.clone()),
        ("Type", entry.r#type.clone()),
        ("FailureReason", entry.failure_reason_name.clone()),
        ("AttemptCount", entry.attempt_count.map(|count| count.to_string())),
        ("FailedAtUtc", failed_at),
        ("OldTags", entry.old_tags.clone()),
        ("OldPriority", entry.old_priority.map(|priority| priority.to_string())),
        ("OldIdempotencyKey", entry.old_idempotency_key.clone()),
        ("BatchId", entry.batch_id.clone()),
    ];
    let lines = lines.into_iter().filter_map(|(name, value)| Some((name, visible(&value?))));
    write_record(out, &lines.collect::<Vec<_>>())?;
    if let Some(error) = &entry.error_details {
        section(out, "ErrorDetails", error)?;
    }
    if let Some(payload) = &entry.old_payload {
        write_payload(out, "OldPayload", payload)?;
    }
    Ok(())
}
