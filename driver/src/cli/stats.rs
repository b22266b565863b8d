//! `chokaq stats`: each queue's jobs and counters.

use clap::Args;

use super::{Answer, Failure, Session};

#[derive(Debug, Args)]
pub struct Stats {
    /// Only of this queue; exit code 1 when there is none of this name
    #[arg(long)]
    queue: Option<String>,
}

/// What people see; `--json` shows every counter.
const SHOWN: [&str; 7] =
    ["Queue", "PendingCount", "FetchedCount", "ProcessingCount", "SucceededTotal", "FailedTotal", "RetriedTotal"];

impl Stats {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let stats = session.client().await?.get_queue_stats(self.queue.as_deref()).await?;
        session.output.rows(&stats, &SHOWN)?;
        Ok(Answer::when(self.queue.is_none() || !stats.is_empty()))
    }
}
