/*
chokaq.usp_ArchiveSucceededJobs: move up to 1000 jobs that ran well from Hot to the Archive, in one transaction

Twin         postgres/archive_succeeded_jobs.sql
Result       one row per job (of a repeated id the first counts), in order: JobId, Outcome
Outcomes     archived | already_archived | not_found | not_owner | not_processing | stale_attempt | id_conflict (it is
             in the Archive as well: only the owner's own writes can do that)
Errors       59001, naming the element and the field; 59004
Transaction  joining
Locks        JobsHot in key order, JobsArchive, counters
Granted to   chokaq_worker
Example      EXECUTE chokaq.usp_ArchiveSucceededJobs @Jobs = N'[{"jobId": "a1", "attempt": 1}]', @WorkerId = N'worker-1';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_ArchiveSucceededJobs
    @Jobs NVARCHAR(MAX), /* JSON array of at most 1000 objects: jobId, and attempt, durationMs, resurrectCount where known */
    @WorkerId NVARCHAR(4000)
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* Nothing is decided by what others have not committed; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @Jobs IS NULL
        THROW 59001, N'@Jobs must be a JSON array of objects.', 1;

    EXECUTE chokaq.usp_CheckJson @Value = @Jobs, @Parameter = N'@Jobs';

    IF chokaq.fn_IsJsonArray(@Jobs) = 0
        THROW 59001, N'@Jobs must be a JSON array of objects.', 1;

    IF (SELECT COUNT(*) FROM OPENJSON(@Jobs) AS j) > 1000
        THROW 59001, N'@Jobs must be an array of at most 1000 objects.', 1;

    IF chokaq.fn_IsName(@WorkerId, 100) = 0
        THROW 59001, N'@WorkerId must be 1 to 100 characters without white space at either end.', 1;

    DECLARE
        @IsEscaped BIT,
        @Owner NVARCHAR(100) = @WorkerId,
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0),
        @Problem NVARCHAR(2048);

    /* A row per field, as OPENJSON gives it: a value of the wrong type is seen before anything is read from it. */
    DECLARE @Fields TABLE (
        Ordinal INT NOT NULL,
        Name NVARCHAR(4000) COLLATE Latin1_General_BIN2 NULL, /* NULL: the element itself */
        Value NVARCHAR(MAX) COLLATE Latin1_General_BIN2 NULL,
        JsonType INT NOT NULL
    );
    DECLARE @Named TABLE (
        Ordinal INT NOT NULL PRIMARY KEY,
        Id NVARCHAR(102) COLLATE Latin1_General_BIN2 NULL, /* wider than the limit: an over-long id is refused, not cut */
        Attempt NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
        DurationMs NVARCHAR(400) COLLATE Latin1_General_BIN2 NULL,
        ResurrectCount NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL
    );
    DECLARE @Asked TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        Ordinal INT NOT NULL,
        Attempt INT NULL,
        DurationMs FLOAT NULL,
        ResurrectCount INT NULL,
        Outcome VARCHAR(20) NULL
    );
    DECLARE @Held TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        WorkerId NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
        Status TINYINT NOT NULL,
        AttemptCount INT NOT NULL,
        ResurrectCount INT NOT NULL
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
        ScheduledAtUtc DATETIME2(7) NULL,
        StartedAtUtc DATETIME2(7) NULL,
        CreatedAtUtc DATETIME2(7) NOT NULL,
        CreatedBy NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
        LastModifiedBy NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
        ResurrectCount INT NOT NULL,
        Revision BIGINT NOT NULL
    );

    INSERT INTO @Fields (Ordinal, Name, Value, JsonType)
    SELECT CONVERT(INT, j.[key]) + 1, NULL, NULL, j.[type] FROM OPENJSON(@Jobs) AS j;

    INSERT INTO @Fields (Ordinal, Name, Value, JsonType)
    SELECT CONVERT(INT, j.[key]) + 1, LEFT(f.[key], 2000), f.[value], f.[type]
    FROM OPENJSON(@Jobs) AS j
    CROSS APPLY OPENJSON(CASE WHEN j.[type] = 5 THEN j.[value] ELSE N'{}' END) AS f;

    SELECT TOP (1) @Problem = CONCAT(N'@Jobs element ', f.Ordinal, N': ', f.Problem)
    FROM (
        SELECT
            x.Ordinal,
            x.Name,
            CASE
                WHEN x.Name IS NULL THEN CASE WHEN x.JsonType <> 5 THEN N'must be an object.' END
                WHEN x.Times > 1 THEN LEFT(x.Name, 100) + N' is given more than once.'
                /* = does not see a trailing space. */
                WHEN RIGHT(x.Name, 1) = N' ' THEN LEFT(x.Name, 100) + N' is not a field of a succeeded job.'
                WHEN x.Name = N'jobId' THEN CASE WHEN x.JsonType NOT IN (0, 1) THEN x.Name + N' must be a string.' END
                WHEN x.Name IN (N'attempt', N'resurrectCount') THEN CASE
                    WHEN x.JsonType NOT IN (0, 2) THEN x.Name + N' must be an integer.'
                END
                WHEN x.Name = N'durationMs' THEN CASE
                    WHEN x.JsonType NOT IN (0, 2) THEN x.Name + N' must be a number.'
                END
                ELSE LEFT(x.Name, 100) + N' is not a field of a succeeded job.'
            END AS Problem
        FROM (
            SELECT n.Ordinal, n.Name, n.JsonType, COUNT(*) OVER (PARTITION BY n.Ordinal, n.Name) AS Times
            FROM @Fields AS n
        ) AS x
    ) AS f
    WHERE f.Problem IS NOT NULL
    ORDER BY f.Ordinal, f.Name;

    IF @Problem IS NOT NULL
    BEGIN
        /* THROW takes a single % for a format. */
        SET @Problem = REPLACE(@Problem, N'%', N'%%');
        THROW 59001, @Problem, 1;
    END;

    SELECT @IsEscaped = CASE WHEN MAX(q.[value]) = N'"' THEN 0 ELSE 1 END FROM OPENJSON(N'["\""]') AS q;

    IF @IsEscaped = 1
        UPDATE @Fields
        SET Value = chokaq.fn_JsonUnescape(Value)
        WHERE CHARINDEX(N'\', Value) > 0;

    /* LEFT keeps more than the limit, so that an over-long value is still over-long below. */
    INSERT INTO @Named (Ordinal, Id, Attempt, DurationMs, ResurrectCount)
    SELECT
        f.Ordinal,
        MAX(CASE WHEN f.Name = N'jobId' THEN LEFT(f.Value, 51) END),
        MAX(CASE WHEN f.Name = N'attempt' THEN LEFT(f.Value, 50) END),
        MAX(CASE WHEN f.Name = N'durationMs' AND LEN(f.Value) <= 400 THEN f.Value END),
        MAX(CASE WHEN f.Name = N'resurrectCount' THEN LEFT(f.Value, 50) END)
    FROM @Fields AS f
    GROUP BY f.Ordinal;

    SELECT TOP (1) @Problem = CONCAT(N'@Jobs element ', a.Ordinal, N': ', a.Problem)
    FROM (
        SELECT
            x.Ordinal,
            CASE
                WHEN chokaq.fn_IsName(
                    x.Id,
                    50
                ) = 0 THEN N'jobId must be 1 to 50 characters without white space at either end.'
                WHEN x.Attempt IS NOT NULL
                AND COALESCE(TRY_CONVERT(INT, x.Attempt), 0) < 1 THEN N'attempt must be 1 or more.'
                WHEN x.ResurrectCount IS NOT NULL
                AND COALESCE(TRY_CONVERT(INT, x.ResurrectCount), -1) < 0 THEN N'resurrectCount must be 0 or more.'
            END AS Problem
        FROM @Named AS x
    ) AS a
    WHERE a.Problem IS NOT NULL
    ORDER BY a.Ordinal;

    IF @Problem IS NOT NULL
        THROW 59001, @Problem, 1;

    INSERT INTO @Asked (Id, Ordinal, Attempt, DurationMs, ResurrectCount)
    SELECT n.Id, n.Ordinal, CONVERT(INT, n.Attempt), TRY_CONVERT(FLOAT, n.DurationMs), CONVERT(INT, n.ResurrectCount)
    FROM @Named AS n
    WHERE n.Ordinal IN (SELECT MIN(m.Ordinal) FROM @Named AS m GROUP BY m.Id);

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        /* Once, unless a server that ignores the locks lost a job that was held. */
        WHILE EXISTS (SELECT 1 FROM @Asked AS i WHERE i.Outcome IS NULL)
        BEGIN
            DELETE FROM @Held;
            DELETE FROM @Gone;

            /*
            Locked in key order, the order of @Asked: two calls with the same ids wait in one direction only. Those that cannot
            end too, for why they cannot: to look at one again would be to wait for it while higher ids are held.
            */
            INSERT INTO @Held (Id, WorkerId, Status, AttemptCount, ResurrectCount)
            SELECT h.Id, h.WorkerId, h.Status, h.AttemptCount, h.ResurrectCount
            FROM @Asked AS i
            INNER JOIN chokaq.JobsHot AS h WITH (UPDLOCK, ROWLOCK, FORCESEEK) ON h.Id = i.Id
            WHERE i.Outcome IS NULL
            ORDER BY i.Id
            OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

            UPDATE i
            SET
                Outcome = CASE
                    WHEN l.WorkerId <> @Owner THEN 'not_owner'
                    WHEN l.Status <> 2 THEN 'not_processing'
                    WHEN l.AttemptCount <> i.Attempt OR l.ResurrectCount <> i.ResurrectCount THEN 'stale_attempt'
                END
            FROM @Asked AS i
            INNER JOIN @Held AS l ON l.Id = i.Id
            WHERE i.Outcome IS NULL;

            DELETE FROM @Held
            WHERE Id IN (SELECT i.Id FROM @Asked AS i WHERE i.Outcome IS NOT NULL);

            /*
            An id that is in the Archive as well stays in Hot, and stops no other job at the primary key. Hot is looked up at
            once with it, for a server that ignores the locks: a job that a rival has moved since is in no conflict.
            */
            UPDATE @Asked
            SET Outcome = 'id_conflict'
            WHERE Id IN (
                    SELECT l.Id
                    FROM @Held AS l
                    INNER JOIN chokaq.JobsHot AS h WITH (FORCESEEK) ON h.Id = l.Id
                    INNER JOIN chokaq.JobsArchive AS a WITH (FORCESEEK, READCOMMITTEDLOCK) ON a.Id = l.Id
                );

            DELETE FROM @Held
            WHERE Id IN (SELECT i.Id FROM @Asked AS i WHERE i.Outcome = 'id_conflict');

            /* Decided again, for a server that ignores the locks. FORCESEEK: a scan would lock every row on its way. */
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
                deleted.ScheduledAtUtc,
                deleted.StartedAtUtc,
                deleted.CreatedAtUtc,
                deleted.CreatedBy,
                deleted.LastModifiedBy,
                deleted.ResurrectCount,
                deleted.Revision
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
                ScheduledAtUtc,
                StartedAtUtc,
                CreatedAtUtc,
                CreatedBy,
                LastModifiedBy,
                ResurrectCount,
                Revision
            )
            FROM chokaq.JobsHot WITH (ROWLOCK, FORCESEEK)
            WHERE JobsHot.Status = 2
                AND JobsHot.WorkerId = @Owner
                AND JobsHot.Id IN (
                    SELECT l.Id
                    FROM @Held AS l
                    WHERE l.AttemptCount = JobsHot.AttemptCount AND l.ResurrectCount = JobsHot.ResurrectCount
                );

            INSERT INTO chokaq.JobsArchive (
                Id,
                Queue,
                Type,
                Payload,
                Tags,
                IdempotencyKey,
                Priority,
                AttemptCount,
                WorkerId,
                ScheduledAtUtc,
                StartedAtUtc,
                FinishedAtUtc,
                DurationMs,
                CreatedAtUtc,
                CreatedBy,
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
                g.ScheduledAtUtc,
                g.StartedAtUtc,
                SYSUTCDATETIME(),
                /* A metric never stops a transition: what is no duration is no value. */
                CASE WHEN i.DurationMs >= 0 THEN i.DurationMs END,
                g.CreatedAtUtc,
                g.CreatedBy,
                g.LastModifiedBy,
                g.ResurrectCount,
                g.Revision
            FROM @Gone AS g
            INNER JOIN @Asked AS i ON i.Id = g.Id
            ORDER BY g.Id;

            INSERT INTO chokaq.CounterDeltas (Queue, Succeeded)
            SELECT g.Queue, COUNT(*) FROM @Gone AS g GROUP BY g.Queue;

            UPDATE @Asked
            SET Outcome = 'archived'
            WHERE Id IN (SELECT g.Id FROM @Gone AS g);

            /* What was held and is not gone was changed by a rival, and is looked at again. */
            UPDATE i
            SET
                Outcome = CASE
                    WHEN a.Id IS NULL THEN 'not_found'
                    WHEN a.WorkerId IS NULL OR a.WorkerId <> @Owner THEN 'not_owner'
                    WHEN a.AttemptCount <> i.Attempt OR a.ResurrectCount <> i.ResurrectCount THEN 'stale_attempt'
                    ELSE 'already_archived'
                END
            FROM @Asked AS i
            LEFT JOIN chokaq.JobsArchive AS a WITH (FORCESEEK) ON a.Id = i.Id
            WHERE i.Outcome IS NULL AND i.Id NOT IN (SELECT l.Id FROM @Held AS l);
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

    SELECT i.Id AS JobId, i.Outcome FROM @Asked AS i ORDER BY i.Ordinal;
END;
