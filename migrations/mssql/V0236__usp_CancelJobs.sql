/*
chokaq.usp_CancelJobs: move up to 4000 jobs that have not started to the DLQ, as Cancelled, in one transaction

Twin         postgres/cancel_jobs.sql
Result       one row per id, in order: JobId, Outcome
Outcomes     cancelled | already_cancelled | not_found | not_cancellable (it is running) | id_conflict (it is in the
             Archive or the DLQ as well: only the owner's own writes can do that)
Errors       59001, 59004
Transaction  joining
Locks        JobsHot in key order (waits for rows that others hold), JobsDLQ, counters, history
Granted to   chokaq_operator
Example      EXECUTE chokaq.usp_CancelJobs @JobIds = N'["a1", "a2"]', @CancelledBy = N'ann', @Reason = N'sent by hand';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_CancelJobs
    @JobIds NVARCHAR(MAX), /* JSON array, at most 4000 */
    @CancelledBy NVARCHAR(4000),
    @Reason NVARCHAR(MAX) = NULL /* becomes ErrorDetails, before what the job had */
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* Nothing is decided by what others have not committed; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE chokaq.usp_CheckJobIds @JobIds = @JobIds, @Max = 4000;

    IF chokaq.fn_IsName(@CancelledBy, 100) = 0
        THROW 59001, N'@CancelledBy must be 1 to 100 characters without white space at either end.', 1;

    DECLARE
        @Actor NVARCHAR(100) = @CancelledBy,
        @BatchId UNIQUEIDENTIFIER = NEWID(),
        @Now DATETIME2(7),
        @Number BIGINT,
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0);

    DECLARE @Asked TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        Ordinal INT NOT NULL,
        Outcome VARCHAR(20) NULL
    );
    DECLARE @Held TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        Revision BIGINT NOT NULL,
        Status TINYINT NOT NULL
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
        WorkerId NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
        ErrorDetails NVARCHAR(MAX) COLLATE Latin1_General_BIN2 NULL,
        ScheduledAtUtc DATETIME2(7) NULL,
        StartedAtUtc DATETIME2(7) NULL,
        HeartbeatUtc DATETIME2(7) NULL,
        CreatedAtUtc DATETIME2(7) NOT NULL,
        CreatedBy NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
        ResurrectCount INT NOT NULL
    );

    INSERT INTO @Asked (Id, Ordinal)
    SELECT t.Value, t.Ordinal FROM chokaq.fn_JsonTexts(@JobIds) AS t;

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        /* Once, unless a server that ignores the locks let a rival in between. */
        WHILE EXISTS (SELECT 1 FROM @Asked AS i WHERE i.Outcome IS NULL)
        BEGIN
            DELETE FROM @Held;

            /*
            Locked in key order, the order of @Asked: two operators with the same ids wait in one direction only. Those that
            run too: to look at one again, which may have come back, would be to wait for a lower id while higher ones are held.
            */
            INSERT INTO @Held (Id, Revision, Status)
            SELECT h.Id, h.Revision, h.Status
            FROM @Asked AS i
            INNER JOIN chokaq.JobsHot AS h WITH (UPDLOCK, ROWLOCK, FORCESEEK) ON h.Id = i.Id
            WHERE i.Outcome IS NULL
            ORDER BY i.Id
            OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

            UPDATE @Asked
            SET Outcome = 'not_cancellable'
            WHERE Id IN (SELECT l.Id FROM @Held AS l WHERE l.Status = 2);

            DELETE FROM @Held
            WHERE Status = 2;

            /*
            An id that has ended before stays in Hot, and stops no other job at a primary key. Hot is looked up at once with
            the others, for a server that ignores the locks: a job that a rival has moved since is in no conflict.
            */
            UPDATE i
            SET Outcome = 'id_conflict'
            FROM @Asked AS i
            INNER JOIN @Held AS l ON l.Id = i.Id
            INNER JOIN chokaq.JobsHot AS h WITH (FORCESEEK) ON h.Id = i.Id
            LEFT JOIN chokaq.JobsArchive AS a WITH (FORCESEEK, READCOMMITTEDLOCK) ON a.Id = i.Id
            LEFT JOIN chokaq.JobsDLQ AS d WITH (FORCESEEK, READCOMMITTEDLOCK) ON d.Id = i.Id
            WHERE a.Id IS NOT NULL OR d.Id IS NOT NULL;

            DELETE FROM @Held
            WHERE Id IN (SELECT i.Id FROM @Asked AS i WHERE i.Outcome = 'id_conflict');

            /* Decided again, for a server that ignores the locks: no edit is lost. FORCESEEK: a scan would lock every row on its way. */
            DELETE chokaq.JobsHot
            OUTPUT
                deleted.Id,
                deleted.Queue,
                deleted.Type,
                deleted.Payload,
                deleted.Tags,
                deleted.IdempotencyKey,
                deleted.Priority,
                deleted.AttemptCount,
                deleted.WorkerId,
                deleted.ErrorDetails,
                deleted.ScheduledAtUtc,
                deleted.StartedAtUtc,
                deleted.HeartbeatUtc,
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
                WorkerId,
                ErrorDetails,
                ScheduledAtUtc,
                StartedAtUtc,
                HeartbeatUtc,
                CreatedAtUtc,
                CreatedBy,
                ResurrectCount
            )
            FROM chokaq.JobsHot WITH (ROWLOCK, FORCESEEK)
            WHERE JobsHot.Id IN (SELECT l.Id FROM @Held AS l WHERE l.Revision = JobsHot.Revision)
                AND JobsHot.Status IN (0, 1);

            UPDATE @Asked
            SET Outcome = 'cancelled'
            WHERE Outcome IS NULL AND Id IN (SELECT g.Id FROM @Gone AS g);

            /* What is in Hot still is to be looked at again; no row is read that is not held. */
            UPDATE i
            SET
                Outcome = CASE
                    WHEN h.Id IS NOT NULL THEN NULL
                    WHEN d.FailureReason = 1 THEN 'already_cancelled'
                    ELSE 'not_found'
                END
            FROM @Asked AS i
            LEFT JOIN @Held AS l ON l.Id = i.Id
            LEFT JOIN chokaq.JobsHot AS h WITH (FORCESEEK) ON h.Id = l.Id
            LEFT JOIN chokaq.JobsDLQ AS d WITH (FORCESEEK) ON d.Id = i.Id
            WHERE i.Outcome IS NULL;
        END;

        SET @Now = SYSUTCDATETIME();
        SET @Number = NEXT VALUE FOR chokaq.JobNumbers;

        INSERT INTO chokaq.JobsDLQ (
            Id,
            Queue,
            Type,
            Payload,
            Tags,
            IdempotencyKey,
            Priority,
            AttemptCount,
            WorkerId,
            FailureReason,
            ErrorDetails,
            FailedAtUtc,
            ScheduledAtUtc,
            StartedAtUtc,
            HeartbeatUtc,
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
            g.IdempotencyKey,
            g.Priority,
            g.AttemptCount,
            g.WorkerId,
            1,
            /* What the attempt before left is evidence too. */
            COALESCE(
                @Reason + NCHAR(10) + N'The attempt before ended with: ' + g.ErrorDetails,
                @Reason,
                g.ErrorDetails
            ),
            @Now,
            g.ScheduledAtUtc,
            g.StartedAtUtc,
            g.HeartbeatUtc,
            g.CreatedAtUtc,
            g.CreatedBy,
            @Now,
            @Actor,
            g.ResurrectCount,
            @Number + i.Ordinal
        FROM @Gone AS g
        INNER JOIN @Asked AS i ON i.Id = g.Id
        ORDER BY g.Id;

        INSERT INTO chokaq.CounterDeltas (Queue, DeadLettered)
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
            FailedAtUtc
        )
        SELECT
            N'cancelled',
            g.Id,
            g.Queue,
            g.Type,
            @Actor,
            @BatchId,
            1,
            COALESCE(
                @Reason + NCHAR(10) + N'The attempt before ended with: ' + g.ErrorDetails,
                @Reason,
                g.ErrorDetails
            ),
            g.AttemptCount,
            @Now
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

    SELECT i.Id AS JobId, i.Outcome FROM @Asked AS i ORDER BY i.Ordinal;
END;
