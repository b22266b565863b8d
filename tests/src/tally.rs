//! What ran, and how long it took. Nothing is ever held to a time; the list says where a slow run has spent its own.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::session::Engine;

/// So many of the slowest cases are named at the end, unless `CHOKAQ_TEST_SLOWEST` says how many.
const SLOWEST: usize = 10;

#[derive(Default)]
pub struct Tally {
    cases: Mutex<Vec<(Engine, String, Duration)>>,
}

impl Tally {
    pub fn count(&self, engine: Engine, name: String, took: Duration) {
        self.cases.lock().unwrap_or_else(PoisonError::into_inner).push((engine, name, took));
    }

    /// How many cases ran on that engine.
    pub fn of(&self, engine: Engine) -> usize {
        let cases = self.cases.lock().unwrap_or_else(PoisonError::into_inner);
        cases.iter().filter(|(of, ..)| *of == engine).count()
    }

    pub fn print_slowest(&self) {
        let asked = std::env::var("CHOKAQ_TEST_SLOWEST").ok().and_then(|count| count.parse().ok());
        let mut cases = self.cases.lock().unwrap_or_else(PoisonError::into_inner);
        cases.sort_by_key(|(.., took)| std::cmp::Reverse(*took));
        for (_, name, took) in cases.iter().take(asked.unwrap_or(SLOWEST)) {
            println!("{:>7.1} s {name}", took.as_secs_f64());
        }
    }
}
