//! `chokaq migrate`: deploying tables and procedures.

mod extension;
mod plan;
mod script;
mod up;
mod verify;

use chokaq::{Deploy, MigrationState};
use clap::{Args, Subcommand};

use super::{Answer, Failure, Session};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Apply what is pending, under a lock; a second run does nothing
    Up(up::Up),
    /// Show what `up` would do, statement by statement
    Plan(plan::Plan),
    /// Show every migration; exit code 1 unless all of them are applied
    Status,
    /// Compare what is deployed with what this version ships; exit code 1 when anything differs
    Verify(verify::Verify),
    /// Print the deployment as one script for sqlcmd, SSMS or psql; connects to nothing
    Script(script::Script),
    /// Write the deployment as an extension of PostgreSQL; connects to nothing
    Extension(extension::Extension),
}

/// How far to deploy, and to what.
#[derive(Debug, Args)]
struct Destination {
    /// The last migration to apply [default: the last of all]
    #[arg(long, value_name = "VERSION")]
    to: Option<i32>,
    /// Deploy to master, model, msdb, tempdb, postgres, template0 or template1, too, which are refused otherwise
    #[arg(long)]
    allow_system_database: bool,
}

impl Destination {
    async fn of(&self, session: &Session) -> Result<Deploy, Failure> {
        let deploy = session.bare_client().await?.deploy();
        Ok(deploy.to(self.to).allow_system_database(self.allow_system_database))
    }
}

const SHOWN: [&str; 4] = ["Version", "Name", "State", "AppliedOnUtc"];

impl Command {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        match self {
            Self::Up(up) => up.run(session).await,
            Self::Plan(plan) => plan.run(session).await,
            Self::Status => status(session).await,
            Self::Verify(verify) => verify.run(session).await,
            Self::Script(script) => script.run(session),
            Self::Extension(extension) => extension.run(),
        }
    }
}

async fn status(session: &Session) -> Result<Answer, Failure> {
    let migrations = session.bare_client().await?.deploy().status().await?;
    session.output.rows(&migrations, &SHOWN)?;
    let is_applied = |state| matches!(state, MigrationState::Applied);
    Ok(Answer::when(migrations.iter().all(|migration| is_applied(migration.state))))
}
