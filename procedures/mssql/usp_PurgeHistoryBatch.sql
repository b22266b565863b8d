/*
chokaq.usp_PurgeHistoryBatch: delete one batch of the operator history and of the metric buckets from before an instant

Twin         postgres/purge_history_batch.sql
Result       one row: DeletedCount (history), DeletedBucketCount, HasMore, LastAtUtc, LastHistoryId: the key to go on
             from, so that no batch walks over the rows that the one before deleted
Errors       59001
Transaction  joining
Locks        MetricBuckets, OperatorHistory (what another purge holds is left to it)
Granted to   chokaq_admin
Example      EXECUTE chokaq.usp_PurgeHistoryBatch @OlderThanUtc = '2026-01-31';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_PurgeHistoryBatch
    @OlderThanUtc DATETIME2(7),
    @CleanupBatchSize INT = 1000, /* 1-4000 */
    @PurgedBy NVARCHAR(4000) = NULL,
    @AfterAtUtc DATETIME2(7) = NULL, /* LastAtUtc and LastHistoryId of the batch before */
    @AfterHistoryId BIGINT = NULL
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* READPAST is error 650 under SNAPSHOT and SERIALIZABLE; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @OlderThanUtc IS NULL
        THROW 59001, N'@OlderThanUtc must be a time.', 1;

    IF @CleanupBatchSize IS NULL OR @CleanupBatchSize NOT BETWEEN 1 AND 4000
        THROW 59001, N'@CleanupBatchSize must be 1 to 4000.', 1;

    IF @PurgedBy IS NOT NULL AND chokaq.fn_IsName(@PurgedBy, 100) = 0
        THROW 59001, N'@PurgedBy must be NULL or 1 to 100 characters without white space at either end.', 1;

    DECLARE
        @Actor NVARCHAR(100) = @PurgedBy,
        @AfterId BIGINT = COALESCE(@AfterHistoryId, 0),
        @AfterTime DATETIME2(7) = COALESCE(@AfterAtUtc, '00010101'),
        @DeletedBucketCount INT,
        @DeletedCount INT,
        @LastAtUtc DATETIME2(7) = @AfterAtUtc,
        @LastHistoryId BIGINT = @AfterHistoryId,
        @Limit DATETIME2(7) = SYSUTCDATETIME(),
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0),
        @SeenCount INT;

    DECLARE @Seen TABLE (
        Place INT IDENTITY(1, 1) NOT NULL PRIMARY KEY,
        HistoryId BIGINT NOT NULL,
        AtUtc DATETIME2(7) NOT NULL
    );

    /* The rows that a purge writes about itself are never its own to delete. */
    IF @OlderThanUtc < @Limit
        SET @Limit = @OlderThanUtc;

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        /* The buckets' key begins with the time: a range at the start of the table. */
        DELETE TOP (@CleanupBatchSize) FROM chokaq.MetricBuckets WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE BucketUtc < @Limit;

        SET @DeletedBucketCount = @@ROWCOUNT;

        /* One row more than the batch says whether there is more. AtUtc >= @AfterTime is the seek, the rest the key. */
        INSERT INTO @Seen (HistoryId, AtUtc)
        SELECT TOP (@CleanupBatchSize + 1) o.HistoryId, o.AtUtc
        FROM chokaq.OperatorHistory AS o WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE o.AtUtc < @Limit AND o.AtUtc >= @AfterTime AND (o.AtUtc > @AfterTime OR o.HistoryId > @AfterId)
        ORDER BY o.AtUtc, o.HistoryId;

        SET @SeenCount = @@ROWCOUNT;

        SELECT TOP (1) @LastAtUtc = s.AtUtc, @LastHistoryId = s.HistoryId
        FROM @Seen AS s
        WHERE s.Place <= @CleanupBatchSize
        ORDER BY s.Place DESC;

        DELETE chokaq.OperatorHistory
        FROM chokaq.OperatorHistory WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, FORCESEEK)
        WHERE OperatorHistory.HistoryId IN (SELECT s.HistoryId FROM @Seen AS s WHERE s.Place <= @CleanupBatchSize);

        SET @DeletedCount = @@ROWCOUNT;

        IF @DeletedCount > 0
            INSERT INTO chokaq.OperatorHistory (Action, Actor, JobCount)
            VALUES (N'history_purged', @Actor, @DeletedCount);

        IF @OwnsTransaction = 1
            COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* A joined transaction is the caller's to end; it is already doomed, so only report. */
        IF @OwnsTransaction = 1 AND XACT_STATE() <> 0
            ROLLBACK TRANSACTION;

        THROW;
    END CATCH;

    SELECT
        @DeletedCount AS DeletedCount,
        @DeletedBucketCount AS DeletedBucketCount,
        CONVERT(
            BIT,
            CASE WHEN @SeenCount > @CleanupBatchSize OR @DeletedBucketCount = @CleanupBatchSize THEN 1 ELSE 0 END
        ) AS HasMore,
        @LastAtUtc AS LastAtUtc,
        @LastHistoryId AS LastHistoryId;
END;
