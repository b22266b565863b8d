/*
chokaq.usp_FoldDeltas: move committed counter deltas into the totals and the metric buckets

Twin         postgres/fold_counters.sql
Result       no rows; @FoldedCount
Transaction  joining; one folder at a time, a second one does nothing
Locks        QueueTotals, CounterDeltas, MetricBuckets
*/
CREATE OR ALTER PROCEDURE chokaq.usp_FoldDeltas @BatchSize INT, @FoldedCount INT OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    SET ROWCOUNT 0;
    /* READPAST is error 650 under SNAPSHOT and SERIALIZABLE; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE
        @Epoch DATETIME2(7) = '20000101',
        @LockResult INT,
        @Oldest DATETIME2(7) = DATEADD(DAY, -1, SYSUTCDATETIME()),
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0);

    DECLARE @Locked TABLE (
        Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY
    );
    DECLARE @Gone TABLE (
        Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
        AtUtc DATETIME2(7) NOT NULL,
        Enqueued INT NOT NULL,
        Succeeded INT NOT NULL,
        Retried INT NOT NULL,
        DeadLettered INT NOT NULL,
        Resurrected INT NOT NULL,
        Purged INT NOT NULL
    );

    DECLARE @Buckets TABLE (
        BucketUtc DATETIME2(7) NOT NULL,
        Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
        Enqueued BIGINT NOT NULL,
        Succeeded BIGINT NOT NULL,
        Retried BIGINT NOT NULL,
        DeadLettered BIGINT NOT NULL,
        PRIMARY KEY (BucketUtc, Queue)
    );

    SET @FoldedCount = 0;

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        /* Under SET IMPLICIT_TRANSACTIONS ON only a read of a table begins the transaction that the lock belongs to. */
        IF @@TRANCOUNT = 0
            SELECT @LockResult = r.FailureReason FROM chokaq.FailureReasons AS r WHERE r.FailureReason = 0;

        EXECUTE @LockResult = sp_getapplock
            @Resource = N'chokaq.usp_FoldDeltas',
            @LockMode = N'Exclusive',
            @LockOwner = N'Transaction',
            @LockTimeout = 0;

        IF @LockResult >= 0
        BEGIN
            /* A queue without totals gets them, or its deltas would have nowhere to go. */
            INSERT INTO chokaq.QueueTotals (Queue)
            SELECT DISTINCT d.Queue
            FROM chokaq.CounterDeltas AS d WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE NOT EXISTS (SELECT 1 FROM chokaq.QueueTotals AS t WITH (FORCESEEK) WHERE t.Queue = d.Queue);

            /*
            The totals first, and only those that are free: XLOCK asks for the final lock at once, so READPAST passes over
            rows that a reader of StatsSummary or the creator of a queue holds. Their deltas wait for the next fold.
            */
            INSERT INTO @Locked (Queue)
            SELECT t.Queue FROM chokaq.QueueTotals AS t WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK);

            UPDATE chokaq.QueueTotals
            SET LastFoldUtc = SYSUTCDATETIME()
            FROM chokaq.QueueTotals WITH (ROWLOCK, FORCESEEK)
            WHERE QueueTotals.Queue IN (SELECT l.Queue FROM @Locked AS l);

            DELETE FROM chokaq.CounterDeltas WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
            OUTPUT
                deleted.Queue,
                deleted.AtUtc,
                deleted.Enqueued,
                deleted.Succeeded,
                deleted.Retried,
                deleted.DeadLettered,
                deleted.Resurrected,
                deleted.Purged
            INTO @Gone (Queue, AtUtc, Enqueued, Succeeded, Retried, DeadLettered, Resurrected, Purged)
            WHERE DeltaId IN (
                    SELECT TOP (@BatchSize) d.DeltaId
                    FROM chokaq.CounterDeltas AS d WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                    WHERE d.Queue IN (SELECT l.Queue FROM @Locked AS l)
                    ORDER BY d.DeltaId
                );

            SET @FoldedCount = @@ROWCOUNT;

            UPDATE t
            SET
                Enqueued = t.Enqueued + s.Enqueued,
                Succeeded = t.Succeeded + s.Succeeded,
                Retried = t.Retried + s.Retried,
                DeadLettered = t.DeadLettered + s.DeadLettered,
                Resurrected = t.Resurrected + s.Resurrected,
                Purged = t.Purged + s.Purged,
                LastActivityUtc = CASE
                    WHEN t.LastActivityUtc > s.LastActivityUtc THEN t.LastActivityUtc
                    ELSE s.LastActivityUtc
                END
            FROM chokaq.QueueTotals AS t WITH (ROWLOCK, FORCESEEK)
            INNER JOIN (
                SELECT
                    g.Queue,
                    SUM(CONVERT(BIGINT, g.Enqueued)) AS Enqueued,
                    SUM(CONVERT(BIGINT, g.Succeeded)) AS Succeeded,
                    SUM(CONVERT(BIGINT, g.Retried)) AS Retried,
                    SUM(CONVERT(BIGINT, g.DeadLettered)) AS DeadLettered,
                    SUM(CONVERT(BIGINT, g.Resurrected)) AS Resurrected,
                    SUM(CONVERT(BIGINT, g.Purged)) AS Purged,
                    MAX(g.AtUtc) AS LastActivityUtc
                FROM @Gone AS g
                GROUP BY g.Queue
            ) AS s ON s.Queue = t.Queue
            /* A scan would wait for the totals that were passed over above. */
            OPTION (LOOP JOIN, MAXDOP 1);

            INSERT INTO @Buckets (BucketUtc, Queue, Enqueued, Succeeded, Retried, DeadLettered)
            SELECT
                b.BucketUtc,
                b.Queue,
                SUM(CONVERT(BIGINT, b.Enqueued)),
                SUM(CONVERT(BIGINT, b.Succeeded)),
                SUM(CONVERT(BIGINT, b.Retried)),
                SUM(CONVERT(BIGINT, b.DeadLettered))
            FROM (
                SELECT
                    DATEADD(SECOND, DATEDIFF(SECOND, @Epoch, g.AtUtc) / 10 * 10, @Epoch) AS BucketUtc,
                    g.Queue,
                    g.Enqueued,
                    g.Succeeded,
                    g.Retried,
                    g.DeadLettered
                FROM @Gone AS g
                WHERE g.AtUtc >= @Oldest
            ) AS b
            GROUP BY b.BucketUtc, b.Queue
            HAVING SUM(CONVERT(BIGINT, b.Enqueued) + b.Succeeded + b.Retried + b.DeadLettered) > 0;

            UPDATE m
            SET
                Enqueued = m.Enqueued + b.Enqueued,
                Succeeded = m.Succeeded + b.Succeeded,
                Retried = m.Retried + b.Retried,
                DeadLettered = m.DeadLettered + b.DeadLettered
            FROM @Buckets AS b
            INNER JOIN chokaq.MetricBuckets AS m WITH (ROWLOCK, FORCESEEK)
                ON m.BucketUtc = b.BucketUtc AND m.Queue = b.Queue
            OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

            INSERT INTO chokaq.MetricBuckets (BucketUtc, Queue, Enqueued, Succeeded, Retried, DeadLettered)
            SELECT b.BucketUtc, b.Queue, b.Enqueued, b.Succeeded, b.Retried, b.DeadLettered
            FROM @Buckets AS b
            WHERE NOT EXISTS (
                    SELECT 1
                    FROM chokaq.MetricBuckets AS m WITH (FORCESEEK)
                    WHERE m.BucketUtc = b.BucketUtc AND m.Queue = b.Queue
                );

            /* So that the buckets stay a day's, whoever forgets to purge them. */
            DELETE TOP (@BatchSize) FROM chokaq.MetricBuckets WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE BucketUtc < @Oldest;
        END;

        IF @OwnsTransaction = 1
            COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @OwnsTransaction = 1 AND XACT_STATE() <> 0
            ROLLBACK TRANSACTION;

        THROW;
    END CATCH;
END;
