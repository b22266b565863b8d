//! A method for each procedure, with its arguments, its outcomes and its rows. They say what the procedures take
//! and answer; what they do is told in `procedures/README.md`.

mod archive;
mod cancel;
mod dlq;
mod enqueue;
mod filter;
mod finish;
mod health;
mod history;
mod job;
mod purge;
mod queue;
mod resurrect;
mod stats;
mod sweep;
#[cfg(test)]
mod tests;
mod work;

pub use archive::*;
pub use cancel::*;
pub use dlq::*;
pub use enqueue::*;
pub use filter::*;
pub use finish::*;
pub use health::*;
pub use history::*;
pub use job::*;
pub use purge::*;
pub use queue::*;
pub use resurrect::*;
pub use stats::*;
pub use sweep::*;
pub use work::*;
