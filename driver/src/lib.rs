//! The driver of ChokaQ SQL: a job queue, its dead letters and their repair in stored procedures, the same on
//! SQL Server and on PostgreSQL. One method per procedure, no lifecycle logic of its own.
//!
//! ```no_run
//! use chokaq::{ArchiveSucceeded, Client, Enqueue, FetchNextBatch};
//!
//! # async fn example() -> chokaq::Result<()> {
//! let client = Client::connect("postgres://app@localhost/shop").await?;
//! client.deploy().up().await?;
//!
//! client.enqueue(&Enqueue { payload: Some(r#"{"to": "ann@example.com"}"#), ..Enqueue::new("mail", "email_v1") }).await?;
//!
//! for job in client.fetch_next_batch(&FetchNextBatch { start_now: true, ..FetchNextBatch::new("worker-1") }).await? {
//!     println!("{} is attempt {} of {}", job.attempt_count, job.r#type, job.job_id);
//!     client
//!         .archive_succeeded(&ArchiveSucceeded {
//!             job_id: &job.job_id,
//!             worker_id: Some("worker-1"),
//!             attempt: Some(job.attempt_count),
//!             duration_ms: Some(12.5),
//!             resurrect_count: Some(job.resurrect_count),
//!         })
//!         .await?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! What each procedure does is told once, in `procedures/README.md`; the methods name their SQL file.

#![deny(missing_docs)]

mod call;
mod client;
mod config;
mod deploy;
mod error;
#[cfg(test)]
mod fuzz;
#[cfg(feature = "lint")]
pub mod lint;
mod mssql;
mod pool;
mod postgres;
mod procedures;
mod shape;
mod tls;
mod types;
mod value;

pub use call::Connection;
pub use client::{Builder, Client, Retry, on_mssql, on_postgres};
pub use config::{Config, Dialect};
pub use deploy::{
    Deploy, Drift, DriftKind, Extension, Migration, MigrationState, Planned, Statement, Verification, migration_script,
};
pub use error::{Error, ErrorKind, Result};
pub use mssql::OnMssql;
pub use pool::Pooled;
pub use postgres::OnPostgres;
pub use procedures::*;
pub use types::{FailureReason, JobStatus, Pillar, UnknownFailureReason};
