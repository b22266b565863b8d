//! A method for each procedure, with its arguments, its outcomes and its rows. They say what the procedures take
//! and answer; what they do is told in `procedures/README.md`.

mod archive;
mod dlq;
mod enqueue;
mod finish;
mod job;
mod resurrect;
mod stats;
mod sweep;
mod work;

pub use archive::*;
pub use dlq::*;
pub use enqueue::*;
pub use finish::*;
pub use job::*;
pub use resurrect::*;
pub use stats::*;
pub use sweep::*;
pub use work::*;
