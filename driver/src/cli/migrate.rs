//! `chokaq migrate`: deploying tables and procedures.

use std::io::Write;

use chokaq::MigrationState;
use clap::Subcommand;

use super::{Answer, Failure, Session};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Apply what is pending, under a lock; a second run does nothing
    Up,
    /// Show what `up` would apply
    Plan,
    /// Show every migration; exit code 1 unless all of them are applied
    Status,
}

const PLANNED: [&str; 2] = ["Version", "Name"];
const SHOWN: [&str; 4] = ["Version", "Name", "State", "AppliedOnUtc"];

impl Command {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let deploy = session.bare_client().await?.deploy();
        match self {
            Self::Up => {
                let applied = deploy.up().await?;
                session.output.rows(&applied, &PLANNED)?;
                let _ = match applied.len() {
                    0 => writeln!(anstream::stderr(), "up to date"),
                    count => writeln!(anstream::stderr(), "{count} migrations applied"),
                };
                Ok(Answer::Yes)
            }
            Self::Plan => {
                session.output.rows(&deploy.plan().await?, &PLANNED)?;
                Ok(Answer::Yes)
            }
            Self::Status => {
                let migrations = deploy.status().await?;
                session.output.rows(&migrations, &SHOWN)?;
                let is_applied = |state| matches!(state, MigrationState::Applied);
                Ok(Answer::when(migrations.iter().all(|migration| is_applied(migration.state))))
            }
        }
    }
}
