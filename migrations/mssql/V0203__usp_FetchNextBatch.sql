/*
chokaq.usp_FetchNextBatch: claim up to @BatchSize due jobs for a worker

Twin         postgres/fetch_next_batch.sql
Result       the claimed jobs in claim order: Priority DESC, due time, arrival
Errors       59001, 59004
Transaction  joining; a queue with MaxWorkers is held for the rest of it
Locks        QueueClaims (capped queues only), JobsHot: the rows it takes, and rows that became due since the fetch
             before; what rivals hold is skipped
Granted to   chokaq_worker
Example      EXECUTE chokaq.usp_FetchNextBatch @WorkerId = N'worker-1', @BatchSize = 10, @Queues = N'["mail"]';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_FetchNextBatch
    @WorkerId NVARCHAR(4000),
    @BatchSize INT = 10, /* 1-1000 */
    @Queues NVARCHAR(MAX) = NULL, /* JSON array of names; NULL: all */
    @StartNow BIT = 0 /* 1: started in the same write */
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* READPAST is error 650 under SNAPSHOT and SERIALIZABLE; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF chokaq.fn_IsName(@WorkerId, 100) = 0
        THROW 59001, N'@WorkerId must be 1 to 100 characters without white space at either end.', 1;

    IF @BatchSize IS NULL OR @BatchSize NOT BETWEEN 1 AND 1000
        THROW 59001, N'@BatchSize must be 1 to 1000.', 1;

    IF @StartNow IS NULL
        THROW 59001, N'@StartNow must be 0 or 1.', 1;

    EXECUTE chokaq.usp_CheckQueues @Queues = @Queues;

    DECLARE
        @Head NVARCHAR(255),
        @HeadCount INT,
        @HorizonArrival BIGINT,
        @HorizonDue DATETIME2(7),
        @HorizonPriority INT,
        @Left INT = @BatchSize,
        @Now DATETIME2(7) = SYSUTCDATETIME(),
        @Owner NVARCHAR(100) = @WorkerId,
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0),
        @Reach INT = 0,
        @Want INT;

    DECLARE @Open TABLE (
        Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        MaxWorkers INT NULL,
        IsHeld BIT NOT NULL,
        IsShut BIT NOT NULL
    );
    DECLARE @Heads TABLE (
        Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        Room INT NULL, /* NULL: no limit */
        NeedsHold BIT NOT NULL
    );
    DECLARE @Held TABLE (
        Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY
    );
    DECLARE @Seen TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL,
        Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
        Room INT NULL,
        Priority INT NOT NULL,
        DueAtUtc DATETIME2(7) NOT NULL,
        Arrival BIGINT NOT NULL,
        Place BIGINT NOT NULL,
        PRIMARY KEY (Queue, Place) /* not Id: a row that is moved while it is read can be seen twice */
    );
    DECLARE @Certain TABLE (
        Rank BIGINT NOT NULL PRIMARY KEY,
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL
    );
    DECLARE @Chosen TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        Revision BIGINT NOT NULL
    );
    /* No table variable: Babelfish cannot send a payload of a megabyte out of one. */
    CREATE TABLE #Claimed (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
        Type NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
        Payload NVARCHAR(MAX) COLLATE Latin1_General_BIN2 NULL,
        Tags NVARCHAR(1000) COLLATE Latin1_General_BIN2 NULL,
        Priority INT NOT NULL,
        AttemptCount INT NOT NULL,
        IdempotencyKey NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
        ScheduledAtUtc DATETIME2(7) NULL,
        CreatedAtUtc DATETIME2(7) NOT NULL,
        CreatedBy NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
        ResurrectCount INT NOT NULL,
        DueAtUtc DATETIME2(7) NOT NULL,
        Arrival BIGINT NOT NULL
    );

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        /* A queue that somebody is just making or changing sits this fetch out, and stops no other queue. */
        INSERT INTO @Open (Queue, MaxWorkers, IsHeld, IsShut)
        SELECT q.Queue, q.MaxWorkers, 0, 0
        FROM chokaq.Queues AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE q.IsPaused = 0
            AND q.IsActive = 1
            AND (@Queues IS NULL OR q.Queue IN (SELECT t.Value FROM chokaq.fn_JsonTexts(@Queues) AS t));

        /* Nearly always nothing has become due, and a walk over the queues is saved; a job of a paused queue keeps it up. */
        IF EXISTS (
               SELECT 1
               FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_DueAtUtc), FORCESEEK, READUNCOMMITTED)
               WHERE h.WorkerId IS NULL AND h.IsDue = 0 AND h.DueAtUtc <= @Now
           )
            EXECUTE chokaq.usp_PromoteJobs @Queues = @Queues, @BatchSize = @BatchSize, @IsAlone = @OwnsTransaction;

        /*
        All queues together, in the order of the claim, whatever their number. Not where a queue with a limit is in
        sight: its claim takes more care. What a rival or a closed queue leaves undone is done queue by queue below.
        */
        IF @Queues IS NULL
        BEGIN
            INSERT INTO @Seen (Id, Queue, Room, Priority, DueAtUtc, Arrival, Place)
            SELECT TOP (2 * @BatchSize + 16)
                h.Id,
                h.Queue,
                NULL,
                h.Priority,
                h.DueAtUtc,
                h.Arrival,
                ROW_NUMBER() OVER (ORDER BY h.Priority DESC, h.DueAtUtc, h.Arrival)
            FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Priority_DueAtUtc_Arrival), ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE h.WorkerId IS NULL AND h.IsDue = 1
            ORDER BY h.Priority DESC, h.DueAtUtc, h.Arrival;

            IF NOT EXISTS (
                   SELECT 1
                   FROM @Seen AS s
                   INNER JOIN @Open AS o ON o.Queue = s.Queue
                   WHERE o.MaxWorkers IS NOT NULL
               )
            BEGIN
                INSERT INTO @Certain (Rank, Id)
                SELECT MIN(s.Place), s.Id
                FROM @Seen AS s
                INNER JOIN @Open AS o ON o.Queue = s.Queue
                GROUP BY s.Id;

                INSERT INTO @Chosen (Id, Revision)
                SELECT TOP (@Left) h.Id, h.Revision
                FROM @Certain AS c
                INNER JOIN chokaq.JobsHot AS h WITH (FORCESEEK, UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
                    ON h.Id = c.Id
                WHERE h.WorkerId IS NULL AND h.IsDue = 1
                ORDER BY c.Rank
                OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);
            END;
        END;

        WHILE @Left > 0
        BEGIN
            DELETE FROM @Heads;

            IF NOT EXISTS (SELECT 1 FROM @Chosen AS c)
            BEGIN
                /*
                The best heads of the open queues: no more of them than jobs are wanted can matter. Indexes are named, because
                a plan made on an empty table would scan, and lock, a full one. Workers of a queue that is not held are counted
                dirty, not to wait for whoever is ending a job; of a held one exactly: READPAST would overlook jobs in motion.
                */
                INSERT INTO @Heads (Queue, Room, NeedsHold)
                SELECT TOP (@Left)
                    o.Queue,
                    r.Room,
                    CASE WHEN o.MaxWorkers IS NOT NULL AND o.IsHeld = 0 THEN 1 ELSE 0 END
                FROM @Open AS o
                CROSS APPLY (
                    SELECT
                        CASE
                            WHEN o.MaxWorkers IS NULL THEN NULL
                            WHEN o.IsHeld = 1 THEN o.MaxWorkers -
                            (
                                SELECT COUNT(*)
                                FROM chokaq.JobsHot AS w WITH (INDEX(IX_JobsHot_Queue_Id), FORCESEEK)
                                WHERE w.Queue = o.Queue AND w.WorkerId IS NOT NULL
                            )
                            ELSE o.MaxWorkers -
                            (
                                SELECT COUNT(*)
                                FROM chokaq.JobsHot AS w WITH (INDEX(IX_JobsHot_Queue_Id), FORCESEEK, READUNCOMMITTED)
                                WHERE w.Queue = o.Queue AND w.WorkerId IS NOT NULL
                            )
                        END AS Room
                ) AS r
                CROSS APPLY (
                    SELECT TOP (1) h.Priority, h.DueAtUtc, h.Arrival
                    FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_Priority_DueAtUtc_Arrival), FORCESEEK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
                    WHERE h.Queue = o.Queue AND h.WorkerId IS NULL AND h.IsDue = 1
                    ORDER BY h.Priority DESC, h.DueAtUtc, h.Arrival
                ) AS f
                WHERE o.IsShut = 0 AND (o.MaxWorkers IS NULL OR r.Room > 0)
                ORDER BY f.Priority DESC, f.DueAtUtc, f.Arrival
                OPTION (FORCE ORDER, LOOP JOIN);

                SET @HeadCount = @@ROWCOUNT;

                IF @HeadCount = 0
                    BREAK;

                IF EXISTS (SELECT 1 FROM @Heads AS d WHERE d.NeedsHold = 1)
                BEGIN
                    /*
                    Whoever holds the queue's claim may count and claim, one at a time and until it commits: that is what
                    makes MaxWorkers exact. A queue in a rival's hands is left to the rival.
                    */
                    DELETE FROM @Held;

                    INSERT INTO @Held (Queue)
                    SELECT c.Queue
                    FROM chokaq.QueueClaims AS c WITH (FORCESEEK, UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
                    WHERE c.Queue IN (SELECT d.Queue FROM @Heads AS d WHERE d.NeedsHold = 1);

                    UPDATE chokaq.QueueClaims
                    SET LastClaimAtUtc = @Now
                    FROM chokaq.QueueClaims WITH (ROWLOCK, FORCESEEK)
                    WHERE QueueClaims.Queue IN (SELECT t.Queue FROM @Held AS t);

                    UPDATE @Open
                    SET IsHeld = 1
                    WHERE Queue IN (SELECT t.Queue FROM @Held AS t);

                    UPDATE @Open
                    SET IsShut = 1
                    WHERE IsHeld = 0 AND Queue IN (SELECT d.Queue FROM @Heads AS d WHERE d.NeedsHold = 1);

                    CONTINUE;
                END;

                IF @HeadCount = 1 AND @Reach = 0
                BEGIN
                    SELECT @Head = d.Queue, @Want = CASE WHEN d.Room < @Left THEN d.Room ELSE @Left END
                    FROM @Heads AS d;

                    INSERT INTO @Chosen (Id, Revision)
                    SELECT TOP (@Want) h.Id, h.Revision
                    FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_Priority_DueAtUtc_Arrival), FORCESEEK, UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
                    WHERE h.Queue = @Head AND h.WorkerId IS NULL AND h.IsDue = 1 AND h.Status = 0
                    ORDER BY h.Priority DESC, h.DueAtUtc, h.Arrival;

                    IF @@ROWCOUNT < @Left
                        UPDATE @Open
                        SET IsShut = 1
                        WHERE Queue = @Head;
                END;
                ELSE
                BEGIN
                    SET @Reach = (
                            SELECT MAX(n.Reach)
                            FROM (VALUES
                                (@Reach),
                                (4),
                                (2 * @Left / @HeadCount)
                            ) AS n (Reach)
                        );

                    /* Read without keeping a lock, @Reach rows of each head. */
                    DELETE FROM @Seen;

                    INSERT INTO @Seen (Id, Queue, Room, Priority, DueAtUtc, Arrival, Place)
                    SELECT s.Id, d.Queue, d.Room, s.Priority, s.DueAtUtc, s.Arrival, s.Place
                    FROM @Heads AS d
                    CROSS APPLY (
                        SELECT TOP (@Reach)
                            h.Id,
                            h.Priority,
                            h.DueAtUtc,
                            h.Arrival,
                            ROW_NUMBER() OVER (ORDER BY h.Priority DESC, h.DueAtUtc, h.Arrival) AS Place
                        FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_Priority_DueAtUtc_Arrival), FORCESEEK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
                        WHERE h.Queue = d.Queue AND h.WorkerId IS NULL AND h.IsDue = 1
                        ORDER BY h.Priority DESC, h.DueAtUtc, h.Arrival
                    ) AS s
                    OPTION (FORCE ORDER, LOOP JOIN);

                    /* Behind the last row read of a queue may be more: only what comes before all of these is certain. */
                    SET @HorizonPriority = NULL;

                    SELECT TOP (1) @HorizonPriority = s.Priority, @HorizonDue = s.DueAtUtc, @HorizonArrival = s.Arrival
                    FROM @Seen AS s
                    WHERE s.Place = @Reach
                    ORDER BY s.Priority DESC, s.DueAtUtc, s.Arrival;

                    /* GROUP BY: a row that is moved while it is read can be seen twice. */
                    DELETE FROM @Certain;

                    INSERT INTO @Certain (Rank, Id)
                    SELECT ROW_NUMBER() OVER (ORDER BY MAX(s.Priority) DESC, MIN(s.DueAtUtc), MIN(s.Arrival)), s.Id
                    FROM @Seen AS s
                    WHERE (s.Room IS NULL OR s.Place <= s.Room)
                        AND (
                            @HorizonPriority IS NULL
                            OR s.Priority > @HorizonPriority
                            OR (s.Priority = @HorizonPriority AND s.DueAtUtc < @HorizonDue)
                            OR (
                                s.Priority = @HorizonPriority
                                AND s.DueAtUtc = @HorizonDue
                                AND s.Arrival <= @HorizonArrival
                            )
                        )
                    GROUP BY s.Id;

                    /* In the order of a key, so that no sort stands between the locks and TOP: no more is locked than is taken. */
                    INSERT INTO @Chosen (Id, Revision)
                    SELECT TOP (@Left) h.Id, h.Revision
                    FROM @Certain AS c
                    INNER JOIN chokaq.JobsHot AS h WITH (FORCESEEK, UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
                        ON h.Id = c.Id
                    WHERE h.WorkerId IS NULL AND h.IsDue = 1
                    ORDER BY c.Rank
                    OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

                    IF @@ROWCOUNT = 0
                    BEGIN
                        /* All in rivals' hands: look further, and when the end of these queues is in sight, to the next ones. */
                        IF @HorizonPriority IS NULL
                        BEGIN
                            UPDATE @Open
                            SET IsShut = 1
                            WHERE Queue IN (SELECT d.Queue FROM @Heads AS d);
                            SET @Reach = 0;
                        END;
                        ELSE
                            SET @Reach = 4 * @Reach;
                        CONTINUE;
                    END;
                END;
            END;

            /* The guard decides, not the hints: a server that ignores them waits here, and finds the row taken. */
            UPDATE chokaq.JobsHot
            SET
                Status = CASE WHEN @StartNow = 1 THEN 2 ELSE 1 END,
                AttemptCount = JobsHot.AttemptCount + CASE WHEN @StartNow = 1 THEN 1 ELSE 0 END,
                WorkerId = @Owner,
                FetchedAtUtc = @Now,
                StartedAtUtc = CASE WHEN @StartNow = 1 THEN @Now END,
                HeartbeatUtc = @Now,
                LastUpdatedUtc = @Now
            OUTPUT
                inserted.Id,
                inserted.Queue,
                inserted.Type,
                inserted.Payload,
                inserted.Tags,
                inserted.Priority,
                inserted.AttemptCount,
                inserted.IdempotencyKey,
                inserted.ScheduledAtUtc,
                inserted.CreatedAtUtc,
                inserted.CreatedBy,
                inserted.ResurrectCount,
                inserted.DueAtUtc,
                inserted.Arrival
            INTO #Claimed (
                Id,
                Queue,
                Type,
                Payload,
                Tags,
                Priority,
                AttemptCount,
                IdempotencyKey,
                ScheduledAtUtc,
                CreatedAtUtc,
                CreatedBy,
                ResurrectCount,
                DueAtUtc,
                Arrival
            )
            FROM chokaq.JobsHot WITH (ROWLOCK, FORCESEEK)
            WHERE JobsHot.Id IN (SELECT c.Id FROM @Chosen AS c WHERE c.Revision = JobsHot.Revision)
                AND JobsHot.WorkerId IS NULL
                AND JobsHot.IsDue = 1;

            SET @Left = @Left - @@ROWCOUNT;
            DELETE FROM @Chosen;
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
        c.Id AS JobId,
        c.Queue,
        c.Type,
        c.Payload,
        c.Tags,
        c.Priority,
        c.AttemptCount,
        c.IdempotencyKey,
        c.ScheduledAtUtc,
        c.CreatedAtUtc,
        c.CreatedBy,
        c.ResurrectCount
    FROM #Claimed AS c
    ORDER BY c.Priority DESC, c.DueAtUtc, c.Arrival;
END;
