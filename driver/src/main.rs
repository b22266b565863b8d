//! The command line of ChokaQ SQL. Each verb is one procedure; what a verb does, the procedure does.
//!
//! Standard output carries data, standard error the rest. The exit code is 0 when the thing is done, 1 when the
//! procedure ran but its answer is no (`not_found`, `changed`, nothing to fetch), 2 when there was an error.

mod cli;
mod demo;
#[cfg(test)]
mod fuzz;
#[cfg_attr(unix, path = "local/mod.rs")]
#[cfg_attr(not(unix), path = "local/elsewhere.rs")]
mod local;

use std::process::ExitCode;

use cli::{Answer, Failure};

#[tokio::main]
async fn main() -> ExitCode {
    let cli = cli::read_arguments(std::env::args_os()).unwrap_or_else(|error| error.exit());
    match cli.run().await {
        Ok(Answer::Yes) | Err(Failure::ReaderGone) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Err(failure) => {
            failure.report();
            ExitCode::from(2)
        }
    }
}
