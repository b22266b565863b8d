//! `chokaq completions`: what a shell needs to complete the words of this program.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Answer, Cli, Failure, Output};

const EXAMPLES: &str = "\
Examples:
  chokaq completions bash > ~/.local/share/bash-completion/completions/chokaq
  chokaq completions zsh > ~/.zfunc/_chokaq        with ~/.zfunc in fpath before compinit
  chokaq completions fish > ~/.config/fish/completions/chokaq.fish
  chokaq completions powershell >> $PROFILE";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub fn run(self) -> Result<Answer, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), env!("CARGO_PKG_NAME"), &mut script);
        Output::document(&script)?;
        Ok(Answer::Yes)
    }
}
