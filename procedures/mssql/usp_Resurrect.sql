/*
chokaq.usp_Resurrect: edit a job of the DLQ and put it back into its queue, in one step

Twin         postgres/resurrect.sql
Result       one row: Outcome, Queue
Outcomes     resurrected | not_found | changed (not at @ExpectedRevision) | key_conflict (the key is a live job's)
Errors       59001, 59004, 59090
Transaction  joining
Locks        JobsDLQ, JobsHot, counters, history
Granted to   chokaq_operator
Example      EXECUTE chokaq.usp_Resurrect @JobId = N'a1', @NewPayload = N'{"to": "ann@example.com"}', @ResurrectedBy = N'ann';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_Resurrect
    @JobId NVARCHAR(4000),
    @NewPayload NVARCHAR(MAX) = NULL, /* NULL keeps */
    @NewTags NVARCHAR(4000) = NULL, /* NULL keeps */
    @NewPriority INT = NULL, /* NULL: 10 */
    @ResurrectedBy NVARCHAR(4000) = NULL, /* required */
    @AllowInvalidJson BIT = 0,
    @DelaySeconds INT = 0,
    @KeepIdempotencyKey BIT = 0,
    @ExpectedRevision BIGINT = NULL
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* Nothing is decided by what others have not committed; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF chokaq.fn_IsName(@JobId, 50) = 0
        THROW 59001, N'@JobId must be 1 to 50 characters without white space at either end.', 1;

    IF chokaq.fn_Utf16Length(@NewTags) > 1000
        THROW 59001, N'@NewTags must be NULL or at most 1000 characters.', 1;

    IF chokaq.fn_IsName(@ResurrectedBy, 100) = 0
        THROW 59001, N'@ResurrectedBy must be 1 to 100 characters without white space at either end.', 1;

    IF @AllowInvalidJson IS NULL
        THROW 59001, N'@AllowInvalidJson must be 0 or 1.', 1;

    IF @DelaySeconds IS NULL OR @DelaySeconds < 0
        THROW 59001, N'@DelaySeconds must be 0 or more seconds.', 1;

    IF @KeepIdempotencyKey IS NULL
        THROW 59001, N'@KeepIdempotencyKey must be 0 or 1.', 1;

    IF @AllowInvalidJson = 0
        EXECUTE chokaq.usp_CheckJson @Value = @NewPayload, @Parameter = N'@NewPayload', @IsKept = 1;

    DECLARE
        @Actor NVARCHAR(100) = @ResurrectedBy,
        @Due DATETIME2(7),
        @Id NVARCHAR(50) = @JobId,
        @Key NVARCHAR(255),
        @Message NVARCHAR(2048),
        @Now DATETIME2(7),
        @Number BIGINT,
        @OldRevision BIGINT,
        @Outcome VARCHAR(20),
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0),
        @Queue NVARCHAR(255),
        @Round INT = 0;

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

    WHILE @Outcome IS NULL
    BEGIN
        BEGIN TRY
            SELECT @Round = @Round + 1, @Queue = NULL, @Key = NULL;

            DELETE FROM @Gone;

            IF @OwnsTransaction = 1 AND @@TRANCOUNT = 0
                BEGIN TRANSACTION;

            SELECT
                @Queue = d.Queue,
                @OldRevision = d.Revision,
                @Key = CASE WHEN @KeepIdempotencyKey = 1 THEN d.IdempotencyKey END
            FROM chokaq.JobsDLQ AS d WITH (UPDLOCK, ROWLOCK)
            WHERE d.Id = @Id;

            SET @Outcome = CASE
                    WHEN @Queue IS NULL THEN 'not_found'
                    WHEN @OldRevision <> @ExpectedRevision THEN 'changed'
                    WHEN EXISTS (
                        SELECT 1
                        FROM chokaq.JobsHot AS h WITH (UPDLOCK, HOLDLOCK)
                        WHERE h.IdempotencyKey = @Key AND h.IdempotencyKey IS NOT NULL
                    ) THEN 'key_conflict'
                END;

            /* The revision is the guard on a server that ignores UPDLOCK: no row left at it means look again. */
            IF @Outcome IS NULL
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
                WHERE Id = @Id AND Revision = @OldRevision;

            IF EXISTS (SELECT 1 FROM @Gone AS g)
            BEGIN
                SET @Now = SYSUTCDATETIME();
                SET @Due = DATEADD(SECOND, @DelaySeconds, @Now);
                SET @Number = NEXT VALUE FOR chokaq.JobNumbers;

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
                    LastModifiedBy,
                    ResurrectCount,
                    Revision
                )
                SELECT
                    g.Id,
                    g.Queue,
                    g.Type,
                    COALESCE(@NewPayload, g.Payload),
                    COALESCE(@NewTags, g.Tags),
                    @Key,
                    COALESCE(@NewPriority, 10),
                    0,
                    @Due,
                    CASE WHEN @DelaySeconds = 0 THEN 1 ELSE 0 END,
                    @Due,
                    @Number,
                    CASE WHEN @DelaySeconds > 0 THEN @Due END,
                    g.CreatedAtUtc,
                    g.CreatedBy,
                    @Now,
                    @Actor,
                    g.ResurrectCount + 1,
                    @Number
                FROM @Gone AS g;

                INSERT INTO chokaq.CounterDeltas (Queue, Resurrected)
                SELECT g.Queue, 1 FROM @Gone AS g;

                INSERT INTO chokaq.OperatorHistory (
                    Action,
                    JobId,
                    Queue,
                    Type,
                    Actor,
                    FailureReason,
                    ErrorDetails,
                    AttemptCount,
                    FailedAtUtc,
                    OldPayload,
                    OldTags,
                    OldPriority,
                    OldIdempotencyKey
                )
                SELECT
                    N'resurrected',
                    g.Id,
                    g.Queue,
                    g.Type,
                    @Actor,
                    g.FailureReason,
                    g.ErrorDetails,
                    g.AttemptCount,
                    g.FailedAtUtc,
                    /* DATALENGTH too: a trailing space is a change, though = does not see it. */
                    CASE
                        WHEN @NewPayload <> g.Payload OR DATALENGTH(@NewPayload) <> DATALENGTH(g.Payload) THEN g.Payload
                    END,
                    CASE WHEN @NewTags <> g.Tags OR DATALENGTH(@NewTags) <> DATALENGTH(g.Tags) THEN g.Tags END,
                    CASE WHEN g.Priority <> COALESCE(@NewPriority, 10) THEN g.Priority END,
                    CASE WHEN @KeepIdempotencyKey = 0 THEN g.IdempotencyKey END
                FROM @Gone AS g;

                SET @Outcome = 'resurrected';
            END;

            IF @OwnsTransaction = 1 AND @Outcome IS NOT NULL
                COMMIT TRANSACTION;
        END TRY
        BEGIN CATCH
            /* A joined transaction is the caller's to end; it is already doomed, so only report. */
            IF @OwnsTransaction = 1 AND XACT_STATE() <> 0
                ROLLBACK TRANSACTION;

            SET @Outcome = NULL;

            IF ERROR_NUMBER() NOT IN (2601, 2627)
                THROW;

            /* A server that ignores HOLDLOCK lets a rival's key in between: look again, and find it. */
            IF @OwnsTransaction = 0 OR @Round >= 3
            BEGIN
                SET @Message = N'Job ' + REPLACE(@Id, N'%', N'%%') + N' is in the DLQ and in Hot; it stays in the DLQ.';
                THROW 59090, @Message, 1;
            END;
        END CATCH;
    END;

    EXECUTE chokaq.usp_FoldSometimes;

    SELECT @Outcome AS Outcome, @Queue AS Queue;
END;
