//! Arguments that are arrays, as nobody would write them, given to every procedure that takes one. What needs no database
//! is fuzzed beside what it tests: `cargo test --package chokaq fuzz`.

mod arrays;
mod draw;
#[path = "../../driver/src/fuzz.rs"]
mod fuzz;
mod rule;

use std::process::ExitCode;

fn main() -> ExitCode {
    chokaq_tests::runner::main(&[arrays::SCENARIOS])
}
