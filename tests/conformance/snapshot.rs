//! Everything the tables hold, to compare before and after.

use chokaq_tests::{Result, Session};

const QUERIES: &[&str] = &[
    "SELECT Id, Queue, Type, Payload, Tags, IdempotencyKey, Priority, Status, DueAtUtc, Arrival, ScheduledAtUtc,
        AttemptCount, WorkerId, FetchedAtUtc, StartedAtUtc, HeartbeatUtc, ErrorDetails, CreatedAtUtc, CreatedBy,
        LastUpdatedUtc, LastModifiedBy, ResurrectCount, Revision
    FROM chokaq.JobsHot ORDER BY Id",
    "SELECT Id, Queue, Type, Payload, Tags, FinishedAtUtc, DurationMs, Revision FROM chokaq.JobsArchive ORDER BY Id",
    "SELECT Id, Queue, Type, Payload, Tags, FailureReason, ErrorDetails, FailedAtUtc, LastUpdatedUtc, Revision
    FROM chokaq.JobsDLQ ORDER BY Id",
    "SELECT Queue, IsPaused, IsActive, MaxWorkers, ZombieTimeoutSeconds, MaxAttempts, BaseDelaySeconds,
        BackoffMultiplier, MaxDelaySeconds, JitterSeconds, MaxJobAgeSeconds, LastUpdatedUtc, LastModifiedBy
    FROM chokaq.Queues ORDER BY Queue",
    "SELECT Queue, EnqueuedTotal, SucceededTotal, FailedTotal, RetriedTotal, DeadLetteredTotal, ResurrectedTotal,
        PurgedTotal, LastActivityUtc
    FROM chokaq.StatsSummary ORDER BY Queue",
    "SELECT HistoryId, Action, JobId, Queue, Actor FROM chokaq.OperatorHistory ORDER BY HistoryId",
    "SELECT COUNT(*) AS N FROM chokaq.CounterDeltas",
    "SELECT BucketUtc, Queue, Enqueued, Succeeded, Retried, DeadLettered
    FROM chokaq.MetricBuckets ORDER BY BucketUtc, Queue",
];

/// One text per table.
pub async fn take(session: &mut Session) -> Result<Vec<String>> {
    let mut tables = Vec::new();
    for query in QUERIES {
        tables.push(format!("{:?}", session.sql(query, &[]).await?.rows));
    }
    Ok(tables)
}
