//! `chokaq worker`: what a worker left behind.

use clap::{Args, Subcommand};

use super::{Answer, Failure, Session, note};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Give the jobs back that a dead worker fetched and did not start; what it runs is only counted
    Release(Release),
}

#[derive(Debug, Args)]
pub struct Release {
    /// The worker's name
    #[arg(value_name = "WORKER")]
    name: String,
}

impl Command {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        match self {
            Self::Release(release) => release.run(session).await,
        }
    }
}

impl Release {
    async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let result = session.client().await?.release_worker(&self.name).await?;
        session.output.answer(&result)?;
        if result.processing_count > 0 {
            note("what it runs goes to the DLQ as Zombie when its heartbeat is too old: `chokaq sweep`");
        }
        Ok(Answer::Yes)
    }
}
