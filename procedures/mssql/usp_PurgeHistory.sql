/*
chokaq.usp_PurgeHistory: delete the operator history and the metric buckets from before an instant, batch by batch

Twin         postgres/purge_history.sql
Result       one row: DeletedCount (history), DeletedBucketCount, BatchCount
Errors       59001, 59010
Transaction  looping: each batch of usp_PurgeHistoryBatch is a transaction of its own
Locks        MetricBuckets, OperatorHistory
Granted to   chokaq_admin
Example      EXECUTE chokaq.usp_PurgeHistory @OlderThanUtc = '2026-01-31';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_PurgeHistory
    @OlderThanUtc DATETIME2(7),
    @CleanupBatchSize INT = 1000, /* 1-4000 */
    @PurgedBy NVARCHAR(4000) = NULL
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    SET IMPLICIT_TRANSACTIONS OFF;

    IF @@TRANCOUNT > 0
        THROW 59010, N'chokaq.usp_PurgeHistory commits batch by batch and cannot run inside a transaction.', 1;

    DECLARE
        @AfterAtUtc DATETIME2(7),
        @AfterHistoryId BIGINT,
        @BatchCount INT = 0,
        @DeletedBucketCount BIGINT = 0,
        @DeletedCount BIGINT = 0,
        @HasMore BIT = 1,
        @Limit DATETIME2(7) = @OlderThanUtc,
        @Now DATETIME2(7) = SYSUTCDATETIME();

    DECLARE @Batch TABLE (
        DeletedCount INT NOT NULL,
        DeletedBucketCount INT NOT NULL,
        HasMore BIT NOT NULL,
        LastAtUtc DATETIME2(7) NULL,
        LastHistoryId BIGINT NULL
    );

    /* Fixed here: the rows that each batch writes about itself come after it. */
    IF @Limit > @Now
        SET @Limit = @Now;

    WHILE @HasMore = 1
    BEGIN
        DELETE FROM @Batch;

        /* The statement is the batch's transaction: the partner joins it, and it commits when the statement ends. */
        INSERT INTO @Batch (DeletedCount, DeletedBucketCount, HasMore, LastAtUtc, LastHistoryId)
        EXECUTE chokaq.usp_PurgeHistoryBatch
            @OlderThanUtc = @Limit,
            @CleanupBatchSize = @CleanupBatchSize,
            @PurgedBy = @PurgedBy,
            @AfterAtUtc = @AfterAtUtc,
            @AfterHistoryId = @AfterHistoryId;

        SELECT
            @DeletedCount = @DeletedCount + b.DeletedCount,
            @DeletedBucketCount = @DeletedBucketCount + b.DeletedBucketCount,
            @BatchCount = @BatchCount + CASE WHEN b.DeletedCount + b.DeletedBucketCount > 0 THEN 1 ELSE 0 END,
            @HasMore = b.HasMore,
            @AfterAtUtc = b.LastAtUtc,
            @AfterHistoryId = b.LastHistoryId
        FROM @Batch AS b;
    END;

    SELECT @DeletedCount AS DeletedCount, @DeletedBucketCount AS DeletedBucketCount, @BatchCount AS BatchCount;
END;
