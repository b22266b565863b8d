/*
The totals per queue. PurgedTotal counts jobs purged from the DLQ; a purge of the Archive leaves every total as it was.
The hints keep a fold from being seen half done, in whatever order the two tables are read: what was read stays
share-locked, and a fold passes over queues and deltas that it cannot lock. Deltas that are not committed are passed
over here. READPAST needs READ COMMITTED or REPEATABLE READ.
*/
CREATE OR ALTER VIEW chokaq.StatsSummary
AS
SELECT
    s.Queue,
    SUM(s.Succeeded) AS SucceededTotal,
    SUM(s.DeadLettered) - SUM(s.Resurrected) - SUM(s.Purged) AS FailedTotal,
    SUM(s.Retried) AS RetriedTotal,
    MAX(s.LastActivityUtc) AS LastActivityUtc,
    SUM(s.Enqueued) AS EnqueuedTotal,
    SUM(s.DeadLettered) AS DeadLetteredTotal,
    SUM(s.Resurrected) AS ResurrectedTotal,
    SUM(s.Purged) AS PurgedTotal
FROM (
    SELECT t.Queue, t.Enqueued, t.Succeeded, t.Retried, t.DeadLettered, t.Resurrected, t.Purged, t.LastActivityUtc
    FROM chokaq.QueueTotals AS t WITH (REPEATABLEREAD)
    UNION ALL
    SELECT
        d.Queue,
        CONVERT(BIGINT, d.Enqueued),
        d.Succeeded,
        d.Retried,
        d.DeadLettered,
        d.Resurrected,
        d.Purged,
        d.AtUtc
    FROM chokaq.CounterDeltas AS d WITH (ROWLOCK, READPAST, REPEATABLEREAD)
) AS s
GROUP BY s.Queue;
