/*
chokaq.usp_ResurrectBatch: put any number of jobs of the DLQ back into their queues as they are, batch by batch

Twin         postgres/resurrect_batch.sql
Result       one row: RequestedCount (each id once), ResurrectedCount, NotFoundCount, ConflictCount, BatchCount
Errors       59001, 59004, 59010
Transaction  looping: each batch of usp_ResurrectJobs is a transaction of its own
Locks        JobsDLQ, JobsHot, counters, history
Granted to   chokaq_operator
Example      EXECUTE chokaq.usp_ResurrectBatch @JobIds = N'["a1", "a2"]', @ResurrectedBy = N'ann';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_ResurrectBatch
    @JobIds NVARCHAR(MAX), /* JSON array, any number */
    @ResurrectedBy NVARCHAR(4000),
    @BatchSize INT = 1000 /* 1-4000 */
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    SET IMPLICIT_TRANSACTIONS OFF;

    IF @@TRANCOUNT > 0
        THROW 59010, N'chokaq.usp_ResurrectBatch commits batch by batch and cannot run inside a transaction.', 1;

    IF @BatchSize IS NULL OR @BatchSize NOT BETWEEN 1 AND 4000
        THROW 59001, N'@BatchSize must be 1 to 4000.', 1;

    EXECUTE chokaq.usp_CheckJobIds @JobIds = @JobIds, @Max = NULL;

    DECLARE @BatchCount INT = 0, @From INT = 1, @RequestedCount INT, @Slice NVARCHAR(MAX);

    DECLARE @Asked TABLE (
        Ordinal INT NOT NULL PRIMARY KEY,
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL
    );
    DECLARE @Done TABLE (
        JobId NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        Outcome VARCHAR(20) NOT NULL
    );

    INSERT INTO @Asked (Ordinal, Id)
    SELECT t.Ordinal, t.Value FROM chokaq.fn_JsonTexts(@JobIds) AS t;

    SET @RequestedCount = @@ROWCOUNT;

    /* Once even without an id: the partner checks the name. */
    WHILE @From = 1 OR @From <= @RequestedCount
    BEGIN
        SET @Slice = (
                SELECT N'[' + STRING_AGG(CONVERT(NVARCHAR(MAX), chokaq.fn_JsonString(a.Id)), N',') + N']'
                FROM @Asked AS a
                WHERE a.Ordinal BETWEEN @From AND @From + @BatchSize - 1
            );
        SET @Slice = COALESCE(@Slice, N'[]');

        /* The statement is the batch's transaction: the partner joins it, and it commits when the statement ends. */
        INSERT INTO @Done (JobId, Outcome)
        EXECUTE chokaq.usp_ResurrectJobs @JobIds = @Slice, @ResurrectedBy = @ResurrectedBy;

        SET @BatchCount = @BatchCount + CASE WHEN @RequestedCount = 0 THEN 0 ELSE 1 END;
        SET @From = @From + @BatchSize;
        EXECUTE chokaq.usp_FoldSometimes;
    END;

    SELECT
        @RequestedCount AS RequestedCount,
        COALESCE(SUM(CASE WHEN d.Outcome = 'resurrected' THEN 1 ELSE 0 END), 0) AS ResurrectedCount,
        COALESCE(SUM(CASE WHEN d.Outcome = 'not_found' THEN 1 ELSE 0 END), 0) AS NotFoundCount,
        COALESCE(SUM(CASE WHEN d.Outcome = 'id_conflict' THEN 1 ELSE 0 END), 0) AS ConflictCount,
        @BatchCount AS BatchCount
    FROM @Done AS d;
END;
