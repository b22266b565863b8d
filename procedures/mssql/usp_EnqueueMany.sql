/*
chokaq.usp_EnqueueMany: put up to 10,000 jobs into their queues, as if by one usp_Enqueue after the other

Twin         postgres/enqueue_many.sql
Result       one row each, in order: Ordinal (from 1), Outcome, JobId
Outcomes     enqueued | duplicate_key (JobId is the live job's) | duplicate_id
Errors       59001, naming the element and the field; 59004
Transaction  joining
Locks        Queues (new ones only), JobsHot, counters
Granted to   chokaq_worker
Example      EXECUTE chokaq.usp_EnqueueMany @Jobs = N'[{"queue": "mail", "type": "email_v1", "payload": "{}"}]';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_EnqueueMany
    @Jobs NVARCHAR(MAX) /* JSON array of objects: the parameters of usp_Enqueue in camelCase */
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

    IF (SELECT COUNT(*) FROM OPENJSON(@Jobs) AS j) > 10000
        THROW 59001, N'@Jobs must be an array of at most 10000 objects.', 1;

    DECLARE
        @IsDone BIT = 0,
        @IsEscaped BIT,
        @Now DATETIME2(7),
        @Number BIGINT,
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0),
        @Problem NVARCHAR(2048),
        @Queue NVARCHAR(255),
        @Round INT = 0;

    /* A row per field, as OPENJSON gives it: a value of the wrong type is seen before anything is read from it. */
    DECLARE @Fields TABLE (
        Ordinal INT NOT NULL,
        Name NVARCHAR(4000) COLLATE Latin1_General_BIN2 NULL, /* NULL: the element itself */
        Value NVARCHAR(MAX) COLLATE Latin1_General_BIN2 NULL,
        JsonType INT NOT NULL
    );
    /* Twice as wide as the limits: a server that counts characters may hold two code units in each. */
    DECLARE @Asked TABLE (
        Ordinal INT NOT NULL PRIMARY KEY,
        Queue NVARCHAR(512) COLLATE Latin1_General_BIN2 NULL,
        Type NVARCHAR(512) COLLATE Latin1_General_BIN2 NULL,
        Payload NVARCHAR(MAX) COLLATE Latin1_General_BIN2 NULL,
        GivenId NVARCHAR(102) COLLATE Latin1_General_BIN2 NULL,
        Tags NVARCHAR(2002) COLLATE Latin1_General_BIN2 NULL,
        Priority NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
        DelaySeconds NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
        ScheduledAtUtc NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
        IdempotencyKey NVARCHAR(512) COLLATE Latin1_General_BIN2 NULL,
        CreatedBy NVARCHAR(202) COLLATE Latin1_General_BIN2 NULL,
        DueAtUtc DATETIME2(7) NULL,
        Outcome VARCHAR(20) NULL,
        JobId NVARCHAR(50) COLLATE Latin1_General_BIN2 NULL
    );
    DECLARE @Met TABLE (
        Ordinal INT NOT NULL PRIMARY KEY,
        JobId NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL
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
                WHEN RIGHT(x.Name, 1) = N' ' THEN LEFT(x.Name, 100) + N' is not a field of a job.'
                WHEN x.Name IN (
                    N'queue',
                    N'type',
                    N'payload',
                    N'jobId',
                    N'tags',
                    N'idempotencyKey',
                    N'createdBy',
                    N'scheduledAtUtc'
                ) THEN CASE WHEN x.JsonType NOT IN (0, 1) THEN x.Name + N' must be a string.' END
                WHEN x.Name IN (N'priority', N'delaySeconds') THEN CASE
                    WHEN x.JsonType NOT IN (0, 2) THEN x.Name + N' must be an integer.'
                END
                ELSE LEFT(x.Name, 100) + N' is not a field of a job.'
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

    /* LEFT keeps one character more than the limit, so that an over-long value is still over-long below. */
    INSERT INTO @Asked (
        Ordinal,
        Queue,
        Type,
        Payload,
        GivenId,
        Tags,
        Priority,
        DelaySeconds,
        ScheduledAtUtc,
        IdempotencyKey,
        CreatedBy
    )
    SELECT
        f.Ordinal,
        MAX(CASE WHEN f.Name = N'queue' THEN LEFT(f.Value, 256) END),
        MAX(CASE WHEN f.Name = N'type' THEN LEFT(f.Value, 256) END),
        MAX(CASE WHEN f.Name = N'payload' THEN f.Value END),
        MAX(CASE WHEN f.Name = N'jobId' THEN LEFT(f.Value, 51) END),
        MAX(CASE WHEN f.Name = N'tags' THEN LEFT(f.Value, 1001) END),
        COALESCE(MAX(CASE WHEN f.Name = N'priority' THEN LEFT(f.Value, 50) END), N'10'),
        COALESCE(MAX(CASE WHEN f.Name = N'delaySeconds' THEN LEFT(f.Value, 50) END), N'0'),
        MAX(CASE WHEN f.Name = N'scheduledAtUtc' THEN LEFT(f.Value, 50) END),
        MAX(CASE WHEN f.Name = N'idempotencyKey' THEN LEFT(f.Value, 256) END),
        MAX(CASE WHEN f.Name = N'createdBy' THEN LEFT(f.Value, 101) END)
    FROM @Fields AS f
    GROUP BY f.Ordinal;

    SELECT TOP (1) @Problem = CONCAT(N'@Jobs element ', a.Ordinal, N': ', a.Problem)
    FROM (
        SELECT
            x.Ordinal,
            CASE
                WHEN chokaq.fn_IsName(
                    x.Queue,
                    255
                ) = 0 THEN N'queue must be 1 to 255 characters without white space at either end.'
                WHEN chokaq.fn_IsName(
                    x.Type,
                    255
                ) = 0 THEN N'type must be 1 to 255 characters without white space at either end.'
                WHEN x.GivenId IS NOT NULL
                AND chokaq.fn_IsName(
                    x.GivenId,
                    50
                ) = 0 THEN N'jobId must be 1 to 50 characters without white space at either end.'
                WHEN chokaq.fn_Utf16Length(x.Tags) > 1000 THEN N'tags must be at most 1000 characters.'
                WHEN x.IdempotencyKey IS NOT NULL
                AND chokaq.fn_IsName(
                    x.IdempotencyKey,
                    255
                ) = 0 THEN N'idempotencyKey must be 1 to 255 characters without white space at either end.'
                WHEN x.CreatedBy IS NOT NULL
                AND chokaq.fn_IsName(
                    x.CreatedBy,
                    100
                ) = 0 THEN N'createdBy must be 1 to 100 characters without white space at either end.'
                WHEN TRY_CONVERT(INT, x.Priority) IS NULL THEN N'priority must be an integer.'
                WHEN TRY_CONVERT(INT, x.DelaySeconds) IS NULL
                OR TRY_CONVERT(INT, x.DelaySeconds) < 0 THEN N'delaySeconds must be 0 or more seconds.'
                WHEN x.ScheduledAtUtc IS NOT NULL
                AND x.DelaySeconds <> N'0' THEN N'delaySeconds must be 0 when scheduledAtUtc is given.'
                WHEN x.ScheduledAtUtc NOT LIKE N'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]%Z'
                OR LEN(x.ScheduledAtUtc) > 28
                OR SUBSTRING(x.ScheduledAtUtc, 12, 2) > N'23'
                OR SUBSTRING(x.ScheduledAtUtc, 20, 30) LIKE N'%[^0-9.Z]%'
                OR x.ScheduledAtUtc IS NOT NULL
                AND TRY_CONVERT(
                    DATETIME2(7),
                    LEFT(x.ScheduledAtUtc, LEN(x.ScheduledAtUtc) - 1),
                    126
                ) IS NULL THEN N'scheduledAtUtc must be a time in UTC such as 2026-01-31T08:00:00Z.'
            END AS Problem
        FROM @Asked AS x
    ) AS a
    WHERE a.Problem IS NOT NULL
    ORDER BY a.Ordinal;

    IF @Problem IS NOT NULL
        THROW 59001, @Problem, 1;

    WHILE @IsDone = 0
    BEGIN
        BEGIN TRY
            SET @Round = @Round + 1;

            IF @OwnsTransaction = 1
                BEGIN TRANSACTION;

            WHILE 1 = 1
            BEGIN
                SET @Queue = (
                        SELECT MIN(a.Queue)
                        FROM @Asked AS a
                        WHERE NOT EXISTS (SELECT 1 FROM chokaq.Queues AS q WHERE q.Queue = a.Queue)
                    );

                IF @Queue IS NULL
                    BREAK;

                EXECUTE chokaq.usp_EnsureQueue @Queue = @Queue;
            END;

            SET @Now = SYSUTCDATETIME();
            SET @Number = NEXT VALUE FOR chokaq.JobNumbers;

            UPDATE @Asked
            SET
                DueAtUtc = CASE
                    WHEN ScheduledAtUtc IS NULL THEN DATEADD(SECOND, CONVERT(INT, DelaySeconds), @Now)
                    ELSE CONVERT(DATETIME2(7), LEFT(ScheduledAtUtc, LEN(ScheduledAtUtc) - 1), 126)
                END;

            /* A turn settles every duplicate of what is there and adds the first of what is not, until all are settled. */
            WHILE EXISTS (SELECT 1 FROM @Asked AS a WHERE a.Outcome IS NULL)
            BEGIN
                /* Met in key order, one seek each: two calls that share keys or ids wait for each other in one direction only. */
                DELETE FROM @Met;

                INSERT INTO @Met (Ordinal, JobId)
                SELECT k.Ordinal, h.Id
                FROM (
                    SELECT TOP (10000) a.Ordinal, CONVERT(NVARCHAR(255), a.IdempotencyKey) AS IdempotencyKey
                    FROM @Asked AS a
                    WHERE a.Outcome IS NULL AND a.IdempotencyKey IS NOT NULL
                    ORDER BY a.IdempotencyKey
                ) AS k
                INNER JOIN chokaq.JobsHot AS h WITH (UPDLOCK, HOLDLOCK, ROWLOCK, FORCESEEK)
                    ON h.IdempotencyKey = k.IdempotencyKey AND h.IdempotencyKey IS NOT NULL
                OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

                UPDATE a
                SET Outcome = 'duplicate_key', JobId = m.JobId
                FROM @Asked AS a
                INNER JOIN @Met AS m ON m.Ordinal = a.Ordinal;

                DELETE FROM @Met;

                INSERT INTO @Met (Ordinal, JobId)
                SELECT k.Ordinal, h.Id
                FROM (
                    SELECT TOP (10000) a.Ordinal, CONVERT(NVARCHAR(50), a.GivenId) AS GivenId
                    FROM @Asked AS a
                    WHERE a.Outcome IS NULL AND a.GivenId IS NOT NULL
                    ORDER BY a.GivenId
                ) AS k
                INNER JOIN chokaq.JobsHot AS h WITH (UPDLOCK, HOLDLOCK, ROWLOCK, FORCESEEK) ON h.Id = k.GivenId
                OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

                /* One that shares its key with an earlier job waits for what becomes of that one: the key decides first. */
                IF EXISTS (SELECT 1 FROM @Met AS m)
                    UPDATE a
                    SET Outcome = 'duplicate_id', JobId = m.JobId
                    FROM @Asked AS a
                    INNER JOIN @Met AS m ON m.Ordinal = a.Ordinal
                    INNER JOIN (
                        SELECT
                            w.Ordinal,
                            ROW_NUMBER() OVER (PARTITION BY w.IdempotencyKey ORDER BY w.Ordinal) AS KeyPlace
                        FROM @Asked AS w
                        WHERE w.Outcome IS NULL
                    ) AS f ON f.Ordinal = a.Ordinal
                    WHERE a.IdempotencyKey IS NULL OR f.KeyPlace = 1;

                UPDATE a
                SET Outcome = 'adding', JobId = COALESCE(a.GivenId, chokaq.fn_JobIdAt(@Now, NEWID()))
                FROM @Asked AS a
                INNER JOIN (
                    SELECT
                        w.Ordinal,
                        ROW_NUMBER() OVER (PARTITION BY w.IdempotencyKey ORDER BY w.Ordinal) AS KeyPlace,
                        ROW_NUMBER() OVER (PARTITION BY w.GivenId ORDER BY w.Ordinal) AS IdPlace
                    FROM @Asked AS w
                    WHERE w.Outcome IS NULL
                ) AS f ON f.Ordinal = a.Ordinal
                WHERE (a.IdempotencyKey IS NULL OR f.KeyPlace = 1)
                    AND (a.GivenId IS NULL OR f.IdPlace = 1)
                    AND NOT EXISTS (SELECT 1 FROM @Met AS m WHERE m.Ordinal = a.Ordinal);

                INSERT INTO chokaq.JobsHot (
                    Id,
                    Queue,
                    Type,
                    Payload,
                    Tags,
                    IdempotencyKey,
                    Priority,
                    Status,
                    DueAtUtc,
                    IsDue,
                    FirstDueAtUtc,
                    Arrival,
                    ScheduledAtUtc,
                    CreatedAtUtc,
                    CreatedBy,
                    LastUpdatedUtc,
                    Revision
                )
                SELECT
                    a.JobId,
                    a.Queue,
                    a.Type,
                    a.Payload,
                    a.Tags,
                    a.IdempotencyKey,
                    CONVERT(INT, a.Priority),
                    0,
                    a.DueAtUtc,
                    CASE WHEN a.DueAtUtc <= @Now THEN 1 ELSE 0 END,
                    a.DueAtUtc,
                    @Number + a.Ordinal - 1,
                    CASE WHEN a.ScheduledAtUtc IS NOT NULL OR a.DelaySeconds <> N'0' THEN a.DueAtUtc END,
                    @Now,
                    a.CreatedBy,
                    @Now,
                    @Number + a.Ordinal - 1
                FROM @Asked AS a
                WHERE a.Outcome = 'adding'
                ORDER BY a.GivenId, a.IdempotencyKey, a.Ordinal;

                /* An id that the caller chose may have ended before: such a job leaves again, now that its id is held in Hot. */
                DELETE FROM @Met;

                INSERT INTO @Met (Ordinal, JobId)
                SELECT a.Ordinal, a.JobId
                FROM @Asked AS a
                WHERE a.Outcome = 'adding'
                    AND a.GivenId IS NOT NULL
                    AND (
                        EXISTS (SELECT 1 FROM chokaq.JobsArchive AS r WITH (READCOMMITTEDLOCK) WHERE r.Id = a.JobId)
                        OR EXISTS (SELECT 1 FROM chokaq.JobsDLQ AS d WITH (READCOMMITTEDLOCK) WHERE d.Id = a.JobId)
                    );

                DELETE chokaq.JobsHot
                FROM chokaq.JobsHot WITH (ROWLOCK, FORCESEEK)
                WHERE JobsHot.Id IN (SELECT m.JobId FROM @Met AS m);

                UPDATE a
                SET Outcome = 'duplicate_id'
                FROM @Asked AS a
                INNER JOIN @Met AS m ON m.Ordinal = a.Ordinal;

                UPDATE @Asked
                SET Outcome = 'enqueued'
                WHERE Outcome = 'adding';
            END;

            INSERT INTO chokaq.CounterDeltas (Queue, Enqueued)
            SELECT a.Queue, COUNT(*) FROM @Asked AS a WHERE a.Outcome = 'enqueued' GROUP BY a.Queue;

            IF @OwnsTransaction = 1
                COMMIT TRANSACTION;

            SET @IsDone = 1;
        END TRY
        BEGIN CATCH
            IF @OwnsTransaction = 1 AND XACT_STATE() <> 0
                ROLLBACK TRANSACTION;

            /* A server that ignores HOLDLOCK lets a rival in between: its row is there now, so look again. */
            IF @OwnsTransaction = 0 OR ERROR_NUMBER() NOT IN (2601, 2627) OR @Round >= 10
                THROW;

            UPDATE @Asked
            SET Outcome = NULL, JobId = NULL;
        END CATCH;
    END;

    EXECUTE chokaq.usp_FoldSometimes;

    SELECT a.Ordinal, a.Outcome, a.JobId FROM @Asked AS a ORDER BY a.Ordinal;
END;
