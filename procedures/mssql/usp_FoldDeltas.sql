/*
chokaq.usp_FoldDeltas: move committed counter deltas into the totals

Twin         postgres/fold_counters.sql
Result       no rows; @FoldedCount
Transaction  joining; one folder at a time, a second one does nothing
Locks        QueueTotals, CounterDeltas
*/
CREATE OR ALTER PROCEDURE chokaq.usp_FoldDeltas @BatchSize INT, @FoldedCount INT OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET ROWCOUNT 0;

    DECLARE @LockResult INT, @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0, 1, 0);

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

    SET @FoldedCount = 0;

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        EXECUTE @LockResult = sp_getapplock
            @Resource = N'chokaq.usp_FoldDeltas',
            @LockMode = N'Exclusive',
            @LockOwner = N'Transaction',
            @LockTimeout = 0;

        IF @LockResult >= 0
        BEGIN
            /* All totals first, in key order and exclusively: a reader of StatsSummary is either before this or after all of it. */
            UPDATE chokaq.QueueTotals
            SET LastFoldUtc = SYSUTCDATETIME();

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
                    FROM chokaq.CounterDeltas AS d WITH (READPAST, READCOMMITTEDLOCK)
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
            FROM chokaq.QueueTotals AS t
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
            ) AS s ON s.Queue = t.Queue;
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
