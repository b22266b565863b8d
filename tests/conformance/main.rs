//! One suite over both engines: every scenario is written once and runs on PostgreSQL and on T-SQL.

mod arguments;
mod arrange;
mod backlog;
mod by_hand;
mod cases;
mod cli;
mod concurrency;
mod connection;
mod deploy;
mod dev;
mod dlq;
mod driver;
mod enqueue;
mod fail;
mod fetch;
mod finish;
mod inventory;
mod program;
mod purge;
mod recover;
mod resurrect;
mod rivals;
mod snapshot;
mod start;
mod stats;
mod storm;
mod transactions;

use std::process::ExitCode;

fn main() -> ExitCode {
    chokaq_tests::runner::main(&[
        enqueue::SCENARIOS,
        fetch::SCENARIOS,
        backlog::SCENARIOS,
        start::SCENARIOS,
        finish::SCENARIOS,
        fail::SCENARIOS,
        recover::SCENARIOS,
        dlq::SCENARIOS,
        resurrect::SCENARIOS,
        purge::SCENARIOS,
        stats::SCENARIOS,
        arguments::SCENARIOS,
        transactions::SCENARIOS,
        cases::SCENARIOS,
        concurrency::SCENARIOS,
        driver::SCENARIOS,
        connection::SCENARIOS,
        deploy::SCENARIOS,
        inventory::SCENARIOS,
        by_hand::SCENARIOS,
        cli::SCENARIOS,
        dev::SCENARIOS,
        storm::SCENARIOS,
    ])
}
