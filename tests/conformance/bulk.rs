//! The four procedures that act on what a filter of the DLQ leaves, called in the same words.

use chokaq_tests::{Args, Result, Row, Rows, Session, SqlError, Value, args, values};

use crate::arrange;

/// One of the four, and what it calls the things that all of them have.
#[derive(Clone, Copy, Debug)]
pub struct Bulk {
    pub procedure: &'static str,
    /// The parameter that says who acts.
    pub actor: &'static str,
    /// The parameter that says how many rows make a batch.
    pub batch_size: &'static str,
    /// The column that counts the jobs acted on.
    pub done: &'static str,
    /// What the history calls the act.
    pub action: &'static str,
}

const fn resurrects(procedure: &'static str) -> Bulk {
    Bulk { procedure, actor: "ResurrectedBy", batch_size: "BatchSize", done: "ResurrectedCount", action: "resurrected" }
}

const fn purges(procedure: &'static str) -> Bulk {
    Bulk { procedure, actor: "PurgedBy", batch_size: "CleanupBatchSize", done: "PurgedCount", action: "purged" }
}

/// The joining ones: one batch.
pub const BATCHES: [Bulk; 2] = [resurrects("ResurrectByFilterBatch"), purges("PurgeDLQByFilterBatch")];

/// The looping ones.
pub const LOOPS: [Bulk; 2] = [resurrects("ResurrectByFilter"), purges("PurgeDLQByFilter")];

/// All four.
pub const ALL: [Bulk; 4] = [BATCHES[0], LOOPS[0], BATCHES[1], LOOPS[1]];

impl Bulk {
    /// The arguments of a call by `ann`; with `what_if` as it stands when that is None.
    pub fn arguments(&self, what_if: Option<bool>, more: Args) -> Args {
        let what_if = what_if.map(|what_if| ("WhatIf", Value::from(what_if)));
        [(self.actor, Value::from("ann"))].into_iter().chain(what_if).chain(more).collect()
    }

    /// Does it.
    pub async fn act(&self, s: &mut Session, more: Args) -> Result<Row> {
        Ok(self.call(s, Some(false), more).await?.one())
    }

    /// Only says what it would do, because nothing tells it to act.
    pub async fn preview(&self, s: &mut Session, more: Args) -> Result<Row> {
        Ok(self.call(s, None, more).await?.one())
    }

    pub async fn call(&self, s: &mut Session, what_if: Option<bool>, more: Args) -> Result<Rows, SqlError> {
        s.call(self.procedure, self.arguments(what_if, more)).await
    }
}

/// A job in the DLQ, failed so many seconds after the first of January.
pub async fn failed(s: &mut Session, queue: &str, id: &str, seconds: i64) -> Result<()> {
    arrange::dead(s, queue, id).await?;
    failed_at(s, id, seconds).await
}

/// Sets the time at which a job failed to so many seconds after the first of January.
pub async fn failed_at(s: &mut Session, id: &str, seconds: i64) -> Result<()> {
    let at = moment(seconds);
    s.sql("UPDATE chokaq.JobsDLQ SET FailedAtUtc = @P1 WHERE Id = @P2", &values![at, id]).await?;
    Ok(())
}

/// So many seconds after the first of January.
pub fn moment(seconds: i64) -> time::OffsetDateTime {
    time::macros::datetime!(2026-01-01 00:00 UTC) + time::Duration::seconds(seconds)
}

/// The ids in the DLQ, in their order.
pub async fn in_dlq(s: &mut Session) -> Result<Vec<String>> {
    Ok(s.sql("SELECT Id FROM chokaq.JobsDLQ ORDER BY Id", &[]).await?.texts("Id"))
}

/// The filter by that queue.
pub fn queue(name: &str) -> Args {
    args! { Queue: name }
}
