//! What every command works with: the database that was named, and the way to show data.

use std::env;
use std::time::Duration;

use chokaq::{Client, Config, Dialect};
use time::OffsetDateTime;

use super::failure::Failure;
use super::output::Output;

/// Where the URL comes from, after the flag.
const URL_VARIABLES: [&str; 2] = ["CHOKAQ_DATABASE_URL", "DATABASE_URL"];

/// The settings of one run of the program. Not `Debug`: a URL holds a password.
pub struct Session {
    /// How data is shown.
    pub output: Output,
    url: Option<String>,
    timeout: Option<Duration>,
}

impl Session {
    /// Takes the URL from the flag or the environment; a variable that is empty counts as not set.
    pub fn new(url: Option<String>, timeout: Option<Duration>, output: Output) -> Self {
        let from_environment =
            || URL_VARIABLES.iter().find_map(|name| env::var(name).ok().filter(|value| !value.is_empty()));
        Self { output, url: url.or_else(from_environment), timeout }
    }

    /// Whether the user named a database.
    pub fn names_a_database(&self) -> bool {
        self.url.is_some()
    }

    /// The SQL of the named database; nothing is connected to.
    pub fn dialect(&self) -> Result<Option<Dialect>, Failure> {
        let config = self.url.as_deref().map(str::parse::<Config>).transpose()?;
        Ok(config.map(|config| config.dialect()))
    }

    /// Connects to the named database and checks that this program knows its procedures.
    pub async fn client(&self) -> Result<Client, Failure> {
        Ok(self.client_and_clock().await?.0)
    }

    /// The same, and what the server's clock says: ages are counted on it.
    pub async fn client_and_clock(&self) -> Result<(Client, OffsetDateTime), Failure> {
        let client = self.bare_client().await?;
        let now = client.check_version().await?.server_time;
        Ok((client, now))
    }

    /// Connects to the named database, whatever is in it.
    pub async fn bare_client(&self) -> Result<Client, Failure> {
        let url = self.url.as_deref().ok_or_else(|| {
            Failure::new("no database is named")
                .hint("say --database-url URL or set CHOKAQ_DATABASE_URL; `chokaq dev` starts one on this machine")
        })?;
        self.connect(url).await
    }

    /// Connects to a database with the time limit that the user set.
    pub async fn connect(&self, url: &str) -> Result<Client, Failure> {
        let config: Config = url.parse()?;
        let client = Client::builder().check_version(false).connect(url).await;
        let client = client.map_err(|error| Failure::to_connect(error, config.dialect()))?;
        Ok(match self.timeout {
            Some(limit) => client.with_timeout(Some(limit)),
            None => client,
        })
    }

    /// The client for looping procedures, which take as long as they need unless the user said otherwise.
    pub fn patient(&self, client: &Client) -> Client {
        client.with_timeout(self.timeout)
    }
}
