//! `chokaq migrate extension`: the deployment as an extension of PostgreSQL.

use std::fs;
use std::path::PathBuf;

use clap::Args;

use crate::cli::{Answer, Failure, note};

const EXAMPLES: &str = "\
DROP EXTENSION chokaq drops every job. A database that the extension was created in is brought to a newer version by
ALTER EXTENSION chokaq UPDATE, and no longer by `up`.

Examples:
  chokaq migrate extension --dir \"$(pg_config --sharedir)/extension\"
  psql -d shop -c 'CREATE EXTENSION chokaq'";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Extension {
    /// Write chokaq.control and the scripts into this directory, which is made
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Write the update from an older version too, and with it the number of its newest migration, for instance
    /// 0.1.0=250; may be repeated
    #[arg(long, value_name = "VERSION=MIGRATION", value_parser = older_version)]
    update_from: Vec<(String, i32)>,
}

fn older_version(text: &str) -> Result<(String, i32), String> {
    let parts = text.split_once('=').and_then(|(version, newest)| Some((version.to_owned(), newest.parse().ok()?)));
    parts.ok_or_else(|| "write a version and the number of its newest migration, for instance 0.1.0=250".to_owned())
}

impl Extension {
    /// Connects to nothing.
    pub fn run(self) -> Result<Answer, Failure> {
        let extension = chokaq::Extension::new();
        let mut files = vec![("chokaq.control".to_owned(), extension.control()), extension.install()];
        for (version, newest) in &self.update_from {
            files.push(extension.update(version, *newest)?);
        }
        let failed =
            |error| Failure::new(format_args!("cannot write the extension into {}: {error}", self.dir.display()));
        fs::create_dir_all(&self.dir).map_err(failed)?;
        for (name, text) in files {
            fs::write(self.dir.join(name), text).map_err(failed)?;
        }
        note(format_args!("the extension is in {}", self.dir.display()));
        Ok(Answer::Yes)
    }
}
