//! `chokaq demo`: a broken job fails, is repaired and succeeds; a crashed worker's jobs come back; the books balance.

mod balance;
mod cast;
mod narrator;
mod story;
mod worker;

use chokaq::{Client, ErrorKind};
use clap::Args;

use crate::cli::{Answer, Consent, Failure, Interrupt, Session};
use crate::local::Server;
use narrator::Narrator;

/// What the names of the demo's queues begin with; the rest is new in each run.
const PREFIX: &str = "chokaq-demo-";

#[derive(Debug, Args)]
pub struct Demo {
    #[command(flatten)]
    consent: Consent,
}

impl Demo {
    /// Plays the demo in the named database, or in a server of its own.
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let mut interrupt = Interrupt::listen()?;
        let server = if session.names_a_database() { None } else { Some(Server::start(None, None)?) };

        let play = async {
            let client = match &server {
                Some(server) => session.connect(&server.url()).await?,
                None => session.bare_client().await?,
            };
            if server.is_none() {
                refuse_company(&client).await?;
                if !self.may_deploy(&client).await? {
                    return Ok(Answer::No);
                }
            }
            story::tell(&client, &Narrator::new(session.output), server.is_some()).await
        };
        tokio::select! {
            played = play => played,
            () = interrupt.wait() => Err(Failure::new("interrupted")),
        }
    }

    /// The URL may come from the environment, meant for another program: tables are made there with consent alone.
    async fn may_deploy(&self, client: &Client) -> Result<bool, Failure> {
        match client.deploy().plan().await?.len() {
            0 => Ok(true),
            count => self.consent.ask(&format!("apply {count} migrations to {}?", client.config())),
        }
    }
}

/// The demo calls zombies after one second and purges the whole Archive, which must not happen to anybody's own jobs.
async fn refuse_company(client: &Client) -> Result<(), Failure> {
    let stats = match client.get_queue_stats(None).await {
        Ok(stats) => stats,
        // Nothing is deployed yet, so nobody's jobs are there.
        Err(error) if error.kind() == ErrorKind::SchemaMismatch => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    match stats.iter().find(|queue| queue.enqueued_total > 0 && !queue.queue.starts_with(PREFIX)) {
        None => Ok(()),
        Some(queue) => Err(Failure::new(format_args!(
            "this database holds jobs that are not the demo's, in queue {:?}",
            queue.queue
        ))
        .hint("name an empty database, or none: the demo then starts a server of its own")),
    }
}
