/*
chokaq.usp_PurgeArchive: delete the jobs that finished strictly before an instant from the Archive, batch by batch

Twin         postgres/purge_archive.sql
Result       one row: DeletedCount, BatchCount, SkippedCount (still held by others after three passes), HasMore
             (1 when @MaxBatches ended it first)
Errors       59001, 59010
Transaction  looping: each batch of usp_PurgeArchiveBatch is a transaction of its own
Locks        JobsArchive, history
Granted to   chokaq_admin
Example      EXECUTE chokaq.usp_PurgeArchive @OlderThanUtc = '2026-01-31T00:00:00';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_PurgeArchive
    @OlderThanUtc DATETIME2(7),
    @CleanupBatchSize INT = 1000, /* 1-4000 */
    @MaxBatches INT = NULL, /* NULL: until nothing is left */
    @PurgedBy NVARCHAR(4000) = NULL
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    SET IMPLICIT_TRANSACTIONS OFF;

    IF @@TRANCOUNT > 0
        THROW 59010, N'chokaq.usp_PurgeArchive commits batch by batch and cannot run inside a transaction.', 1;

    IF @MaxBatches < 1
        THROW 59001, N'@MaxBatches must be NULL or 1 or more.', 1;

    DECLARE
        @AfterFinishedAtUtc DATETIME2(7),
        @AfterJobId NVARCHAR(50),
        @BatchCount INT = 0,
        @DeletedCount BIGINT = 0,
        @HasMore BIT = 0,
        @Pass INT = 1,
        @SkippedCount INT = 0;

    DECLARE @Batch TABLE (
        DeletedCount INT NOT NULL,
        SkippedCount INT NOT NULL,
        HasMore BIT NOT NULL,
        LastFinishedAtUtc DATETIME2(7) NULL,
        LastJobId NVARCHAR(50) COLLATE Latin1_General_BIN2 NULL
    );

    WHILE @Pass = 1
          OR (@Pass <= 3 AND @SkippedCount > 0 AND @HasMore = 0 AND (@MaxBatches IS NULL OR @BatchCount < @MaxBatches))
    BEGIN
        SELECT @Pass = @Pass + 1, @SkippedCount = 0, @HasMore = 1, @AfterFinishedAtUtc = NULL, @AfterJobId = NULL;

        WHILE @HasMore = 1 AND (@MaxBatches IS NULL OR @BatchCount < @MaxBatches)
        BEGIN
            DELETE FROM @Batch;

            /* The statement is the batch's transaction: the partner joins it, and it commits when the statement ends. */
            INSERT INTO @Batch (DeletedCount, SkippedCount, HasMore, LastFinishedAtUtc, LastJobId)
            EXECUTE chokaq.usp_PurgeArchiveBatch
                @OlderThanUtc = @OlderThanUtc,
                @CleanupBatchSize = @CleanupBatchSize,
                @PurgedBy = @PurgedBy,
                @AfterFinishedAtUtc = @AfterFinishedAtUtc,
                @AfterJobId = @AfterJobId;

            SELECT
                @DeletedCount = @DeletedCount + b.DeletedCount,
                @SkippedCount = @SkippedCount + b.SkippedCount,
                @BatchCount = @BatchCount + CASE WHEN b.DeletedCount > 0 THEN 1 ELSE 0 END,
                @HasMore = b.HasMore,
                @AfterFinishedAtUtc = b.LastFinishedAtUtc,
                @AfterJobId = b.LastJobId
            FROM @Batch AS b;
        END;
    END;

    SELECT @DeletedCount AS DeletedCount, @BatchCount AS BatchCount, @SkippedCount AS SkippedCount, @HasMore AS HasMore;
END;
