/*
chokaq.usp_MarkJobsAsProcessing: say that the worker now runs up to 1000 jobs it fetched; this counts their attempts

Twin         postgres/mark_jobs_as_processing.sql
Result       one row per id, in order: JobId, Outcome, AttemptCount (the fence that every finaliser gives back)
Outcomes     started | already_started | not_found | not_owner | not_fetched
Errors       59001, 59004
Transaction  joining
Locks        JobsHot, in key order
Granted to   chokaq_worker
Example      EXECUTE chokaq.usp_MarkJobsAsProcessing @JobIds = N'["a1", "a2"]', @WorkerId = N'worker-1';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_MarkJobsAsProcessing
    @JobIds NVARCHAR(MAX), /* JSON array, at most 1000 */
    @WorkerId NVARCHAR(4000)
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* Nothing is decided by what others have not committed; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE chokaq.usp_CheckJobIds @JobIds = @JobIds, @Max = 1000;

    IF chokaq.fn_IsName(@WorkerId, 100) = 0
        THROW 59001, N'@WorkerId must be 1 to 100 characters without white space at either end.', 1;

    DECLARE
        @IsOpen BIT = 1,
        @Now DATETIME2(7) = SYSUTCDATETIME(),
        @Owner NVARCHAR(100) = @WorkerId,
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0);

    DECLARE @Asked TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        Ordinal INT NOT NULL
    );
    DECLARE @Held TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        WorkerId NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
        Status TINYINT NOT NULL,
        AttemptCount INT NOT NULL
    );
    DECLARE @Started TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        AttemptCount INT NOT NULL
    );

    INSERT INTO @Asked (Id, Ordinal)
    SELECT t.Value, t.Ordinal FROM chokaq.fn_JsonTexts(@JobIds) AS t;

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        /* Once, unless a server that ignores the locks let a rival change a job that was free to start. */
        WHILE @IsOpen = 1
        BEGIN
            DELETE FROM @Held;

            /*
            Locked in key order, the order of @Asked: two calls with the same ids wait in one direction only. Those that cannot
            start too, for why they cannot: to look at one again would be to wait for it while higher ids are held.
            */
            INSERT INTO @Held (Id, WorkerId, Status, AttemptCount)
            SELECT h.Id, h.WorkerId, h.Status, h.AttemptCount
            FROM @Asked AS i
            INNER JOIN chokaq.JobsHot AS h WITH (UPDLOCK, ROWLOCK, FORCESEEK) ON h.Id = i.Id
            WHERE i.Id NOT IN (SELECT s.Id FROM @Started AS s)
            ORDER BY i.Id
            OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

            /* Decided again, for a server that ignores the locks. FORCESEEK: a scan would lock every row on its way. */
            UPDATE chokaq.JobsHot
            SET
                Status = 2,
                AttemptCount = JobsHot.AttemptCount + 1,
                StartedAtUtc = @Now,
                HeartbeatUtc = @Now,
                LastUpdatedUtc = @Now
            OUTPUT inserted.Id, inserted.AttemptCount INTO @Started (Id, AttemptCount)
            FROM chokaq.JobsHot WITH (ROWLOCK, FORCESEEK)
            WHERE JobsHot.Id IN (SELECT l.Id FROM @Held AS l WHERE l.WorkerId = @Owner AND l.Status = 1)
                AND JobsHot.WorkerId = @Owner
                AND JobsHot.Status = 1;

            IF NOT EXISTS (
                   SELECT 1
                   FROM @Held AS l
                   LEFT JOIN @Started AS s ON s.Id = l.Id
                   WHERE l.WorkerId = @Owner AND l.Status = 1 AND s.Id IS NULL
               )
                SET @IsOpen = 0;
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

    SELECT
        i.Id AS JobId,
        CASE
            WHEN s.Id IS NOT NULL THEN 'started'
            WHEN l.Id IS NULL THEN 'not_found'
            WHEN l.WorkerId IS NULL THEN 'not_fetched'
            WHEN l.WorkerId <> @Owner THEN 'not_owner'
            WHEN l.Status = 2 THEN 'already_started'
            ELSE 'not_fetched'
        END AS Outcome,
        COALESCE(s.AttemptCount, l.AttemptCount) AS AttemptCount
    FROM @Asked AS i
    LEFT JOIN @Started AS s ON s.Id = i.Id
    LEFT JOIN @Held AS l ON l.Id = i.Id
    ORDER BY i.Ordinal;
END;
