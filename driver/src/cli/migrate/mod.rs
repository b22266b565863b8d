//! `chokaq migrate`: deploying tables and procedures.

mod script;

use chokaq::MigrationState;
use clap::Subcommand;

use super::{Answer, Failure, Session, note};
use script::Script;

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Apply what is pending, under a lock; a second run does nothing
    Up,
    /// Show what `up` would apply
    Plan,
    /// Show every migration; exit code 1 unless all of them are applied
    Status,
    /// Print the deployment as one script for sqlcmd, SSMS or psql; connects to nothing
    Script(Script),
}

const PLANNED: [&str; 2] = ["Version", "Name"];
const SHOWN: [&str; 4] = ["Version", "Name", "State", "AppliedOnUtc"];

impl Command {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        match self {
            Self::Up => up(session).await,
            Self::Plan => plan(session).await,
            Self::Status => status(session).await,
            Self::Script(script) => script.run(session),
        }
    }
}

async fn up(session: &Session) -> Result<Answer, Failure> {
    let applied = session.bare_client().await?.deploy().up().await?;
    session.output.rows(&applied, &PLANNED)?;
    match applied.len() {
        0 => note("up to date"),
        count => note(format_args!("{count} migrations applied")),
    }
    Ok(Answer::Yes)
}

async fn plan(session: &Session) -> Result<Answer, Failure> {
    let planned = session.bare_client().await?.deploy().plan().await?;
    session.output.rows(&planned, &PLANNED)?;
    if planned.is_empty() {
        note("up to date");
    }
    Ok(Answer::Yes)
}

async fn status(session: &Session) -> Result<Answer, Failure> {
    let migrations = session.bare_client().await?.deploy().status().await?;
    session.output.rows(&migrations, &SHOWN)?;
    let is_applied = |state| matches!(state, MigrationState::Applied);
    Ok(Answer::when(migrations.iter().all(|migration| is_applied(migration.state))))
}
