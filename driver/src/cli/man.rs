//! `chokaq man`: the manual pages of this program.

use std::fs;
use std::path::PathBuf;

use clap::{Args, CommandFactory};

use super::{Answer, Cli, Failure, Output, note};

const EXAMPLES: &str = "\
Examples:
  chokaq man --dir ~/.local/share/man/man1
  chokaq man | man -l -";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Man {
    /// Write a page for each command into this directory, which is made [default: print the first page]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Man {
    pub fn run(self) -> Result<Answer, Failure> {
        let Some(dir) = self.dir else {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            Output::document(&page)?;
            return Ok(Answer::Yes);
        };
        let failed = |error| Failure::new(format_args!("cannot write the pages into {}: {error}", dir.display()));
        fs::create_dir_all(&dir).map_err(failed)?;
        clap_mangen::generate_to(Cli::command(), &dir).map_err(failed)?;
        note(format_args!("the pages are in {}", dir.display()));
        Ok(Answer::Yes)
    }
}
