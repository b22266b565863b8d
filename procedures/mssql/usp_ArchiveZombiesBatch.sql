/*
chokaq.usp_ArchiveZombiesBatch: move one batch of running jobs whose heartbeat ran out to the DLQ, as Zombie

Twin         postgres/archive_zombies_batch.sql
Result       one row: MovedCount, SkippedCount (held by others, or with an id that is in the DLQ or the Archive
             already), HasMore, LastQueue, LastJobId: the key to go on from
Errors       59001
Transaction  joining
Locks        JobsHot (what others hold is skipped), JobsDLQ, counters
Granted to   chokaq_worker
Example      EXECUTE chokaq.usp_ArchiveZombiesBatch @BatchSize = 1000;
*/
CREATE OR ALTER PROCEDURE chokaq.usp_ArchiveZombiesBatch
    @TimeoutSeconds INT = NULL, /* NULL: as each queue says */
    @BatchSize INT = 1000, /* 1-4000 */
    @AfterQueue NVARCHAR(4000) = NULL, /* LastQueue and LastJobId of the batch before */
    @AfterJobId NVARCHAR(4000) = NULL
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* READPAST is error 650 under SNAPSHOT and SERIALIZABLE; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @TimeoutSeconds < 0
        THROW 59001, N'@TimeoutSeconds must be NULL or 0 or more seconds.', 1;

    IF @BatchSize IS NULL OR @BatchSize NOT BETWEEN 1 AND 4000
        THROW 59001, N'@BatchSize must be 1 to 4000.', 1;

    IF chokaq.fn_Utf16Length(@AfterQueue) > 255
        THROW 59001, N'@AfterQueue must be NULL or at most 255 characters.', 1;

    IF chokaq.fn_Utf16Length(@AfterJobId) > 50
        THROW 59001, N'@AfterJobId must be NULL or at most 50 characters.', 1;

    DECLARE
        @AfterId NVARCHAR(50) = COALESCE(@AfterJobId, N''),
        @AfterName NVARCHAR(255) = COALESCE(@AfterQueue, N''),
        @LastJobId NVARCHAR(50),
        @LastQueue NVARCHAR(255),
        @MovedCount INT,
        @Now DATETIME2(7) = SYSUTCDATETIME(),
        @Number BIGINT,
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0),
        @SeenCount INT;

    DECLARE @Seen TABLE (
        Place INT IDENTITY(1, 1) NOT NULL PRIMARY KEY,
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL,
        Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
        TimeoutSeconds INT NOT NULL
    );
    DECLARE @Mine TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        Place INT NOT NULL,
        TimeoutSeconds INT NOT NULL
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
        LastModifiedBy NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
        ResurrectCount INT NOT NULL
    );

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        /*
        One row more than the batch says whether there is more. Read without regard to locks, so that what others
        hold is seen and counted: the delete below decides again.
        */
        INSERT INTO @Seen (Id, Queue, TimeoutSeconds)
        SELECT TOP (@BatchSize + 1) h.Id, h.Queue, COALESCE(@TimeoutSeconds, q.ZombieTimeoutSeconds, 600)
        FROM chokaq.JobsHot AS h WITH (READUNCOMMITTED)
        INNER JOIN chokaq.Queues AS q WITH (READUNCOMMITTED) ON q.Queue = h.Queue
        WHERE h.WorkerId IS NOT NULL
            AND h.Queue >= @AfterName
            AND (h.Queue > @AfterName OR h.Id > @AfterId)
            AND h.Status = 2
            AND h.HeartbeatUtc <= DATEADD(SECOND, -COALESCE(@TimeoutSeconds, q.ZombieTimeoutSeconds, 600), @Now)
        ORDER BY h.Queue, h.Id;

        SET @SeenCount = @@ROWCOUNT;

        SELECT TOP (1) @LastQueue = s.Queue, @LastJobId = s.Id
        FROM @Seen AS s
        WHERE s.Place <= @BatchSize
        ORDER BY s.Place DESC;

        /* An id that has ended before would stop the whole batch at a primary key. GROUP BY: a read without locks can see a row twice. */
        INSERT INTO @Mine (Id, Place, TimeoutSeconds)
        SELECT h.Id, MIN(s.Place), MIN(s.TimeoutSeconds)
        FROM @Seen AS s
        INNER JOIN chokaq.JobsHot AS h WITH (FORCESEEK, UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON h.Id = s.Id
        WHERE s.Place <= @BatchSize
            AND h.Status = 2
            AND h.HeartbeatUtc <= DATEADD(SECOND, -s.TimeoutSeconds, @Now)
            AND NOT EXISTS (SELECT 1 FROM chokaq.JobsDLQ AS d WHERE d.Id = h.Id)
            AND NOT EXISTS (SELECT 1 FROM chokaq.JobsArchive AS a WHERE a.Id = h.Id)
        GROUP BY h.Id
        OPTION (FORCE ORDER, LOOP JOIN);

        /* Decided again by status and heartbeat, for a server that ignores the locks. FORCESEEK: a scan would lock every row on its way. */
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
            deleted.LastModifiedBy,
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
            LastModifiedBy,
            ResurrectCount
        )
        FROM chokaq.JobsHot WITH (ROWLOCK, FORCESEEK)
        WHERE JobsHot.Status = 2
            AND JobsHot.Id IN (
                SELECT m.Id FROM @Mine AS m WHERE JobsHot.HeartbeatUtc <= DATEADD(SECOND, -m.TimeoutSeconds, @Now)
            );

        SET @MovedCount = @@ROWCOUNT;
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
            2,
            CONCAT(
                CONVERT(NVARCHAR(MAX), N'Worker '),
                g.WorkerId,
                N' gave no heartbeat after ',
                CONVERT(NVARCHAR(30), CONVERT(DATETIME2(3), g.HeartbeatUtc), 126),
                N'Z (timeout ',
                m.TimeoutSeconds,
                N' seconds).',
                NCHAR(10) + N'The attempt before ended with: ' + g.ErrorDetails
            ),
            @Now,
            g.ScheduledAtUtc,
            g.StartedAtUtc,
            g.HeartbeatUtc,
            g.CreatedAtUtc,
            g.CreatedBy,
            @Now,
            g.LastModifiedBy,
            g.ResurrectCount,
            @Number + m.Place
        FROM @Gone AS g
        INNER JOIN @Mine AS m ON m.Id = g.Id
        ORDER BY g.Id;

        INSERT INTO chokaq.CounterDeltas (Queue, DeadLettered)
        SELECT g.Queue, COUNT(*) FROM @Gone AS g GROUP BY g.Queue;

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
        @MovedCount AS MovedCount,
        (
            SELECT COUNT(*)
            FROM @Seen AS s
            INNER JOIN chokaq.JobsHot AS h WITH (READUNCOMMITTED) ON h.Id = s.Id
            WHERE s.Place <= @BatchSize AND h.Status = 2 AND h.HeartbeatUtc <= DATEADD(SECOND, -s.TimeoutSeconds, @Now)
        ) AS SkippedCount,
        CONVERT(BIT, CASE WHEN @SeenCount > @BatchSize THEN 1 ELSE 0 END) AS HasMore,
        @LastQueue AS LastQueue,
        @LastJobId AS LastJobId;
END;
