//! `chokaq migrate verify`: what is deployed against what this program ships.

use chokaq::{Drift, ErrorKind};
use clap::Args;

use crate::cli::diff::between;
use crate::cli::{Answer, Failure, Session, note};

const SHOWN: [&str; 4] = ["Kind", "Object", "Drift", "Detail"];

/// Compare what is deployed with what this version ships; exit code 1 when anything differs
///
/// Procedures, functions and views with their texts, tables, columns, constraints, indexes, rights, roles and SET options.
/// Drift is `changed`, `missing`, `extra`, `older`, `newer` or `unreadable`. Changes nothing, and needs no more than the
/// right to read the catalog: VIEW DEFINITION on the database (SQL Server), SELECT on chokaq_schema_history.
#[derive(Debug, Args)]
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
