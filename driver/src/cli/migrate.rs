//! `chokaq migrate`: deploying tables and procedures.

use chokaq::MigrationState;
use clap::Subcommand;

use super::{Answer, Failure, Session, note};

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
                match applied.len() {
                    0 => note("up to date"),
                    count => note(format_args!("{count} migrations applied")),
                }
                Ok(Answer::Yes)
            }
            Self::Plan => {
                let planned = deploy.plan().await?;
                session.output.rows(&planned, &PLANNED)?;
                if planned.is_empty() {
                    note("up to date");
                }
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
