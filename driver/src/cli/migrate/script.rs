//! `chokaq migrate script`: the deployment for whoever runs no program that he cannot read.

use std::ops::Bound;

use chokaq::{Dialect, migration_script};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::cli::{Answer, Failure, Output, Session};

const EXAMPLES: &str = "\
The script may be run again and again: what the database has is passed over. It keeps the same record in \
chokaq_schema_history as `up`, under the same lock, so that `status` and `up` go on from there. After an error \
nothing more of it is applied, though the client may go on.

Examples:
  chokaq migrate script --dialect mssql > chokaq.sql
  sqlcmd -S sql01 -d shop -b -i chokaq.sql
  chokaq migrate script --dialect postgres --from 201 > upgrade.sql
  psql -X -d shop -f upgrade.sql";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Script {
    /// For sqlcmd and SSMS, or for psql [default: what the database URL says]
    #[arg(long, value_parser = PossibleValuesParser::new(["mssql", "postgres"]).map(dialect))]
    dialect: Option<Dialect>,
    /// The first migration in the script; the database must have all before it [default: the first of all]
    #[arg(long, value_name = "VERSION")]
    from: Option<i32>,
    /// The last migration in the script [default: the last of all]
    #[arg(long, value_name = "VERSION")]
    to: Option<i32>,
}

fn dialect(name: String) -> Dialect {
    match name.as_str() {
        "mssql" => Dialect::Mssql,
        _ => Dialect::Postgres,
    }
}

impl Script {
    /// Connects to nothing.
    pub fn run(self, session: &Session) -> Result<Answer, Failure> {
        let dialect = match self.dialect {
            Some(dialect) => dialect,
            None => session.dialect()?.ok_or_else(|| {
                Failure::new("for which database the script is, is not said").hint("say --dialect mssql or postgres")
            })?,
        };
        let from = self.from.map_or(Bound::Unbounded, Bound::Included);
        let to = self.to.map_or(Bound::Unbounded, Bound::Included);
        Output::document(migration_script(dialect, (from, to))?.as_bytes())?;
        Ok(Answer::Yes)
    }
}
