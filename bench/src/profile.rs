//! How much is measured: enough for a report, or as little as shows that the benches still run.

use std::time::Duration;

/// `CHOKAQ_BENCH=short` for a smoke run; anything else is the whole.
pub const VARIABLE: &str = "CHOKAQ_BENCH";

/// The size of a run.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    is_short: bool,
}

impl Profile {
    /// From the environment.
    pub fn from_env() -> Self {
        Self { is_short: std::env::var(VARIABLE).is_ok_and(|value| value == "short") }
    }

    /// A smoke run, which leaves out what takes long to start.
    pub fn is_short(self) -> bool {
        self.is_short
    }

    /// The whole number of rows, or a hundredth of it.
    pub fn rows(self, whole: u64) -> u64 {
        if self.is_short { (whole / 100).max(1_000) } else { whole }
    }

    /// Measurements of each thing.
    pub fn samples(self, whole: usize) -> usize {
        if self.is_short { 10 } else { whole }
    }

    /// How long each thing is measured.
    pub fn time(self, whole: Duration) -> Duration {
        if self.is_short { whole.min(Duration::from_millis(200)) } else { whole }
    }

    /// All of them, or the first.
    pub fn some<T>(self, all: &[T]) -> &[T] {
        if self.is_short { &all[..1] } else { all }
    }
}
