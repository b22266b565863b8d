/*
chokaq.usp_RecoverAbandoned: give jobs that were fetched and never started back to their queues

Twin         postgres/recover_abandoned.sql
Result       one row: RecoveredCount, BatchCount, SkippedCount (still held by others after three passes)
Errors       59001, 59010
Transaction  looping: each batch of usp_RecoverAbandonedBatch is a transaction of its own
Locks        JobsHot
Granted to   chokaq_worker
Example      EXECUTE chokaq.usp_RecoverAbandoned @TimeoutSeconds = 300;
*/
CREATE OR ALTER PROCEDURE chokaq.usp_RecoverAbandoned
    @TimeoutSeconds INT = 300,
    @BatchSize INT = 1000 /* 1-4000 */
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    SET IMPLICIT_TRANSACTIONS OFF;

    IF @@TRANCOUNT > 0
        THROW 59010, N'chokaq.usp_RecoverAbandoned commits batch by batch and cannot run inside a transaction.', 1;

    DECLARE
        @AfterJobId NVARCHAR(50),
        @AfterQueue NVARCHAR(255),
        @BatchCount INT = 0,
        @HasMore BIT,
        @Pass INT = 1,
        @SkippedCount INT = 0,
        @RecoveredCount BIGINT = 0;

    DECLARE @Batch TABLE (
        RecoveredCount INT NOT NULL,
        SkippedCount INT NOT NULL,
        HasMore BIT NOT NULL,
        LastQueue NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
        LastJobId NVARCHAR(50) COLLATE Latin1_General_BIN2 NULL
    );

    WHILE @Pass = 1 OR (@Pass <= 3 AND @SkippedCount > 0)
    BEGIN
        SELECT @Pass = @Pass + 1, @SkippedCount = 0, @HasMore = 1, @AfterQueue = NULL, @AfterJobId = NULL;

        WHILE @HasMore = 1
        BEGIN
            DELETE FROM @Batch;

            /* The statement is the batch's transaction: the partner joins it, and it commits when the statement ends. */
            INSERT INTO @Batch (RecoveredCount, SkippedCount, HasMore, LastQueue, LastJobId)
            EXECUTE chokaq.usp_RecoverAbandonedBatch
                @TimeoutSeconds = @TimeoutSeconds,
                @BatchSize = @BatchSize,
                @AfterQueue = @AfterQueue,
                @AfterJobId = @AfterJobId;

            SELECT
                @RecoveredCount = @RecoveredCount + b.RecoveredCount,
                @SkippedCount = @SkippedCount + b.SkippedCount,
                @BatchCount = @BatchCount + CASE WHEN b.RecoveredCount > 0 THEN 1 ELSE 0 END,
                @HasMore = b.HasMore,
                @AfterQueue = b.LastQueue,
                @AfterJobId = b.LastJobId
            FROM @Batch AS b;
        END;
    END;

    SELECT @RecoveredCount AS RecoveredCount, @BatchCount AS BatchCount, @SkippedCount AS SkippedCount;
END;
