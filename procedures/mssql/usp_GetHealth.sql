/*
chokaq.usp_GetHealth: per queue what waits, how late it is, how fast jobs end, and what lies in the DLQ

Twin         postgres/get_health.sql
Result       a row per queue; PendingCount is due now, ScheduledCount later: exact unless there are 10,000 of both, then
             ScheduledCount stops there and PendingCount is the rest; AverageLagSeconds is over 10,000 jobs at most
Errors       59001
Transaction  reading; its cost does not grow with the backlog, the Archive or the DLQ; jobs that change hands may be missing
Granted to   chokaq_reader
Example      EXECUTE chokaq.usp_GetHealth;
*/
CREATE OR ALTER PROCEDURE chokaq.usp_GetHealth @Queue NVARCHAR(4000) = NULL
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* READPAST is error 650 under SNAPSHOT and SERIALIZABLE; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @Queue IS NOT NULL AND chokaq.fn_IsName(@Queue, 255) = 0
        THROW 59001, N'@Queue must be NULL or 1 to 255 characters without white space at either end.', 1;

    DECLARE
        @Epoch DATETIME2(7) = '20000101',
        @Five DATETIME2(7),
        @HeadCount INT,
        @Now DATETIME2(7) = SYSUTCDATETIME(),
        @One DATETIME2(7),
        @QueueName NVARCHAR(255) = @Queue,
        @Step INT = 1;

    DECLARE @Queues TABLE (
        Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        IsPaused BIT NOT NULL,
        IsActive BIT NOT NULL,
        WaitingCount BIGINT NOT NULL,
        FetchedCount BIGINT NOT NULL,
        ProcessingCount BIGINT NOT NULL,
        FailedTotal BIGINT NOT NULL
    );
    DECLARE @Heads TABLE (
        Step INT NOT NULL,
        Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
        Priority INT NOT NULL,
        DueAtUtc DATETIME2(7) NOT NULL,
        PRIMARY KEY (Step, Queue)
    );
    DECLARE @Rates TABLE (
        Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        SucceededOne BIGINT NOT NULL,
        SucceededFive BIGINT NOT NULL,
        DeadLetteredOne BIGINT NOT NULL,
        DeadLetteredFive BIGINT NOT NULL
    );

    /* Windows begin with a bucket, so they are up to ten seconds longer than their name; rates divide by what they are. */
    SET @One = DATEADD(SECOND, (DATEDIFF(SECOND, @Epoch, @Now) - 60) / 10 * 10, @Epoch);
    SET @Five = DATEADD(SECOND, (DATEDIFF(SECOND, @Epoch, @Now) - 300) / 10 * 10, @Epoch);

    INSERT INTO @Queues (Queue, IsPaused, IsActive, WaitingCount, FetchedCount, ProcessingCount, FailedTotal)
    SELECT
        q.Queue,
        q.IsPaused,
        q.IsActive,
        COALESCE(
            s.EnqueuedTotal -
            s.SucceededTotal -
            s.FailedTotal -
            s.PurgedTotal -
            COALESCE(w.FetchedCount, 0) -
            COALESCE(w.ProcessingCount, 0),
            0
        ),
        COALESCE(w.FetchedCount, 0),
        COALESCE(w.ProcessingCount, 0),
        COALESCE(s.FailedTotal, 0)
    FROM chokaq.Queues AS q
    LEFT JOIN chokaq.StatsSummary AS s ON s.Queue = q.Queue
    LEFT JOIN (
        SELECT
            h.Queue,
            SUM(CASE WHEN h.Status = 1 THEN 1 ELSE 0 END) AS FetchedCount,
            SUM(CASE WHEN h.Status = 2 THEN 1 ELSE 0 END) AS ProcessingCount
        FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_Id), ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE h.WorkerId IS NOT NULL AND (@QueueName IS NULL OR h.Queue = @QueueName)
        GROUP BY h.Queue
    ) AS w ON w.Queue = q.Queue
    WHERE @QueueName IS NULL OR q.Queue = @QueueName;

    /* The longest wait may be that of a low priority: the first job of each, of up to 1,000 priorities. */
    INSERT INTO @Heads (Step, Queue, Priority, DueAtUtc)
    SELECT @Step, q.Queue, n.Priority, n.DueAtUtc
    FROM @Queues AS q
    CROSS APPLY (
        SELECT TOP (1) h.Priority, h.DueAtUtc
        FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_Priority_DueAtUtc_Arrival), FORCESEEK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE h.Queue = q.Queue AND h.WorkerId IS NULL AND h.IsDue = 1 AND h.DueAtUtc <= @Now
        ORDER BY h.Priority DESC, h.DueAtUtc, h.Arrival
    ) AS n;

    SET @HeadCount = @@ROWCOUNT;

    WHILE @HeadCount > 0 AND @Step < 1000
    BEGIN
        INSERT INTO @Heads (Step, Queue, Priority, DueAtUtc)
        SELECT @Step + 1, p.Queue, n.Priority, n.DueAtUtc
        FROM @Heads AS p
        CROSS APPLY (
            SELECT TOP (1) h.Priority, h.DueAtUtc
            FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_Priority_DueAtUtc_Arrival), FORCESEEK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE h.Queue = p.Queue
                AND h.WorkerId IS NULL
                AND h.IsDue = 1
                AND h.DueAtUtc <= @Now
                AND h.Priority < p.Priority
            ORDER BY h.Priority DESC, h.DueAtUtc, h.Arrival
        ) AS n
        WHERE p.Step = @Step;

        SET @HeadCount = @@ROWCOUNT;
        SET @Step = @Step + 1;
    END;

    /* The hints keep a fold from being seen half done, as in StatsSummary. */
    INSERT INTO @Rates (Queue, SucceededOne, SucceededFive, DeadLetteredOne, DeadLetteredFive)
    SELECT
        c.Queue,
        SUM(CASE WHEN c.AtUtc >= @One THEN c.Succeeded ELSE 0 END),
        SUM(c.Succeeded),
        SUM(CASE WHEN c.AtUtc >= @One THEN c.DeadLettered ELSE 0 END),
        SUM(c.DeadLettered)
    FROM (
        SELECT m.Queue, m.BucketUtc AS AtUtc, m.Succeeded, m.DeadLettered
        FROM chokaq.MetricBuckets AS m WITH (REPEATABLEREAD, ROWLOCK)
        WHERE m.BucketUtc >= @Five
        UNION ALL
        SELECT d.Queue, d.AtUtc, CONVERT(BIGINT, d.Succeeded), CONVERT(BIGINT, d.DeadLettered)
        FROM chokaq.CounterDeltas AS d WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE d.AtUtc >= @Five
    ) AS c
    GROUP BY c.Queue;

    SELECT
        q.Queue,
        q.IsPaused,
        q.IsActive,
        CASE
            WHEN later.JobCount >= 10000 AND due.JobCount + ripe.JobCount < 10000 THEN CONVERT(
                BIGINT,
                due.JobCount + ripe.JobCount
            )
            WHEN q.WaitingCount > later.JobCount THEN q.WaitingCount - later.JobCount
            ELSE 0
        END AS PendingCount,
        CASE
            WHEN later.JobCount < 10000 OR due.JobCount + ripe.JobCount >= 10000 THEN CONVERT(BIGINT, later.JobCount)
            WHEN q.WaitingCount > due.JobCount + ripe.JobCount THEN q.WaitingCount - due.JobCount - ripe.JobCount
            ELSE 0
        END AS ScheduledCount,
        q.FetchedCount,
        q.ProcessingCount,
        COALESCE(
            (COALESCE(due.LagMs, 0) + COALESCE(ripe.LagMs, 0)) / NULLIF(due.JobCount + ripe.JobCount, 0) / 1000,
            0
        ) AS AverageLagSeconds,
        CASE
            WHEN ripe.DueAtUtc IS NULL AND heads.DueAtUtc IS NULL THEN CONVERT(FLOAT, 0)
            WHEN heads.DueAtUtc IS NULL OR ripe.DueAtUtc < heads.DueAtUtc THEN CONVERT(
                FLOAT,
                DATEDIFF_BIG(MILLISECOND, ripe.DueAtUtc, @Now)
            ) /
            1000
            ELSE CONVERT(FLOAT, DATEDIFF_BIG(MILLISECOND, heads.DueAtUtc, @Now)) / 1000
        END AS MaxLagSeconds,
        COALESCE(r.SucceededOne, 0) * CONVERT(FLOAT, 1000) /
        DATEDIFF_BIG(MILLISECOND, @One, @Now) AS CompletedPerSecondOneMinute,
        COALESCE(r.SucceededFive, 0) * CONVERT(FLOAT, 1000) /
        DATEDIFF_BIG(MILLISECOND, @Five, @Now) AS CompletedPerSecondFiveMinutes,
        COALESCE(r.DeadLetteredOne, 0) * CONVERT(FLOAT, 1000) /
        DATEDIFF_BIG(MILLISECOND, @One, @Now) AS FailedPerSecondOneMinute,
        COALESCE(r.DeadLetteredFive, 0) * CONVERT(FLOAT, 1000) /
        DATEDIFF_BIG(MILLISECOND, @Five, @Now) AS FailedPerSecondFiveMinutes,
        q.FailedTotal AS DLQCount,
        dead.FailedAtUtc AS OldestFailedAtUtc
    FROM @Queues AS q
    CROSS APPLY (
        SELECT COUNT(*) AS JobCount, SUM(CONVERT(FLOAT, DATEDIFF_BIG(MILLISECOND, w.DueAtUtc, @Now))) AS LagMs
        FROM (
            SELECT TOP (10000) h.DueAtUtc
            FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_Priority_DueAtUtc_Arrival), FORCESEEK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE h.Queue = q.Queue AND h.WorkerId IS NULL AND h.IsDue = 1 AND h.DueAtUtc <= @Now
            ORDER BY h.Priority DESC, h.DueAtUtc, h.Arrival
        ) AS w
    ) AS due
    /* Due by now, and no fetch has come by yet to say so. */
    CROSS APPLY (
        SELECT
            COUNT(*) AS JobCount,
            SUM(CONVERT(FLOAT, DATEDIFF_BIG(MILLISECOND, w.DueAtUtc, @Now))) AS LagMs,
            MIN(w.DueAtUtc) AS DueAtUtc
        FROM (
            SELECT TOP (10000) h.DueAtUtc
            FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_DueAtUtc), FORCESEEK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE h.Queue = q.Queue AND h.WorkerId IS NULL AND h.IsDue = 0 AND h.DueAtUtc <= @Now
            ORDER BY h.DueAtUtc
        ) AS w
    ) AS ripe
    CROSS APPLY (
        SELECT COUNT(*) AS JobCount
        FROM (
            SELECT TOP (10000) h.DueAtUtc
            FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_DueAtUtc), FORCESEEK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE h.Queue = q.Queue AND h.WorkerId IS NULL AND h.IsDue = 0 AND h.DueAtUtc > @Now
            ORDER BY h.DueAtUtc
        ) AS w
    ) AS later
    OUTER APPLY (
        SELECT TOP (1) d.FailedAtUtc
        FROM chokaq.JobsDLQ AS d WITH (INDEX (IX_JobsDLQ_Queue_FailedAtUtc_Id), ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE d.Queue = q.Queue
        ORDER BY d.FailedAtUtc, d.Id
    ) AS dead
    LEFT JOIN (
        SELECT h.Queue, MIN(h.DueAtUtc) AS DueAtUtc FROM @Heads AS h GROUP BY h.Queue
    ) AS heads ON heads.Queue = q.Queue
    LEFT JOIN @Rates AS r ON r.Queue = q.Queue
    ORDER BY q.Queue;
END;
