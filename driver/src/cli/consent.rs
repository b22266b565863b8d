//! A question before what cannot be undone.

use std::fmt::Display;
use std::io::{self, IsTerminal};

use clap::Args;
use dialoguer::Confirm;

use super::failure::Failure;

/// `1 job`, `2 jobs`.
pub fn jobs(count: impl Display) -> String {
    let count = count.to_string();
    let noun = if count == "1" { "job" } else { "jobs" };
    format!("{count} {noun}")
}

/// How the user agrees.
#[derive(Debug, Args)]
pub struct Consent {
    /// Do it without asking
    #[arg(long, short = 'y')]
    pub yes: bool,
}

impl Consent {
    /// Whether to go on: `--yes`, or the answer given on a terminal. Without either it is an error.
    pub fn ask(&self, question: &str) -> Result<bool, Failure> {
        if self.yes {
            return Ok(true);
        }
        if !has_terminal() {
            return Err(Failure::new(format_args!("not done without your consent: {question}"))
                .hint("there is no terminal to ask on; say --yes"));
        }
        confirm(question, false)
    }
}

/// Whether somebody is there to answer.
pub fn has_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks on the terminal; `default` is what the return key alone means.
pub fn confirm(question: &str, default: bool) -> Result<bool, Failure> {
    Confirm::new()
        .with_prompt(question)
        .default(default)
        .interact()
        .map_err(|dialoguer::Error::IO(error)| Failure::from(error))
}
