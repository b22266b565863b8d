//! `chokaq dev`: a database to develop with.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::{Answer, Failure, Interrupt, Output, Session, note};
use crate::local::Server;

/// How often the server is looked at.
const CHECK: Duration = Duration::from_millis(500);

#[derive(Debug, Args)]
pub struct Dev {
    /// Keep the data in this directory and use it again [default: a temporary one that is removed]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Listen on this port of the loopback address [default: a free one]
    #[arg(long)]
    port: Option<u16>,
}

impl Dev {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let mut interrupt = Interrupt::listen()?;
        let mut server = Server::start(self.data.as_deref(), self.port)?;

        let deployed = async {
            let client = session.connect(&server.url()).await?;
            client.deploy().up().await?;
            show(session.output, &server)?;
            note("ready: CHOKAQ_DATABASE_URL is the line above; Ctrl-C stops it");
            Ok::<(), Failure>(())
        };
        tokio::select! {
            deployed = deployed => deployed?,
            () = interrupt.wait() => return Ok(Answer::Yes),
        }
        loop {
            tokio::select! {
                () = interrupt.wait() => return Ok(Answer::Yes),
                () = tokio::time::sleep(CHECK) => {}
            }
            if let Some(status) = server.ended() {
                return Err(Failure::new(format_args!("the server ended by itself: {status}")));
            }
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Ready {
    database_url: String,
}

/// The URL alone on a line, so that `$(...)` and `read` can take it.
fn show(output: Output, server: &Server) -> io::Result<()> {
    match output {
        Output::Json => output.record(&Ready { database_url: server.url() }),
        Output::Terminal | Output::Plain => output.line(&server.url()),
    }
}
