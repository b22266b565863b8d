//! `chokaq stats`: the jobs and counters of each queue, or of all together.

use clap::Args;

use super::{Answer, Failure, Session, warn};

#[derive(Debug, Args)]
pub struct Stats {
    /// Only of this queue; exit code 1 when there is none of this name
    #[arg(long)]
    queue: Option<String>,
    /// All queues together, in one row
    #[arg(long, conflicts_with = "queue")]
    summary: bool,
}

const SHOWN: [&str; 12] = [
    "Queue",
    "PendingCount",
    "FetchedCount",
    "ProcessingCount",
    "EnqueuedTotal",
    "SucceededTotal",
    "FailedTotal",
    "RetriedTotal",
    "DeadLetteredTotal",
    "ResurrectedTotal",
    "PurgedTotal",
    "LastActivityUtc",
];

/// Twelve whole names are too wide for most terminals.
fn heading(column: &str) -> &str {
    if column == "QueueCount" {
        return "Queues";
    }
    ["Count", "Total", "Utc"].iter().find_map(|end| column.strip_suffix(end)).unwrap_or(column)
}

impl Stats {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let client = session.client().await?;
        if self.summary {
            let columns = [&["QueueCount"], &SHOWN[1..]].concat();
            session.output.rows_under(heading, &[client.get_summary_stats().await?], &columns)?;
            return Ok(Answer::Yes);
        }
        let stats = client.get_queue_stats(self.queue.as_deref()).await?;
        session.output.rows_under(heading, &stats, &SHOWN)?;
        match self.queue {
            Some(queue) if stats.is_empty() => {
                warn(format_args!("not_found: {queue}"));
                Ok(Answer::No)
            }
            _ => Ok(Answer::Yes),
        }
    }
}
