//! Long loops, call by call, with a sign of life. Each batch is committed: a loop that is broken off has done what it
//! said, and a second run does the rest.

mod archive;
mod filtered;
mod ids;

pub use archive::purge_archive;
pub use filtered::{purge_dlq_by_filter, resurrect_by_filter, tell_rest};
pub use ids::{cancel, purge_dlq, resurrect};
