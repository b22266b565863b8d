//! Those that the kit is measured against.

pub mod floor;
pub mod graphile_worker;
pub mod install;
pub mod pg_boss;
pub mod pgmq;
pub mod procrastinate;
