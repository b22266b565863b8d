/*
chokaq.usp_ChangeQueue: the change itself of the usp_SetQueue procedures, with its row in the history

Twin         postgres/change_queue.sql
Result       one row: Outcome and the queue's row
Outcomes     created | updated | unchanged
Errors       59001
Transaction  joining
Locks        Queues, QueueClaims and QueueTotals (a new queue only), history
*/
CREATE OR ALTER PROCEDURE chokaq.usp_ChangeQueue
    @Queue NVARCHAR(4000),
    @ModifiedBy NVARCHAR(4000),
    @IsPaused BIT = NULL, /* NULL keeps, here and below */
    @IsActive BIT = NULL,
    @MaxWorkers INT = NULL,
    @SetsMaxWorkers BIT = 0, /* 1: a NULL is the new value */
    @ZombieTimeoutSeconds INT = NULL,
    @SetsZombieTimeout BIT = 0, /* 1: a NULL is the new value */
    @MaxAttempts INT = NULL,
    @BaseDelaySeconds INT = NULL,
    @BackoffMultiplier FLOAT = NULL,
    @MaxDelaySeconds INT = NULL,
    @JitterSeconds INT = NULL,
    @MaxJobAgeSeconds INT = NULL,
    @ClearMaxJobAge BIT = 0
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    SET ROWCOUNT 0;
    /* Nothing is decided by what others have not committed; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF chokaq.fn_IsName(@Queue, 255) = 0
        THROW 59001, N'@Queue must be 1 to 255 characters without white space at either end.', 1;

    IF chokaq.fn_IsName(@ModifiedBy, 100) = 0
        THROW 59001, N'@ModifiedBy must be 1 to 100 characters without white space at either end.', 1;

    DECLARE
        @Actor NVARCHAR(100) = @ModifiedBy,
        @IsDone BIT = 0,
        @IsNew BIT,
        @LastUpdatedUtc DATETIME2(7),
        @Outcome VARCHAR(20),
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0),
        @QueueName NVARCHAR(255) = @Queue,
        @Round INT = 0;

    DECLARE @Changes TABLE (
        Place INT NOT NULL PRIMARY KEY,
        Name NVARCHAR(40) NOT NULL,
        OldValue NVARCHAR(40) NULL,
        NewValue NVARCHAR(40) NULL
    );
    DECLARE @Row TABLE (
        Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
        IsPaused BIT NOT NULL,
        IsActive BIT NOT NULL,
        MaxWorkers INT NULL,
        ZombieTimeoutSeconds INT NULL,
        MaxAttempts INT NOT NULL,
        BaseDelaySeconds INT NOT NULL,
        BackoffMultiplier FLOAT NOT NULL,
        MaxDelaySeconds INT NOT NULL,
        JitterSeconds INT NOT NULL,
        MaxJobAgeSeconds INT NULL,
        CreatedAtUtc DATETIME2(7) NOT NULL,
        LastUpdatedUtc DATETIME2(7) NOT NULL,
        LastModifiedBy NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL
    );

    WHILE @IsDone = 0
    BEGIN
        BEGIN TRY
            SELECT @Round = @Round + 1, @IsNew = 0, @Outcome = NULL;

            IF @OwnsTransaction = 1
                BEGIN TRANSACTION;

            EXECUTE chokaq.usp_EnsureQueue @Queue = @QueueName, @IsNew = @IsNew OUTPUT;

            /* Once, unless a server that ignores UPDLOCK let a rival change the row in between. */
            WHILE @Outcome IS NULL
            BEGIN
                SELECT @LastUpdatedUtc = q.LastUpdatedUtc
                FROM chokaq.Queues AS q WITH (UPDLOCK, ROWLOCK)
                WHERE q.Queue = @QueueName;

                DELETE FROM @Changes;

                INSERT INTO @Changes (Place, Name, OldValue, NewValue)
                SELECT s.Place, s.Name, s.OldValue, s.NewValue
                FROM chokaq.Queues AS q
                CROSS APPLY (
                    SELECT
                        COALESCE(@IsPaused, q.IsPaused) AS IsPaused,
                        COALESCE(@IsActive, q.IsActive) AS IsActive,
                        CASE WHEN @SetsMaxWorkers = 1 THEN @MaxWorkers ELSE q.MaxWorkers END AS MaxWorkers,
                        CASE
                            WHEN @SetsZombieTimeout = 1 THEN @ZombieTimeoutSeconds
                            ELSE q.ZombieTimeoutSeconds
                        END AS ZombieTimeoutSeconds,
                        COALESCE(@MaxAttempts, q.MaxAttempts) AS MaxAttempts,
                        COALESCE(@BaseDelaySeconds, q.BaseDelaySeconds) AS BaseDelaySeconds,
                        COALESCE(@BackoffMultiplier, q.BackoffMultiplier) AS BackoffMultiplier,
                        COALESCE(@MaxDelaySeconds, q.MaxDelaySeconds) AS MaxDelaySeconds,
                        COALESCE(@JitterSeconds, q.JitterSeconds) AS JitterSeconds,
                        CASE
                            WHEN @ClearMaxJobAge = 0 THEN COALESCE(@MaxJobAgeSeconds, q.MaxJobAgeSeconds)
                        END AS MaxJobAgeSeconds
                ) AS n
                CROSS APPLY ( VALUES
                    (
                        1,
                        N'isPaused',
                        CASE WHEN q.IsPaused = 1 THEN N'true' ELSE N'false' END,
                        CASE WHEN n.IsPaused = 1 THEN N'true' ELSE N'false' END
                    ),
                    (
                        2,
                        N'isActive',
                        CASE WHEN q.IsActive = 1 THEN N'true' ELSE N'false' END,
                        CASE WHEN n.IsActive = 1 THEN N'true' ELSE N'false' END
                    ),
                    (3, N'maxWorkers', CONVERT(NVARCHAR(40), q.MaxWorkers), CONVERT(NVARCHAR(40), n.MaxWorkers)),
                    (
                        4,
                        N'zombieTimeoutSeconds',
                        CONVERT(NVARCHAR(40), q.ZombieTimeoutSeconds),
                        CONVERT(NVARCHAR(40), n.ZombieTimeoutSeconds)
                    ),
                    (5, N'maxAttempts', CONVERT(NVARCHAR(40), q.MaxAttempts), CONVERT(NVARCHAR(40), n.MaxAttempts)),
                    (
                        6,
                        N'baseDelaySeconds',
                        CONVERT(NVARCHAR(40), q.BaseDelaySeconds),
                        CONVERT(NVARCHAR(40), n.BaseDelaySeconds)
                    ),
                    (
                        7,
                        N'backoffMultiplier',
                        chokaq.fn_JsonNumber(q.BackoffMultiplier),
                        chokaq.fn_JsonNumber(n.BackoffMultiplier)
                    ),
                    (
                        8,
                        N'maxDelaySeconds',
                        CONVERT(NVARCHAR(40), q.MaxDelaySeconds),
                        CONVERT(NVARCHAR(40), n.MaxDelaySeconds)
                    ),
                    (
                        9,
                        N'jitterSeconds',
                        CONVERT(NVARCHAR(40), q.JitterSeconds),
                        CONVERT(NVARCHAR(40), n.JitterSeconds)
                    ),
                    (
                        10,
                        N'maxJobAgeSeconds',
                        CONVERT(NVARCHAR(40), q.MaxJobAgeSeconds),
                        CONVERT(NVARCHAR(40), n.MaxJobAgeSeconds)
                    )
                ) AS s (Place, Name, OldValue, NewValue)
                WHERE q.Queue = @QueueName AND COALESCE(s.OldValue, N'null') <> COALESCE(s.NewValue, N'null');

                IF @@ROWCOUNT = 0 AND @IsNew = 0
                    SET @Outcome = 'unchanged';
                ELSE
                BEGIN
                    UPDATE chokaq.Queues
                    SET
                        IsPaused = COALESCE(@IsPaused, IsPaused),
                        IsActive = COALESCE(@IsActive, IsActive),
                        MaxWorkers = CASE WHEN @SetsMaxWorkers = 1 THEN @MaxWorkers ELSE MaxWorkers END,
                        ZombieTimeoutSeconds = CASE
                            WHEN @SetsZombieTimeout = 1 THEN @ZombieTimeoutSeconds
                            ELSE ZombieTimeoutSeconds
                        END,
                        MaxAttempts = COALESCE(@MaxAttempts, MaxAttempts),
                        BaseDelaySeconds = COALESCE(@BaseDelaySeconds, BaseDelaySeconds),
                        BackoffMultiplier = COALESCE(@BackoffMultiplier, BackoffMultiplier),
                        MaxDelaySeconds = COALESCE(@MaxDelaySeconds, MaxDelaySeconds),
                        JitterSeconds = COALESCE(@JitterSeconds, JitterSeconds),
                        MaxJobAgeSeconds = CASE
                            WHEN @ClearMaxJobAge = 0 THEN COALESCE(@MaxJobAgeSeconds, MaxJobAgeSeconds)
                        END,
                        LastUpdatedUtc = SYSUTCDATETIME(),
                        LastModifiedBy = @Actor
                    WHERE Queue = @QueueName AND LastUpdatedUtc = @LastUpdatedUtc;

                    IF @@ROWCOUNT = 1
                        SET @Outcome = CASE WHEN @IsNew = 1 THEN 'created' ELSE 'updated' END;
                END;
            END;

            IF @Outcome <> 'unchanged'
                INSERT INTO chokaq.OperatorHistory (Action, Queue, Actor, JobCount, OldSettings, NewSettings)
                SELECT
                    N'queue_changed',
                    @QueueName,
                    @Actor,
                    0,
                    N'{' +
                    COALESCE(
                        STRING_AGG(N'"' + c.Name + N'": ' + COALESCE(c.OldValue, N'null'), N', ') WITHIN GROUP (
                            ORDER BY c.Place
                        ),
                        N''
                    ) +
                    N'}',
                    N'{' +
                    COALESCE(
                        STRING_AGG(N'"' + c.Name + N'": ' + COALESCE(c.NewValue, N'null'), N', ') WITHIN GROUP (
                            ORDER BY c.Place
                        ),
                        N''
                    ) +
                    N'}'
                FROM @Changes AS c;

            INSERT INTO @Row (
                Queue,
                IsPaused,
                IsActive,
                MaxWorkers,
                ZombieTimeoutSeconds,
                MaxAttempts,
                BaseDelaySeconds,
                BackoffMultiplier,
                MaxDelaySeconds,
                JitterSeconds,
                MaxJobAgeSeconds,
                CreatedAtUtc,
                LastUpdatedUtc,
                LastModifiedBy
            )
            SELECT
                q.Queue,
                q.IsPaused,
                q.IsActive,
                q.MaxWorkers,
                q.ZombieTimeoutSeconds,
                q.MaxAttempts,
                q.BaseDelaySeconds,
                q.BackoffMultiplier,
                q.MaxDelaySeconds,
                q.JitterSeconds,
                q.MaxJobAgeSeconds,
                q.CreatedAtUtc,
                q.LastUpdatedUtc,
                q.LastModifiedBy
            FROM chokaq.Queues AS q
            WHERE q.Queue = @QueueName;

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
        END CATCH;
    END;

    SELECT
        @Outcome AS Outcome,
        r.Queue,
        r.IsPaused,
        r.IsActive,
        r.MaxWorkers,
        r.ZombieTimeoutSeconds,
        r.MaxAttempts,
        r.BaseDelaySeconds,
        r.BackoffMultiplier,
        r.MaxDelaySeconds,
        r.JitterSeconds,
        r.MaxJobAgeSeconds,
        r.CreatedAtUtc,
        r.LastUpdatedUtc,
        r.LastModifiedBy
    FROM @Row AS r;
END;
