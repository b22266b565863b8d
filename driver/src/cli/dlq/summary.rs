//! `chokaq dlq summary`: what the DLQ holds, by queue, type, reason or age.

use std::io;

use clap::Args;
use serde::Serialize;
use time::OffsetDateTime;

use super::ages::ages;
use super::sum::{By, Sum, add_up};
use crate::cli::when::age;
use crate::cli::{Answer, Failure, Output, Session, note};

const SIGNALS: &str = "\
What it tells:
  FailedLastHour is high    a new deployment, an outage of something that is called, or bad input
  OldestAge is long         nobody closes failed work
  one Type dominates        a bug of its handler, or something downstream changed
  Zombie dominates          workers die or lose their heartbeat: look at hosts and shutdown
  FatalError dominates      payloads or code are wrong: more workers and more retries do not help

Examples:
  chokaq dlq summary
  chokaq dlq summary --queue mail --by type
  chokaq dlq summary --by age";

#[derive(Debug, Args)]
#[command(after_help = SIGNALS)]
pub struct Summary {
    /// Only of this queue
    #[arg(long)]
    queue: Option<String>,
    /// Only of this type
    #[arg(long = "type")]
    r#type: Option<String>,
    /// Added up by this alone [default: by queue, type and reason]
    #[arg(long)]
    by: Option<By>,
}

/// A sum as people see it.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Shown {
    #[serde(flatten)]
    sum: Sum,
    oldest_age: String,
    newest_age: String,
}

impl Summary {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let (client, now) = session.client_and_clock().await?;
        let groups = client.summarize_dlq(self.queue.as_deref(), self.r#type.as_deref()).await?;
        if groups.is_empty() {
            note("no job");
        }
        let parts = groups.into_iter().map(Sum::from).collect::<Vec<_>>();
        let keys: &[&str] = match self.by {
            None => &["Queue", "Type", "FailureReasonName"],
            Some(By::Queue) => &["Queue"],
            Some(By::Type) => &["Type"],
            Some(By::Reason) => &["FailureReasonName"],
            Some(By::Age) => {
                session.output.rows(&ages(&parts, now), &["Age", "AtLeast", "AtMost"])?;
                return Ok(Answer::Yes);
            }
        };
        show(session.output, add_up(parts, self.by), keys, now)?;
        Ok(Answer::Yes)
    }
}

fn show(output: Output, sums: Vec<Sum>, keys: &[&str], now: OffsetDateTime) -> io::Result<()> {
    if let Output::Json = output {
        return output.rows(&sums, keys);
    }
    let shown = sums.into_iter().map(|sum| Shown {
        oldest_age: age(now, sum.oldest_failed_at_utc),
        newest_age: age(now, sum.newest_failed_at_utc),
        sum,
    });
    let columns = [keys, &["JobCount", "Percent", "FailedLastHour", "OldestAge", "NewestAge"]].concat();
    output.rows(&shown.collect::<Vec<_>>(), &columns)
}
