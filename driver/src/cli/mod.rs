//! The tree of commands. One file per group; what they share has a file each too.

mod archive;
mod arguments;
mod completions;
mod consent;
mod dev;
mod diff;
mod dlq;
mod edit;
mod editor;
mod failure;
#[cfg(test)]
mod fuzz;
mod health;
mod history;
mod input;
mod interrupt;
mod job;
mod json;
mod lint;
mod loops;
mod man;
mod migrate;
mod operator;
mod output;
mod page;
mod parse;
mod progress;
mod queue;
mod session;
mod stats;
mod sweep;
mod version;
mod when;
mod worker;

use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::demo::Demo;

pub use arguments::read as read_arguments;
pub use consent::Consent;
pub use failure::{Failure, note, warn};
pub use interrupt::Interrupt;
pub use output::Output;
pub use session::Session;

/// What a command answers: done, or it ran and the answer is no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Exit code 0.
    Yes,
    /// Exit code 1.
    No,
}

impl Answer {
    /// Yes when it holds.
    pub fn when(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

/// The heading of the options that every command has.
const EVERYWHERE: &str = "Global options";

/// ChokaQ SQL: a job queue, its dead letters and their repair in stored procedures of SQL Server and PostgreSQL
///
/// Exit codes: 0 done, 1 it ran and the answer is no (not_found, changed, nothing to fetch), 2 error.
#[derive(Parser)]
#[command(name = "chokaq", version, max_term_width = 100)]
pub struct Cli {
    /// The database: postgres://user:password@host/database, mssql://…, or an ADO connection string
    /// [default: CHOKAQ_DATABASE_URL, then DATABASE_URL]
    #[arg(long, global = true, value_name = "URL", help_heading = EVERYWHERE)]
    database_url: Option<String>,

    /// Print one JSON object a line, with the contract's column names
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    json: bool,

    /// How long one call may take, for instance 30s or 10m; without it loops take their time
    #[arg(long, global = true, value_name = "DURATION", value_parser = parse::duration, help_heading = EVERYWHERE)]
    timeout: Option<Duration>,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Deploy tables and procedures, or see what is deployed
    #[command(subcommand)]
    Migrate(migrate::Command),
    /// Put jobs in, work on them, look at them, correct them
    #[command(subcommand)]
    Job(Box<job::Command>),
    /// Inspect failed jobs, repair them, bring them back
    #[command(subcommand)]
    Dlq(Box<dlq::Command>),
    /// Pause queues, limit them, set how their jobs are retried
    #[command(subcommand)]
    Queue(queue::Command),
    /// Free what a dead worker left behind
    #[command(subcommand)]
    Worker(worker::Command),
    /// Look after the jobs that succeeded
    #[command(subcommand)]
    Archive(archive::Command),
    /// Look after the record of what operators did
    #[command(subcommand)]
    History(history::Command),
    /// Free abandoned jobs and move zombies to the DLQ
    Sweep(sweep::Sweep),
    /// Show the jobs and counters of each queue, or of all together
    Stats(stats::Stats),
    /// Show how each queue does; exit code 1 when a threshold is exceeded
    Health(health::Health),
    /// Check SQL files by the rules of the house; exit code 1 when one is broken
    Lint(lint::Lint),
    /// Start a local PostgreSQL, deploy, print its URL and stay until Ctrl-C
    Dev(dev::Dev),
    /// Watch a broken job fail, be repaired and succeed, on real rows
    Demo(Demo),
    /// Print a script that completes commands and options in a shell
    Completions(completions::Completions),
    /// Print the manual page, or write all of them
    Man(man::Man),
    /// Show the version of this program and of the procedures in the database
    Version,
}

impl Cli {
    /// Runs the command.
    pub async fn run(self) -> Result<Answer, Failure> {
        let output = Output::choose(self.json);
        let session = Session::new(self.database_url, self.timeout, output);
        match self.command {
            Command::Migrate(command) => command.run(&session).await,
            Command::Job(command) => command.run(&session).await,
            Command::Dlq(command) => command.run(&session).await,
            Command::Queue(command) => command.run(&session).await,
            Command::Worker(command) => command.run(&session).await,
            Command::Archive(command) => command.run(&session).await,
            Command::History(command) => command.run(&session).await,
            Command::Sweep(sweep) => sweep.run(&session).await,
            Command::Stats(stats) => stats.run(&session).await,
            Command::Health(health) => health.run(&session).await,
            Command::Lint(lint) => lint.run(output),
            Command::Dev(dev) => dev.run(&session).await,
            Command::Demo(demo) => demo.run(&session).await,
            Command::Completions(completions) => completions.run(),
            Command::Man(man) => man.run(),
            Command::Version => version::run(&session).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_tree_of_commands_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn global_options_stand_before_and_after_the_verb() {
        for line in ["chokaq --json --timeout 5m stats", "chokaq stats --json --timeout 5m"] {
            let cli = Cli::try_parse_from(line.split(' ')).unwrap();
            assert!(cli.json);
            assert_eq!(cli.timeout, Some(Duration::from_secs(300)));
        }
    }

    #[test]
    fn two_sources_of_one_payload_are_refused() {
        let line = "chokaq dlq resurrect a --payload x --payload-file y --by me";
        assert!(Cli::try_parse_from(line.split(' ')).is_err());
    }

    #[test]
    fn ids_come_from_one_place() {
        for line in ["chokaq dlq purge a --ids-from b --by me", "chokaq job cancel a --ids-file b --by me"] {
            assert!(Cli::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
    }

    #[test]
    fn no_help_shows_a_value_of_the_environment() {
        fn check(command: &clap::Command) {
            for argument in command.get_arguments().filter(|argument| argument.get_env().is_some()) {
                assert!(argument.is_hide_env_values_set(), "{} {}", command.get_name(), argument.get_id());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }

    #[test]
    fn a_failure_reason_is_a_name_or_a_number() {
        for reason in ["FatalError", "fatalerror", "6"] {
            let line = format!("chokaq dlq move a --reason {reason}");
            assert!(Cli::try_parse_from(line.split(' ')).is_ok(), "{line}");
        }
        let error = Cli::try_parse_from(["chokaq", "dlq", "move", "a", "--reason", "12"]).err().unwrap().to_string();
        for reason in chokaq::FailureReason::ALL {
            assert!(error.contains(reason.name()), "{error}");
        }
    }

    #[test]
    fn the_contracts_own_words_are_taken_too() {
        for line in [
            "chokaq dlq list --failure-reason Zombie",
            "chokaq dlq move a --failure-reason Zombie --error-details lost",
            "chokaq dlq resurrect a --keep-idempotency-key --resurrected-by me",
            "chokaq job fail a --worker w --attempt 1 --failure-reason Timeout --error-details late",
        ] {
            assert!(Cli::try_parse_from(line.split(' ')).is_ok(), "{line}");
        }
    }
}
