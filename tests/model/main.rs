//! Random sequences of all procedures, by several sessions, beside a model that is written from the contract: after each
//! step the answer is the model's, after each sequence the tables are.

mod check;
mod draw;
mod enqueue;
mod filter;
mod finish;
mod history;
mod invalid;
mod life;
mod model;
mod mutants;
mod operator;
mod parts;
mod purge;
mod queues;
mod reads;
mod rules;
mod run;
mod sequences;
mod settings;
mod state;
mod steps;
mod sweep;
mod term;
mod worker;

use std::process::ExitCode;

fn main() -> ExitCode {
    chokaq_tests::runner::main(&[sequences::SCENARIOS, settings::SCENARIOS])
}
