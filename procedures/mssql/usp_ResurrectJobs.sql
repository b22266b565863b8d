/*
chokaq.usp_ResurrectJobs: put up to 4000 jobs of the DLQ back into their queues as they are, in one transaction

Twin         postgres/resurrect_jobs.sql
Result       one row per id, in order: JobId, Outcome
Outcomes     resurrected | not_found | id_conflict (the id is in Hot as well: only the owner's own writes can do that)
Errors       59001, 59004, 59090
Transaction  joining
Locks        JobsDLQ in key order (waits for rows that others hold), JobsHot, counters, history
Granted to   chokaq_operator
Example      EXECUTE chokaq.usp_ResurrectJobs @JobIds = N'["a1", "a2"]', @ResurrectedBy = N'ann';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_ResurrectJobs
    @JobIds NVARCHAR(MAX), /* JSON array, at most 4000 */
    @ResurrectedBy NVARCHAR(4000)
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* READPAST is error 650 under SNAPSHOT and SERIALIZABLE; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE chokaq.usp_CheckJobIds @JobIds = @JobIds, @Max = 4000;

    IF chokaq.fn_IsName(@ResurrectedBy, 100) = 0
        THROW 59001, N'@ResurrectedBy must be 1 to 100 characters without white space at either end.', 1;

    DECLARE
        @Actor NVARCHAR(100) = @ResurrectedBy,
        @BatchId UNIQUEIDENTIFIER = NEWID(),
        @FoundIds NVARCHAR(MAX),
        @IsOpen BIT = 1,
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0),
        @Round INT = 1;

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

        /* Once, unless a server that ignores the locks let a rival in between. */
        WHILE @IsOpen = 1
        BEGIN
            DELETE FROM @Found;

            /* Locked in key order, the order of @Asked: two operators with the same ids wait in one direction only. */
            INSERT INTO @Found (Id)
            SELECT d.Id
            FROM @Asked AS i
            INNER JOIN chokaq.JobsDLQ AS d WITH (FORCESEEK, UPDLOCK, ROWLOCK) ON d.Id = i.Id
            WHERE i.Id NOT IN (SELECT r.Id FROM @Done AS r)
            ORDER BY i.Id
            OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

            /* They come back in the order that was asked for. */
            SELECT
                @FoundIds = COALESCE(
                    N'[' +
                    STRING_AGG(CONVERT(NVARCHAR(MAX), chokaq.fn_JsonString(i.Id)), N',') WITHIN GROUP (
                        ORDER BY i.Ordinal
                    ) +
                    N']',
                    N'[]'
                )
            FROM @Asked AS i
            INNER JOIN @Found AS f ON f.Id = i.Id;

            EXECUTE chokaq.usp_ResurrectRows
                @JobIds = @FoundIds,
                @Revisions = NULL,
                @Actor = @Actor,
                @BatchId = @BatchId;

            /* Only rows of this transaction can be meant: never wait for those of another. */
            INSERT INTO @Done (Id)
            SELECT o.JobId
            FROM @Found AS f
            INNER JOIN chokaq.OperatorHistory AS o WITH (FORCESEEK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
                ON o.JobId = f.Id
            WHERE o.BatchId = @BatchId
            OPTION (FORCE ORDER, LOOP JOIN);

            /* What is left of @Found is in the DLQ still. */
            DELETE FROM @Found
            WHERE Id NOT IN (
                    SELECT d.Id
                    FROM chokaq.JobsDLQ AS d WITH (FORCESEEK)
                    INNER JOIN @Found AS f ON f.Id = d.Id
                );

            IF NOT EXISTS (
                   SELECT 1
                   FROM @Found AS f
                   LEFT JOIN chokaq.JobsHot AS h WITH (FORCESEEK) ON h.Id = f.Id
                   WHERE h.Id IS NULL
               )
                SET @IsOpen = 0;

            IF @IsOpen = 1 AND @Round >= 100
                THROW 59090, N'Jobs of the DLQ that nobody holds do not come back.', 1;

            SET @Round = @Round + 1;
        END;

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

    SELECT
        i.Id AS JobId,
        CASE
            WHEN r.Id IS NOT NULL THEN 'resurrected'
            WHEN f.Id IS NOT NULL THEN 'id_conflict'
            ELSE 'not_found'
        END AS Outcome
    FROM @Asked AS i
    LEFT JOIN @Done AS r ON r.Id = i.Id
    LEFT JOIN @Found AS f ON f.Id = i.Id
    ORDER BY i.Ordinal;
END;
