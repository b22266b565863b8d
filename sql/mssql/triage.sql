/*
Why are these jobs in the DLQ, and who did what? Read only, and safe to paste, whole or query by query: rows that
others hold are passed over (one that is just moving may be missing), and no lock is waited for longer than five
seconds. T1 is a procedure: chokaq_reader is enough. The other queries read tables, for which you need SELECT on the
schema. T1 to T4 read an index of the DLQ, T5 to T9 few rows; T10 and T11, at the end, read Hot and the DLQ from end
to end, so give them a quiet hour when these are big. READPAST wants READ COMMITTED, which is set for the session.
*/
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET LOCK_TIMEOUT 5000;

/* T1: what is in the DLQ, by queue, type and reason, and how much of it failed in the last hour? */
EXECUTE chokaq.usp_SummarizeDLQ;

/* T2: which family of reasons dominates? Zombie: look at the workers (T6). Fatal: at payloads and code (T7). */
SELECT
    r.Family,
    COUNT(*) AS JobCount,
    CONVERT(FLOAT, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1)) AS Percentage,
    SUM(CASE WHEN d.FailedAtUtc > DATEADD(HOUR, -1, SYSUTCDATETIME()) THEN 1 ELSE 0 END) AS FailedLastHour
FROM chokaq.JobsDLQ AS d WITH (INDEX(IX_JobsDLQ_Queue_Type_FailureReason_FailedAtUtc), READPAST, READCOMMITTEDLOCK)
INNER JOIN chokaq.FailureReasons AS r ON r.FailureReason = d.FailureReason
GROUP BY r.Family
ORDER BY JobCount DESC;

/* T3: does one type of job dominate? Then it is its handler, or what the handler calls. */
SELECT TOP (20)
    d.Queue,
    d.Type,
    COUNT(*) AS JobCount,
    CONVERT(FLOAT, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1)) AS Percentage,
    SUM(CASE WHEN d.FailedAtUtc > DATEADD(HOUR, -1, SYSUTCDATETIME()) THEN 1 ELSE 0 END) AS FailedLastHour
FROM chokaq.JobsDLQ AS d WITH (INDEX(IX_JobsDLQ_Queue_Type_FailureReason_FailedAtUtc), READPAST, READCOMMITTEDLOCK)
GROUP BY d.Queue, d.Type
ORDER BY JobCount DESC;

/* T4: how much lies there for more than a day, and how long? */
SELECT
    d.Queue,
    COUNT(*) AS OverADay,
    SUM(CASE WHEN d.FailedAtUtc < DATEADD(DAY, -7, SYSUTCDATETIME()) THEN 1 ELSE 0 END) AS OverAWeek,
    SUM(CASE WHEN d.FailedAtUtc < DATEADD(DAY, -30, SYSUTCDATETIME()) THEN 1 ELSE 0 END) AS OverAMonth,
    MIN(d.FailedAtUtc) AS OldestFailedAtUtc
FROM chokaq.JobsDLQ AS d WITH (READPAST, READCOMMITTEDLOCK)
WHERE d.FailedAtUtc < DATEADD(DAY, -1, SYSUTCDATETIME())
GROUP BY d.Queue
ORDER BY OldestFailedAtUtc;

/* T5: which jobs are the oldest? */
SELECT TOP (20) d.Id, d.Queue, d.Type, r.Name AS FailureReason, d.FailedAtUtc, LEFT(d.ErrorDetails, 100) AS ErrorPreview
FROM chokaq.JobsDLQ AS d WITH (READPAST, READCOMMITTEDLOCK)
INNER JOIN chokaq.FailureReasons AS r ON r.FailureReason = d.FailureReason
ORDER BY d.FailedAtUtc, d.Id;

/* T6: which workers lost the zombies of the last day (the newest 1000 of each reason)? */
SELECT TOP (50)
    z.WorkerId,
    COUNT(*) AS JobCount,
    MIN(z.FailedAtUtc) AS FirstFailedAtUtc,
    MAX(z.FailedAtUtc) AS LastFailedAtUtc
FROM chokaq.FailureReasons AS r
CROSS APPLY (
    SELECT TOP (1000) d.WorkerId, d.FailedAtUtc
    FROM chokaq.JobsDLQ AS d WITH (READPAST, READCOMMITTEDLOCK)
    WHERE d.FailureReason = r.FailureReason AND d.FailedAtUtc > DATEADD(DAY, -1, SYSUTCDATETIME())
    ORDER BY d.FailedAtUtc DESC, d.Id DESC
) AS z
WHERE r.Family = N'Zombie'
GROUP BY z.WorkerId
ORDER BY JobCount DESC;

/* T7: which errors are the fatal ones (the newest 1000 of each reason)? Another family: write its name. */
SELECT TOP (50)
    e.Type,
    r.Name AS FailureReason,
    e.ErrorBegins,
    COUNT(*) AS JobCount,
    MAX(e.FailedAtUtc) AS LastFailedAtUtc,
    MAX(e.Id) AS ForInstance
FROM chokaq.FailureReasons AS r
CROSS APPLY (
    SELECT TOP (1000) d.Id, d.Type, CONVERT(NVARCHAR(100), LEFT(d.ErrorDetails, 100)) AS ErrorBegins, d.FailedAtUtc
    FROM chokaq.JobsDLQ AS d WITH (READPAST, READCOMMITTEDLOCK)
    WHERE d.FailureReason = r.FailureReason
    ORDER BY d.FailedAtUtc DESC, d.Id DESC
) AS e
WHERE r.Family = N'Fatal'
GROUP BY e.Type, r.Name, e.ErrorBegins
ORDER BY JobCount DESC;

/* T8: who did what in the last day? */
SELECT TOP (100)
    o.Action,
    o.Queue,
    o.Actor,
    o.Login,
    COUNT(*) AS ActCount,
    SUM(o.JobCount) AS JobCount,
    MIN(o.AtUtc) AS FirstAtUtc,
    MAX(o.AtUtc) AS LastAtUtc
FROM chokaq.OperatorHistory AS o WITH (READPAST, READCOMMITTEDLOCK)
WHERE o.AtUtc > DATEADD(DAY, -1, SYSUTCDATETIME())
GROUP BY o.Action, o.Queue, o.Actor, o.Login
ORDER BY LastAtUtc DESC;

/* T9: which queues were changed, and from what to what, and what was purged by age, in the last week? */
SELECT TOP (100) o.AtUtc, o.Action, o.Queue, o.Actor, o.Login, o.JobCount, o.OldSettings, o.NewSettings
FROM chokaq.OperatorHistory AS o WITH (READPAST, READCOMMITTEDLOCK)
WHERE o.AtUtc > DATEADD(DAY, -7, SYSUTCDATETIME())
    AND o.Action IN (N'queue_changed', N'archive_purged', N'history_purged')
ORDER BY o.AtUtc DESC, o.HistoryId DESC;

/*
T10: do the counters equal a recount? Jobs that are just moving are missing here or there, so while workers run rows
come and go. A row that stays when it is asked again: somebody wrote past the procedures.
*/
SELECT COALESCE(s.Queue, t.Queue) AS Queue, s.FailedTotal, t.DLQCount, s.HotByCounters, t.HotCount
FROM (
    SELECT v.Queue, v.FailedTotal, v.EnqueuedTotal - v.SucceededTotal - v.FailedTotal - v.PurgedTotal AS HotByCounters
    FROM chokaq.StatsSummary AS v
) AS s
FULL JOIN (
    SELECT p.Queue, SUM(p.HotCount) AS HotCount, SUM(p.DLQCount) AS DLQCount
    FROM (
        SELECT h.Queue, COUNT_BIG(*) AS HotCount, CONVERT(BIGINT, 0) AS DLQCount
        FROM chokaq.JobsHot AS h WITH (READPAST, READCOMMITTEDLOCK)
        GROUP BY h.Queue
        UNION ALL
        SELECT d.Queue, CONVERT(BIGINT, 0), COUNT_BIG(*)
        FROM chokaq.JobsDLQ AS d WITH (READPAST, READCOMMITTEDLOCK)
        GROUP BY d.Queue
    ) AS p
    GROUP BY p.Queue
) AS t ON t.Queue = s.Queue
WHERE COALESCE(s.FailedTotal, 0) <> COALESCE(t.DLQCount, 0) OR COALESCE(s.HotByCounters, 0) <> COALESCE(t.HotCount, 0);

/* T11: which jobs are in two pillars (InvariantBroken)? A row that stays: somebody wrote past the procedures. */
SELECT TOP (100)
    h.Id,
    h.Queue,
    CONVERT(BIT, CASE WHEN a.Id IS NULL THEN 0 ELSE 1 END) AS IsInArchive,
    CONVERT(BIT, CASE WHEN d.Id IS NULL THEN 0 ELSE 1 END) AS IsInDLQ
FROM chokaq.JobsHot AS h WITH (READPAST, READCOMMITTEDLOCK)
LEFT JOIN chokaq.JobsArchive AS a WITH (READPAST, READCOMMITTEDLOCK) ON a.Id = h.Id
LEFT JOIN chokaq.JobsDLQ AS d WITH (READPAST, READCOMMITTEDLOCK) ON d.Id = h.Id
WHERE a.Id IS NOT NULL OR d.Id IS NOT NULL;
