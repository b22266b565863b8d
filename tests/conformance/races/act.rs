//! The calls that may meet on one job. The job's id is its queue's name as well.

use chokaq_tests::{Args, Rows, args};
use serde_json::json;
use time::{Duration, OffsetDateTime};

/// A call on one job, and what it means when it has it.
#[derive(Clone, Copy)]
pub struct Act {
    pub procedure: &'static str,
    /// Of the job's id, and of the revision that it has before the two meet.
    pub args: fn(&str, i64) -> Args,
    /// The answer of the one that has the job, in the words of `told`.
    pub won: &'static str,
    /// The table it leaves the job in, empty when the job is gone; `None` where it was.
    pub leaves: Option<&'static str>,
    /// Its row in the operator history.
    pub history: Option<&'static str>,
}

impl Act {
    const fn new(procedure: &'static str, args: fn(&str, i64) -> Args, won: &'static str) -> Self {
        Self { procedure, args, won, leaves: None, history: None }
    }

    const fn leaves(self, table: &'static str) -> Self {
        Self { leaves: Some(table), ..self }
    }

    const fn history(self, action: &'static str) -> Self {
        Self { history: Some(action), ..self }
    }
}

/// One word for an answer: the outcome, or the counts that are not 0, such as `Skipped 1`; what a fetch took is `fetched`.
pub fn told(rows: &Rows) -> String {
    let has = |column: &str| rows.columns.iter().any(|name| name == column);
    if has("Outcome") {
        return rows.texts("Outcome").join(", ");
    }
    if has("Payload") {
        return if rows.rows.is_empty() { "none" } else { "fetched" }.to_owned();
    }
    const OF_THE_CALL: [&str; 3] = ["RequestedCount", "MatchedCount", "BatchCount"];
    let counted = rows.columns.iter().filter(|name| name.ends_with("Count") && !OF_THE_CALL.contains(&&***name));
    let counts = counted.map(|name| (name.trim_end_matches("Count"), rows.rows[0].int(name)));
    let some: Vec<_> = counts.filter(|(_, n)| *n != 0).map(|(name, n)| format!("{name} {n}")).collect();
    if some.is_empty() { "none".to_owned() } else { some.join(", ") }
}

fn owned(id: &str) -> Args {
    args! { JobId: id, WorkerId: "w1" }
}

fn first_attempt(id: &str, more: Args) -> Args {
    let mut args = owned(id);
    args.extend(args! { Attempt: 1 });
    args.extend(more);
    args
}

/* How the worker of a running job ends it, or says that he is there. */
pub const FINISH: Act = Act::new("ArchiveSucceeded", |id, _| first_attempt(id, args! {}), "archived").leaves("Archive");
pub const FINISH_SET: Act = Act::new(
    "ArchiveSucceededJobs",
    |id, _| args! { Jobs: json!([{"jobId": id, "attempt": 1}]), WorkerId: "w1" },
    "archived",
)
.leaves("Archive");
pub const MOVE: Act =
    Act::new("MoveToDLQ", |id, _| first_attempt(id, args! { FailureReason: 6 }), "moved").leaves("DLQ");
pub const FAIL: Act =
    Act::new("FailJob", |id, _| first_attempt(id, args! { FailureReason: 6, ErrorDetails: "e" }), "moved")
        .leaves("DLQ");
pub const RETRY: Act = Act::new("RescheduleForRetry", |id, _| first_attempt(id, args! {}), "rescheduled");
pub const KEEP_ALIVE: Act = Act::new("KeepAlive", |id, _| args! { JobIds: [id], WorkerId: "w1" }, "alive");

/* What a worker does with a job that he fetched, and what becomes of it without him. */
pub const FETCH: Act = Act::new("FetchNextBatch", |id, _| args! { WorkerId: "w1", Queues: [id] }, "fetched");
pub const FETCH_START: Act =
    Act::new("FetchNextBatch", |id, _| args! { WorkerId: "w1", Queues: [id], StartNow: true }, "fetched");
pub const START: Act = Act::new("MarkAsProcessing", |id, _| owned(id), "started");
pub const START_SET: Act = Act::new("MarkJobsAsProcessing", |id, _| args! { JobIds: [id], WorkerId: "w1" }, "started");
pub const RELEASE: Act = Act::new("ReleaseJob", |id, _| owned(id), "released");
pub const RECOVER_BATCH: Act = Act::new("RecoverAbandonedBatch", |_, _| args! {}, "Recovered 1");
pub const RECOVER: Act = Act::new("RecoverAbandoned", |_, _| args! {}, "Recovered 1");
pub const SWEEP_BATCH: Act = Act::new("ArchiveZombiesBatch", |_, _| args! {}, "Moved 1").leaves("DLQ");
pub const SWEEP: Act = Act::new("ArchiveZombies", |_, _| args! {}, "Moved 1").leaves("DLQ");

/* What operators do. */
pub const CANCEL: Act = Act::new("CancelJobs", |id, _| args! { JobIds: [id], CancelledBy: "ann" }, "cancelled")
    .leaves("DLQ")
    .history("cancelled");
pub const CANCEL_BATCH: Act =
    Act::new("ArchiveCancelledBatch", |id, _| args! { JobIds: [id], CancelledBy: "ann" }, "Cancelled 1")
        .leaves("DLQ")
        .history("cancelled");
pub const EDIT: Act = Act::new(
    "UpdateDLQJobData",
    |id, _| args! { JobId: id, Payload: "[1]", Tags: "edited", ModifiedBy: "ann" },
    "updated",
)
.history("edited");
pub const EDIT_AS_SEEN: Act = Act::new(
    "UpdateDLQJobData",
    |id, revision| args! { JobId: id, Tags: "edited", ModifiedBy: "ann", ExpectedRevision: revision },
    "updated",
)
.history("edited");
pub const RESURRECT: Act = Act::new("Resurrect", |id, _| args! { JobId: id, ResurrectedBy: "ann" }, "resurrected")
    .leaves("Hot")
    .history("resurrected");
pub const RESURRECT_AS_SEEN: Act = Act::new(
    "Resurrect",
    |id, revision| args! { JobId: id, ResurrectedBy: "ann", ExpectedRevision: revision },
    "resurrected",
)
.leaves("Hot")
.history("resurrected");
pub const RESURRECT_SET: Act =
    Act::new("ResurrectJobs", |id, _| args! { JobIds: [id], ResurrectedBy: "ann" }, "resurrected")
        .leaves("Hot")
        .history("resurrected");
pub const RESURRECT_BATCH: Act =
    Act::new("ResurrectBatch", |id, _| args! { JobIds: [id], ResurrectedBy: "ann" }, "Resurrected 1")
        .leaves("Hot")
        .history("resurrected");
pub const RESURRECT_FILTER_BATCH: Act = Act::new(
    "ResurrectByFilterBatch",
    |id, _| args! { Queue: id, ResurrectedBy: "ann", WhatIf: false },
    "Resurrected 1",
)
.leaves("Hot")
.history("resurrected");
pub const RESURRECT_FILTER: Act =
    Act::new("ResurrectByFilter", |id, _| args! { Queue: id, ResurrectedBy: "ann", WhatIf: false }, "Resurrected 1")
        .leaves("Hot")
        .history("resurrected");
pub const PURGE_SET: Act =
    Act::new("PurgeDLQJobs", |id, _| args! { JobIds: [id], PurgedBy: "ann" }, "purged").leaves("").history("purged");
pub const PURGE: Act =
    Act::new("PurgeDLQ", |id, _| args! { JobIds: [id], PurgedBy: "ann" }, "Purged 1").leaves("").history("purged");
pub const PURGE_FILTER_BATCH: Act =
    Act::new("PurgeDLQByFilterBatch", |id, _| args! { Queue: id, PurgedBy: "ann", WhatIf: false }, "Purged 1")
        .leaves("")
        .history("purged");
pub const PURGE_FILTER: Act =
    Act::new("PurgeDLQByFilter", |id, _| args! { Queue: id, PurgedBy: "ann", WhatIf: false }, "Purged 1")
        .leaves("")
        .history("purged");
/* Of all that ever ended: nothing ends after that instant. */
pub const PURGE_ARCHIVE_BATCH: Act =
    Act::new("PurgeArchiveBatch", |_, _| args! { OlderThanUtc: far_ahead(), PurgedBy: "ann" }, "Deleted 1").leaves("");
pub const PURGE_ARCHIVE: Act =
    Act::new("PurgeArchive", |_, _| args! { OlderThanUtc: far_ahead(), PurgedBy: "ann" }, "Deleted 1").leaves("");
/// With a second job behind the first, in the order of their keys.
pub const PURGE_TWO: Act =
    Act::new("PurgeDLQ", |id, _| args! { JobIds: [id, &*behind(id)], PurgedBy: "ann" }, "Purged 2")
        .leaves("")
        .history("purged");

fn far_ahead() -> OffsetDateTime {
    OffsetDateTime::UNIX_EPOCH + Duration::weeks(52 * 200)
}

/// The job that `PURGE_TWO` comes to last.
pub fn behind(id: &str) -> String {
    format!("{id} behind")
}
