//! The harness of the conformance suite: two servers, a database per case, and one way to call a procedure by name.

pub mod contract;
pub mod database;
pub mod deploy;
pub mod error;
pub mod install;
pub mod lacks;
pub mod migrations;
pub mod names;
pub mod programs;
pub mod proxy;
pub mod recount;
pub mod releases;
pub mod rows;
pub mod runner;
pub mod server;
pub mod session;
pub mod tally;
pub mod until;
pub mod value;

pub use anyhow::Result;
pub use database::{Db, Rights};
pub use error::{Code, SqlError, assert_refused};
pub use rows::{Row, Rows};
pub use runner::Scenario;
pub use session::{Engine, Session};
pub use until::until;
pub use value::{Args, Value};
