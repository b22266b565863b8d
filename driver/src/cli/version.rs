//! `chokaq version`: this program, and what is deployed in the named database.

use chokaq::Version;
use serde::Serialize;

use super::{Answer, Failure, Session};

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Versions {
    driver_version: &'static str,
    /// Nothing without a database.
    #[serde(flatten)]
    deployed: Option<Version>,
}

pub async fn run(session: &Session) -> Result<Answer, Failure> {
    let deployed =
        if session.names_a_database() { Some(session.bare_client().await?.get_version().await?) } else { None };
    session.output.record(&Versions { driver_version: env!("CARGO_PKG_VERSION"), deployed })?;
    Ok(Answer::Yes)
}
