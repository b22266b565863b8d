//! `chokaq migrate verify`: what is deployed against what this program ships.

use chokaq::{Drift, ErrorKind};
use clap::Args;

use crate::cli::diff::between;
use crate::cli::{Answer, Failure, Session, note};

const SHOWN: [&str; 4] = ["Kind", "Object", "Drift", "Detail"];

const DETAILS: &str = "\
Compared are procedures, functions and views with their texts, tables, columns, constraints, indexes, sequences,
rights, roles and SET options. Drift is one of
  changed     somebody changed it by hand
  missing     it is not there
  extra       it is in schema chokaq and not the kit's, or a right that the kit does not give
  older       a migration that the database has not got
  newer       a migration that this program does not know
  unreadable  it cannot be told: encrypted, or the login may not read it
Nothing is changed. The login needs VIEW DEFINITION on the database (SQL Server) and SELECT on chokaq_schema_history;
docs/permissions.md says what is left out.";

#[derive(Debug, Args)]
#[command(after_help = DETAILS)]
pub struct Verify {
    /// Show each difference in full below the table
    #[arg(long)]
    diff: bool,
}

impl Verify {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let (deploy, output) = (session.bare_client().await?.deploy(), session.output);
        let verification = deploy.verify().await.map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => {
                Failure::new(error).hint("as db_owner: GRANT VIEW DEFINITION TO [the login's user]")
            }
            _ => error.into(),
        })?;
        let drift = &verification.drift;
        output.rows(drift, &SHOWN)?;
        if self.diff {
            drift.iter().filter_map(difference).try_for_each(|text| output.difference(&text))?;
        }
        match drift.len() {
            0 => note(format_args!("no drift in {} objects, rights and migrations", verification.compared)),
            1 => note("1 difference from this version"),
            count => note(format_args!("{count} differences from this version")),
        }
        Ok(Answer::when(drift.is_empty()))
    }
}

/// From what is shipped to what is deployed.
fn difference(drift: &Drift) -> Option<String> {
    if drift.shipped.is_none() && drift.deployed.is_none() {
        return None;
    }
    let name = format!("{} {}", drift.kind, drift.object);
    let headings = [&*format!("{name} shipped"), &*format!("{name} deployed")];
    let side = |text: &'_ Option<String>| text.clone().unwrap_or_default();
    Some(between(headings, &side(&drift.shipped), &side(&drift.deployed)))
}
