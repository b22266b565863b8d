/*
chokaq.usp_PurgeDLQJobs: delete up to 4000 jobs of the DLQ for good, in one transaction

Twin         postgres/purge_dlq_jobs.sql
Result       one row per id, in order: JobId, Outcome
Outcomes     purged | not_found
Errors       59001, 59004
Transaction  joining
Locks        JobsDLQ in key order (waits for rows that others hold), counters, history
Granted to   chokaq_admin
Example      EXECUTE chokaq.usp_PurgeDLQJobs @JobIds = N'["a1", "a2"]', @PurgedBy = N'ann';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_PurgeDLQJobs
    @JobIds NVARCHAR(MAX), /* JSON array, at most 4000 */
    @PurgedBy NVARCHAR(4000)
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* READPAST is error 650 under SNAPSHOT and SERIALIZABLE; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE chokaq.usp_CheckJobIds @JobIds = @JobIds, @Max = 4000;

    IF chokaq.fn_IsName(@PurgedBy, 100) = 0
        THROW 59001, N'@PurgedBy must be 1 to 100 characters without white space at either end.', 1;

    DECLARE
        @Actor NVARCHAR(100) = @PurgedBy,
        @BatchId UNIQUEIDENTIFIER = NEWID(),
        @FoundIds NVARCHAR(MAX),
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0);

    DECLARE @Asked TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        Ordinal INT NOT NULL
    );
    DECLARE @Found TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY
    );
    DECLARE @Done TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY
    );

    INSERT INTO @Asked (Id, Ordinal)
    SELECT t.Value, t.Ordinal FROM chokaq.fn_JsonTexts(@JobIds) AS t;

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        /* Locked in key order, the order of @Asked: two operators with the same ids wait in one direction only. */
        INSERT INTO @Found (Id)
        SELECT d.Id
        FROM @Asked AS i
        INNER JOIN chokaq.JobsDLQ AS d WITH (FORCESEEK, UPDLOCK, ROWLOCK) ON d.Id = i.Id
        ORDER BY i.Id
        OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

        SELECT
            @FoundIds = COALESCE(
                N'[' + STRING_AGG(CONVERT(NVARCHAR(MAX), chokaq.fn_JsonString(f.Id)), N',') + N']',
                N'[]'
            )
        FROM @Found AS f;

        EXECUTE chokaq.usp_PurgeRows @JobIds = @FoundIds, @Revisions = NULL, @Actor = @Actor, @BatchId = @BatchId;

        /* Only rows of this transaction can be meant: never wait for those of another. */
        INSERT INTO @Done (Id)
        SELECT o.JobId
        FROM @Found AS f
        INNER JOIN chokaq.OperatorHistory AS o WITH (FORCESEEK, ROWLOCK, READPAST, READCOMMITTEDLOCK) ON o.JobId = f.Id
        WHERE o.BatchId = @BatchId
        OPTION (FORCE ORDER, LOOP JOIN);

        IF @OwnsTransaction = 1
            COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* A joined transaction is the caller's to end; it is already doomed, so only report. */
        IF @OwnsTransaction = 1 AND XACT_STATE() <> 0
            ROLLBACK TRANSACTION;

        THROW;
    END CATCH;

    EXECUTE chokaq.usp_FoldSometimes;

    SELECT i.Id AS JobId, CASE WHEN p.Id IS NULL THEN 'not_found' ELSE 'purged' END AS Outcome
    FROM @Asked AS i
    LEFT JOIN @Done AS p ON p.Id = i.Id
    ORDER BY i.Ordinal;
END;
