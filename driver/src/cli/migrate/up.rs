//! `chokaq migrate up`: the deployment itself.

use std::time::Duration;

use clap::Args;

use super::{Destination, plan};
use crate::cli::{Answer, Failure, Session, note, parse};

const EXAMPLES: &str = "\
Each migration is one transaction with its row in chokaq_schema_history: one that fails leaves nothing behind, and \
the next run goes on with it. Rights that are missing are named before anything is changed.

Exit codes: 0 all of it is applied, or all up to --to; 2 error.

Examples:
  chokaq migrate up --dry-run
  chokaq migrate up --lock-timeout 30s
  chokaq migrate up --to 250";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Up {
    #[command(flatten)]
    destination: Destination,
    /// Run nothing: print what `plan` prints
    #[arg(long)]
    dry_run: bool,
    /// How long to wait while another deployment works on the database, for instance 30s [default: until it ends]
    #[arg(long, value_name = "DURATION", value_parser = parse::duration)]
    lock_timeout: Option<Duration>,
}

const APPLIED: [&str; 2] = ["Version", "Name"];

impl Up {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let deploy = self
            .destination
            .of(session)
            .await?
            .lock_timeout(self.lock_timeout)
            .on_waiting(|| note("another deployment works on this database; waiting"));
        if self.dry_run {
            return plan::show(&deploy, session.output, false).await;
        }
        let applied = deploy.up().await?;
        session.output.rows(&applied, &APPLIED)?;
        match applied.len() {
            0 => note("up to date"),
            count => note(format_args!("{count} migrations applied")),
        }
        Ok(Answer::Yes)
    }
}
