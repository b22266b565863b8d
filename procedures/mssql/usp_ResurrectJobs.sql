/*
chokaq.usp_ResurrectJobs: put up to 4000 jobs of the DLQ back into their queues as they are, in one transaction

Twin         postgres/resurrect_jobs.sql
Result       one row per id, in order: JobId, Outcome
Outcomes     resurrected | not_found | id_conflict (the id is in Hot as well: only the owner's own writes can do that)
Errors       59001, 59004
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
    SET NOCOUNT, XACT_ABORT ON;
    SET ROWCOUNT 0;

    EXECUTE chokaq.usp_CheckJobIds @JobIds = @JobIds, @Max = 4000;

    IF chokaq.fn_IsName(@ResurrectedBy, 100) = 0
        THROW 59001, N'@ResurrectedBy must be 1 to 100 characters without white space at either end.', 1;

    DECLARE
        @Actor NVARCHAR(100) = @ResurrectedBy,
        @BatchId UNIQUEIDENTIFIER = NEWID(),
        @Now DATETIME2(7),
        @Number BIGINT,
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0);

    DECLARE @Asked TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        Ordinal INT NOT NULL,
        IsFound BIT NOT NULL,
        IsInHot BIT NOT NULL
    );
    DECLARE @Found TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY
    );
    DECLARE @Gone TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
        Type NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
        Payload NVARCHAR(MAX) COLLATE Latin1_General_BIN2 NULL,
        Tags NVARCHAR(1000) COLLATE Latin1_General_BIN2 NULL,
        IdempotencyKey NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
        Priority INT NOT NULL,
        AttemptCount INT NOT NULL,
        FailureReason TINYINT NOT NULL,
        ErrorDetails NVARCHAR(MAX) COLLATE Latin1_General_BIN2 NULL,
        FailedAtUtc DATETIME2(7) NOT NULL,
        CreatedAtUtc DATETIME2(7) NOT NULL,
        CreatedBy NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
        ResurrectCount INT NOT NULL
    );

    INSERT INTO @Asked (Id, Ordinal, IsFound, IsInHot)
    SELECT t.Value, t.Ordinal, 0, 0 FROM chokaq.fn_JsonTexts(@JobIds) AS t;

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        /* Locked in key order, the order of @Asked: two operators with the same ids wait in one direction only. */
        INSERT INTO @Found (Id)
        SELECT d.Id
        FROM @Asked AS i
        INNER JOIN chokaq.JobsDLQ AS d WITH (UPDLOCK, ROWLOCK) ON d.Id = i.Id
        ORDER BY i.Id
        OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

        UPDATE @Asked
        SET IsFound = 1
        WHERE Id IN (SELECT f.Id FROM @Found AS f);

        UPDATE @Asked
        SET IsInHot = 1
        WHERE IsFound = 1
            AND Id IN (
                SELECT h.Id
                FROM chokaq.JobsHot AS h
                INNER JOIN @Found AS f ON f.Id = h.Id
            );

        DELETE FROM chokaq.JobsDLQ
        OUTPUT
            deleted.Id,
            deleted.Queue,
            deleted.Type,
            deleted.Payload,
            deleted.Tags,
            deleted.IdempotencyKey,
            deleted.Priority,
            deleted.AttemptCount,
            deleted.FailureReason,
            deleted.ErrorDetails,
            deleted.FailedAtUtc,
            deleted.CreatedAtUtc,
            deleted.CreatedBy,
            deleted.ResurrectCount
        INTO @Gone (
            Id,
            Queue,
            Type,
            Payload,
            Tags,
            IdempotencyKey,
            Priority,
            AttemptCount,
            FailureReason,
            ErrorDetails,
            FailedAtUtc,
            CreatedAtUtc,
            CreatedBy,
            ResurrectCount
        )
        WHERE Id IN (SELECT i.Id FROM @Asked AS i WHERE i.IsFound = 1 AND i.IsInHot = 0);

        SET @Now = SYSUTCDATETIME();
        SET @Number = NEXT VALUE FOR chokaq.JobNumbers;

        INSERT INTO chokaq.JobsHot (
            Id,
            Queue,
            Type,
            Payload,
            Tags,
            Priority,
            Status,
            DueAtUtc,
            IsDue,
            FirstDueAtUtc,
            Arrival,
            CreatedAtUtc,
            CreatedBy,
            LastUpdatedUtc,
            LastModifiedBy,
            ResurrectCount,
            Revision
        )
        SELECT
            g.Id,
            g.Queue,
            g.Type,
            g.Payload,
            g.Tags,
            10,
            0,
            @Now,
            1,
            @Now,
            @Number + i.Ordinal,
            g.CreatedAtUtc,
            g.CreatedBy,
            @Now,
            @Actor,
            g.ResurrectCount + 1,
            @Number + i.Ordinal
        FROM @Gone AS g
        INNER JOIN @Asked AS i ON i.Id = g.Id
        ORDER BY g.Id;

        INSERT INTO chokaq.CounterDeltas (Queue, Resurrected)
        SELECT g.Queue, COUNT(*) FROM @Gone AS g GROUP BY g.Queue;

        INSERT INTO chokaq.OperatorHistory (
            Action,
            JobId,
            Queue,
            Type,
            Actor,
            BatchId,
            FailureReason,
            ErrorDetails,
            AttemptCount,
            FailedAtUtc,
            OldPriority,
            OldIdempotencyKey
        )
        SELECT
            N'resurrected',
            g.Id,
            g.Queue,
            g.Type,
            @Actor,
            @BatchId,
            g.FailureReason,
            g.ErrorDetails,
            g.AttemptCount,
            g.FailedAtUtc,
            NULLIF(g.Priority, 10),
            g.IdempotencyKey
        FROM @Gone AS g
        ORDER BY g.Id;

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
            WHEN g.Id IS NOT NULL THEN 'resurrected'
            WHEN i.IsInHot = 1 THEN 'id_conflict'
            ELSE 'not_found'
        END AS Outcome
    FROM @Asked AS i
    LEFT JOIN @Gone AS g ON g.Id = i.Id
    ORDER BY i.Ordinal;
END;
