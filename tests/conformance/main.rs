//! One suite over both engines: every scenario is written once and runs on PostgreSQL and on T-SQL.

mod arguments;
mod arrange;
mod backlog;
mod bulk;
mod by_filter;
mod by_hand;
mod cancel;
mod cases;
mod cli;
mod concurrency;
mod connection;
mod contents;
mod crash;
mod cut;
mod deploy;
mod deploy_collation;
mod deploy_killed;
mod deploy_script;
mod deploy_up;
mod deployed;
mod desk;
mod dev;
mod disk_full;
mod dlq;
mod driver;
mod driver_desk;
mod dropped;
mod ended;
mod enqueue;
mod exhausted;
mod extension;
mod fail;
mod fetch;
mod filter;
mod finish;
mod health;
mod history;
mod hostile;
mod huge;
mod key_order;
mod killed;
mod lint;
mod load;
mod meetings;
mod mixed;
mod policy;
mod prepared;
mod privileges;
mod program;
mod purge;
mod queues;
mod races;
mod recover;
mod release;
mod resurrect;
mod rivals;
mod roles;
mod scripts;
mod search_path;
mod secrets;
mod sets;
mod snapshot;
mod start;
mod stats;
mod storm;
mod summary;
mod tls;
mod transactions;
mod transcript;
mod upgrade;
mod verify;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(end) = killed::client() {
        return end;
    }
    chokaq_tests::runner::main(&[
        enqueue::SCENARIOS,
        fetch::SCENARIOS,
        backlog::SCENARIOS,
        start::SCENARIOS,
        sets::SCENARIOS,
        release::SCENARIOS,
        finish::SCENARIOS,
        fail::SCENARIOS,
        cancel::SCENARIOS,
        recover::SCENARIOS,
        dlq::SCENARIOS,
        resurrect::SCENARIOS,
        purge::SCENARIOS,
        queues::SCENARIOS,
        policy::SCENARIOS,
        filter::SCENARIOS,
        by_filter::SCENARIOS,
        stats::SCENARIOS,
        health::SCENARIOS,
        history::SCENARIOS,
        summary::SCENARIOS,
        arguments::SCENARIOS,
        transactions::SCENARIOS,
        roles::SCENARIOS,
        privileges::SCENARIOS,
        search_path::SCENARIOS,
        cases::SCENARIOS,
        hostile::SCENARIOS,
        huge::SCENARIOS,
        concurrency::SCENARIOS,
        key_order::SCENARIOS,
        meetings::SCENARIOS,
        races::SCENARIOS,
        races::queue::SCENARIOS,
        races::deployers::SCENARIOS,
        mixed::SCENARIOS,
        driver::SCENARIOS,
        connection::SCENARIOS,
        prepared::SCENARIOS,
        dropped::SCENARIOS,
        cut::SCENARIOS,
        ended::SCENARIOS,
        crash::SCENARIOS,
        killed::SCENARIOS,
        disk_full::SCENARIOS,
        exhausted::SCENARIOS,
        tls::SCENARIOS,
        secrets::SCENARIOS,
        deploy::SCENARIOS,
        deploy_up::SCENARIOS,
        deploy_killed::SCENARIOS,
        deploy_collation::SCENARIOS,
        deploy_script::SCENARIOS,
        verify::SCENARIOS,
        extension::SCENARIOS,
        upgrade::SCENARIOS,
        by_hand::SCENARIOS,
        scripts::SCENARIOS,
        cli::SCENARIOS,
        lint::SCENARIOS,
        desk::look::SCENARIOS,
        desk::repair::SCENARIOS,
        desk::act::SCENARIOS,
        desk::consent::SCENARIOS,
        desk::queues::SCENARIOS,
        desk::refuse::SCENARIOS,
        desk::help::SCENARIOS,
        dev::SCENARIOS,
        storm::SCENARIOS,
    ])
}
