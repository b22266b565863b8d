/*
How are the queues? Read only, and safe to paste, whole or query by query: the reads are bounded and go through
indexes, jobs that others hold are passed over (one that is just moving may be missing), and no lock is waited for
longer than five seconds. Where a procedure answers, it is called: chokaq_reader is enough for that. The other queries
read tables, for which you need SELECT on the schema. READPAST wants READ COMMITTED, which is set for the session.
*/
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET LOCK_TIMEOUT 5000;

/* H1: what waits in each queue, how late is it, how fast do jobs end, how much has failed? */
EXECUTE chokaq.usp_GetHealth;

/* H2: which queues have work that is due and take none of it: paused, closed, or full? Who set that, and when? */
SELECT
    q.Queue,
    CASE
        WHEN q.IsPaused = 1 THEN 'paused'
        WHEN q.IsActive = 0 THEN 'closed'
        ELSE 'full'
    END AS Why,
    due.DueAtUtc AS NextDueAtUtc,
    COALESCE(held.HeldCount, 0) AS HeldCount,
    q.MaxWorkers,
    q.LastModifiedBy,
    q.LastUpdatedUtc
FROM chokaq.Queues AS q
CROSS APPLY (
    SELECT MIN(w.DueAtUtc) AS DueAtUtc
    FROM (
        SELECT r.DueAtUtc
        FROM (
            SELECT TOP (1) h.DueAtUtc
            FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_Priority_DueAtUtc_Arrival), FORCESEEK, READPAST, READCOMMITTEDLOCK)
            WHERE h.Queue = q.Queue AND h.WorkerId IS NULL AND h.IsDue = 1
            ORDER BY h.Priority DESC, h.DueAtUtc, h.Arrival
        ) AS r
        UNION ALL
        SELECT r.DueAtUtc
        FROM (
            SELECT TOP (1) h.DueAtUtc
            FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_DueAtUtc), FORCESEEK, READPAST, READCOMMITTEDLOCK)
            WHERE h.Queue = q.Queue AND h.WorkerId IS NULL AND h.IsDue = 0 AND h.DueAtUtc <= SYSUTCDATETIME()
            ORDER BY h.DueAtUtc
        ) AS r
    ) AS w
) AS due
LEFT JOIN (
    SELECT h.Queue, COUNT(*) AS HeldCount
    FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_Id), READPAST, READCOMMITTEDLOCK)
    WHERE h.WorkerId IS NOT NULL
    GROUP BY h.Queue
) AS held ON held.Queue = q.Queue
WHERE due.DueAtUtc IS NOT NULL AND (q.IsPaused = 1 OR q.IsActive = 0 OR COALESCE(held.HeldCount, 0) >= q.MaxWorkers)
ORDER BY due.DueAtUtc;

/* H3: which job of each queue has been due the longest (of the first 10,000 in claim order)? The 20 longest waits. */
SELECT TOP (20)
    q.Queue,
    o.Id,
    o.Priority,
    o.DueAtUtc,
    DATEDIFF_BIG(SECOND, o.DueAtUtc, SYSUTCDATETIME()) AS HasWaitedSeconds
FROM chokaq.Queues AS q
CROSS APPLY (
    SELECT TOP (1) w.Id, w.Priority, w.DueAtUtc
    FROM (
        SELECT r.Id, r.Priority, r.DueAtUtc
        FROM (
            SELECT TOP (10000) h.Id, h.Priority, h.DueAtUtc
            FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_Priority_DueAtUtc_Arrival), FORCESEEK, READPAST, READCOMMITTEDLOCK)
            WHERE h.Queue = q.Queue AND h.WorkerId IS NULL AND h.IsDue = 1
            ORDER BY h.Priority DESC, h.DueAtUtc, h.Arrival
        ) AS r
        UNION ALL
        SELECT r.Id, r.Priority, r.DueAtUtc
        FROM (
            SELECT TOP (1) h.Id, h.Priority, h.DueAtUtc
            FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_DueAtUtc), FORCESEEK, READPAST, READCOMMITTEDLOCK)
            WHERE h.Queue = q.Queue AND h.WorkerId IS NULL AND h.IsDue = 0 AND h.DueAtUtc <= SYSUTCDATETIME()
            ORDER BY h.DueAtUtc
        ) AS r
    ) AS w
    ORDER BY w.DueAtUtc
) AS o
ORDER BY o.DueAtUtc;

/* H4: which workers hold jobs, and when did each last say that it lives? */
SELECT TOP (50)
    h.WorkerId,
    SUM(CASE WHEN h.Status = 1 THEN 1 ELSE 0 END) AS FetchedCount,
    SUM(CASE WHEN h.Status = 2 THEN 1 ELSE 0 END) AS ProcessingCount,
    MAX(h.HeartbeatUtc) AS LastHeartbeatUtc,
    DATEDIFF_BIG(SECOND, MAX(h.HeartbeatUtc), SYSUTCDATETIME()) AS SilentForSeconds
FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_Id), READPAST, READCOMMITTEDLOCK)
WHERE h.WorkerId IS NOT NULL
GROUP BY h.WorkerId
ORDER BY LastHeartbeatUtc;

/* H5: which jobs are stuck: held, and silent for longer than the sweeps allow? Rows that stay: no sweep runs. */
SELECT TOP (50)
    h.Id,
    h.Queue,
    h.WorkerId,
    CASE h.Status WHEN 1 THEN 'Fetched' ELSE 'Processing' END AS Status,
    h.StartedAtUtc,
    h.HeartbeatUtc,
    DATEDIFF_BIG(SECOND, h.HeartbeatUtc, SYSUTCDATETIME()) AS SilentForSeconds
FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_Id), READPAST, READCOMMITTEDLOCK)
INNER JOIN chokaq.Queues AS q ON q.Queue = h.Queue
WHERE h.WorkerId IS NOT NULL
    AND h.HeartbeatUtc < DATEADD(
        SECOND,
        -CASE h.Status WHEN 1 THEN 300 ELSE COALESCE(q.ZombieTimeoutSeconds, 600) END,
        SYSUTCDATETIME()
    )
ORDER BY h.HeartbeatUtc;

/* H6: which jobs that live run the longest? */
SELECT TOP (20) h.Id, h.Queue, h.Type, h.WorkerId, h.AttemptCount, h.StartedAtUtc, h.HeartbeatUtc
FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_Id), READPAST, READCOMMITTEDLOCK)
WHERE h.WorkerId IS NOT NULL AND h.Status = 2
ORDER BY h.StartedAtUtc;

/* H7: is the rate into the DLQ rising, and since when? In steps of ten minutes, of the last three hours. */
SELECT TOP (200)
    s.FromUtc,
    s.Queue,
    SUM(s.Succeeded) AS Succeeded,
    SUM(s.Retried) AS Retried,
    SUM(s.DeadLettered) AS DeadLettered
FROM (
    SELECT
        DATEADD(MINUTE, DATEDIFF(MINUTE, '20000101', r.AtUtc) / 10 * 10, CONVERT(DATETIME2(0), '20000101')) AS FromUtc,
        r.Queue,
        r.Succeeded,
        r.Retried,
        r.DeadLettered
    FROM (
        SELECT m.BucketUtc AS AtUtc, m.Queue, m.Succeeded, m.Retried, m.DeadLettered
        FROM chokaq.MetricBuckets AS m WITH (READPAST, READCOMMITTEDLOCK)
        WHERE m.BucketUtc >= DATEADD(HOUR, -3, SYSUTCDATETIME())
        UNION ALL
        SELECT
            d.AtUtc,
            d.Queue,
            CONVERT(BIGINT, d.Succeeded),
            CONVERT(BIGINT, d.Retried),
            CONVERT(BIGINT, d.DeadLettered)
        FROM chokaq.CounterDeltas AS d WITH (READPAST, READCOMMITTEDLOCK)
        WHERE d.AtUtc >= DATEADD(HOUR, -3, SYSUTCDATETIME())
    ) AS r
) AS s
GROUP BY s.FromUtc, s.Queue
HAVING SUM(s.Succeeded + s.Retried + s.DeadLettered) > 0
ORDER BY s.FromUtc DESC, s.Queue;

/* H8: does the fold keep up? Beyond some ten thousand rows, call chokaq.usp_FoldCounters. */
SELECT COUNT(*) AS UnfoldedCount, MIN(d.AtUtc) AS OldestAtUtc
FROM chokaq.CounterDeltas AS d WITH (READPAST, READCOMMITTEDLOCK);
