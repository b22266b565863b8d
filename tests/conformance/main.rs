//! One suite over both engines: every scenario is written once and runs on PostgreSQL and on T-SQL.

mod arguments;
mod arrange;
mod by_hand;
mod cases;
mod cli;
mod concurrency;
mod deploy;
mod dlq;
mod enqueue;
mod fail;
mod fetch;
mod finish;
mod inventory;
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
        deploy::SCENARIOS,
        inventory::SCENARIOS,
        by_hand::SCENARIOS,
        cli::SCENARIOS,
        storm::SCENARIOS,
    ])
}
