//! `chokaq migrate plan`, and `up --dry-run`: what a deployment would do.

use chokaq::{Deploy, Planned};
use clap::Args;
use serde::Serialize;

use super::Destination;
use crate::cli::{Answer, Failure, Output, Session, note};

const EXAMPLES: &str = "\
Each statement of each pending migration is told by what it does and to what; `check` is one that only refuses a \
database that does not fit. It connects, reads the history, and changes nothing.

Examples:
  chokaq migrate plan
  chokaq migrate plan --sql | less
  chokaq --json migrate plan | jq -r '.Statements[] | select(.Statement == \"create role\") | .Object'";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Plan {
    #[command(flatten)]
    destination: Destination,
    /// Print the texts of the migrations as they would be run
    #[arg(long)]
    sql: bool,
}

/// A statement as people see it.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Line<'a> {
    version: i32,
    name: &'a str,
    statement: &'a str,
    object: &'a str,
}

const LINE: [&str; 4] = ["Version", "Name", "Statement", "Object"];

/// A migration as programs see it when they ask for its text.
#[derive(Serialize)]
struct WithText<'a> {
    #[serde(flatten)]
    planned: &'a Planned,
    #[serde(rename = "Sql")]
    sql: &'a str,
}

impl Plan {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let deploy = self.destination.of(session).await?;
        show(&deploy, session.output, self.sql).await
    }
}

/// Shows what is pending.
pub async fn show(deploy: &Deploy, output: Output, with_texts: bool) -> Result<Answer, Failure> {
    let planned = deploy.plan().await?;
    match (output, with_texts) {
        (Output::Json, false) => output.rows(&planned, &[])?,
        (Output::Json, true) => {
            let rows = planned.iter().map(|planned| WithText { planned, sql: &planned.sql });
            output.rows(&rows.collect::<Vec<_>>(), &[])?;
        }
        (_, true) => Output::document(texts(&planned).as_bytes())?,
        (_, false) => output.rows(&planned.iter().flat_map(lines).collect::<Vec<_>>(), &LINE)?,
    }
    match planned.len() {
        0 => note("up to date"),
        count => note(format_args!("{count} migrations are pending; nothing was changed")),
    }
    Ok(Answer::Yes)
}

fn texts(planned: &[Planned]) -> String {
    let text = |it: &Planned| format!("/* V{:04}__{} */\n{}", it.version, it.name, it.sql);
    planned.iter().map(text).collect::<Vec<_>>().join("\n")
}

fn lines(planned: &Planned) -> impl Iterator<Item = Line<'_>> {
    planned.statements.iter().map(|it| Line {
        version: planned.version,
        name: &planned.name,
        statement: &it.kind,
        object: &it.object,
    })
}
