//! What the benches share: a durable server, the kit and its peers as contenders on it, and the measuring.

pub mod contender;
pub mod contenders;
pub mod crew;
pub mod kit;
pub mod plot;
pub mod profile;
pub mod purging;
pub mod report;
pub mod scene;
pub mod server;
pub mod stats;

pub use anyhow::Result;
pub use contender::Contender;
pub use scene::Scene;
pub use server::{Database, Server};
