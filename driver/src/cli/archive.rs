//! `chokaq archive`: looking after the jobs that succeeded.

use chokaq::PurgeArchive;
use clap::{Args, Subcommand};

use super::consent::Consent;
use super::operator::Operator;
use super::when::{CutOff, written};
use super::{Answer, Failure, Session, loops, warn};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Delete archived jobs that finished long ago, in short transactions
    Purge(Purge),
}

const EXAMPLES: &str = "\
Examples:
  chokaq archive purge --older-than 90d
  chokaq archive purge --before 2026-01-01T00:00:00Z --max-batches 100 --yes";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Purge {
    #[command(flatten)]
    cut_off: CutOff,
    /// Rows per transaction, up to 4000 [default: 1000]
    #[arg(long, value_name = "NUMBER")]
    cleanup_batch_size: Option<i32>,
    /// Stop after so many transactions
    #[arg(long, value_name = "NUMBER")]
    max_batches: Option<i32>,
    #[command(flatten)]
    operator: Operator,
    #[command(flatten)]
    consent: Consent,
}

impl Command {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        match self {
            Self::Purge(purge) => purge.run(session).await,
        }
    }
}

impl Purge {
    async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let (client, now) = session.client_and_clock().await?;
        let client = session.patient(&client);
        let older_than = self.cut_off.instant(now)?;
        let by = self.operator.name()?;
        let shown = written(older_than)?;
        if !self.consent.ask(&format!("delete the archived jobs that finished before {shown} for good?"))? {
            return Ok(Answer::No);
        }
        let purge = PurgeArchive {
            cleanup_batch_size: self.cleanup_batch_size,
            max_batches: self.max_batches,
            purged_by: Some(&by),
            ..PurgeArchive::new(older_than)
        };
        let result = loops::purge_archive(&client, &purge).await?;
        session.output.answer(&result)?;
        if result.skipped_count > 0 {
            warn(format_args!("{} rows are held by others and stay; run it again", result.skipped_count));
        }
        Ok(Answer::Yes)
    }
}
