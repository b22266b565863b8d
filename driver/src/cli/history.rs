//! `chokaq history`: for how long it is kept what operators did.

use clap::{Args, Subcommand};

use super::consent::Consent;
use super::operator::Operator;
use super::when::{CutOff, written};
use super::{Answer, Failure, Session, progress};

const EXAMPLES: &str = "\
Examples:
  chokaq history purge --older-than 400d
  chokaq history purge --before 2026-01-01T00:00:00Z --yes

`chokaq job history` shows what is recorded of one job.";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Delete what operators did long ago, and old metrics, in short transactions; that it was done is recorded
    Purge(Purge),
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Purge {
    #[command(flatten)]
    cut_off: CutOff,
    /// Rows per transaction, up to 4000 [default: 1000]
    #[arg(long, value_name = "NUMBER")]
    cleanup_batch_size: Option<i32>,
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
        let older_than = self.cut_off.instant(now)?;
        let by = self.operator.name()?;
        let shown = written(older_than)?;
        if !self.consent.ask(&format!("delete the operator history and the metrics from before {shown} for good?"))? {
            return Ok(Answer::No);
        }
        let sign_of_life = progress::spinner("purging the history");
        let client = session.patient(&client);
        let result = client.purge_history(older_than, self.cleanup_batch_size, Some(&by)).await?;
        sign_of_life.finish_and_clear();
        session.output.answer(&result)?;
        Ok(Answer::Yes)
    }
}
