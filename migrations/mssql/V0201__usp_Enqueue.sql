/*
chokaq.usp_Enqueue: put one job into its queue

Twin         postgres/enqueue.sql
Result       one row: Outcome, JobId
Outcomes     enqueued | duplicate_key (JobId is the live job's) | duplicate_id
Errors       59001
Transaction  joining
Locks        Queues (a new queue only), JobsHot, counters
Granted to   chokaq_worker
Example      EXECUTE chokaq.usp_Enqueue @Queue = N'mail', @Type = N'email_v1', @Payload = N'{"to": "ann@example.com"}';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_Enqueue
    @Queue NVARCHAR(4000), /* names are declared wider than their columns: what is over-long is refused, not cut */
    @Type NVARCHAR(4000),
    @Payload NVARCHAR(MAX) = NULL,
    @JobId NVARCHAR(4000) = NULL, /* NULL: an id that sorts by time is made */
    @Tags NVARCHAR(4000) = NULL,
    @Priority INT = 10, /* higher first */
    @DelaySeconds INT = 0,
    @ScheduledAtUtc DATETIME2(7) = NULL,
    @IdempotencyKey NVARCHAR(4000) = NULL,
    @CreatedBy NVARCHAR(4000) = NULL
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* Nothing is decided by what others have not committed; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF chokaq.fn_IsName(@Queue, 255) = 0
        THROW 59001, N'@Queue must be 1 to 255 characters without white space at either end.', 1;

    IF chokaq.fn_IsName(@Type, 255) = 0
        THROW 59001, N'@Type must be 1 to 255 characters without white space at either end.', 1;

    IF @JobId IS NOT NULL AND chokaq.fn_IsName(@JobId, 50) = 0
        THROW 59001, N'@JobId must be NULL or 1 to 50 characters without white space at either end.', 1;

    IF chokaq.fn_Utf16Length(@Tags) > 1000
        THROW 59001, N'@Tags must be NULL or at most 1000 characters.', 1;

    IF @Priority IS NULL
        THROW 59001, N'@Priority must be an integer.', 1;

    IF @DelaySeconds IS NULL OR @DelaySeconds < 0
        THROW 59001, N'@DelaySeconds must be 0 or more seconds.', 1;

    IF @ScheduledAtUtc IS NOT NULL AND @DelaySeconds > 0
        THROW 59001, N'@DelaySeconds must be 0 when @ScheduledAtUtc is given.', 1;

    IF @IdempotencyKey IS NOT NULL AND chokaq.fn_IsName(@IdempotencyKey, 255) = 0
        THROW 59001, N'@IdempotencyKey must be NULL or 1 to 255 characters without white space at either end.', 1;

    IF @CreatedBy IS NOT NULL AND chokaq.fn_IsName(@CreatedBy, 100) = 0
        THROW 59001, N'@CreatedBy must be NULL or 1 to 100 characters without white space at either end.', 1;

    DECLARE
        @Due DATETIME2(7),
        @FoundId NVARCHAR(50),
        @Id NVARCHAR(50),
        @Now DATETIME2(7),
        @Number BIGINT,
        @Outcome VARCHAR(20),
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0),
        @QueueName NVARCHAR(255) = @Queue,
        @Round INT = 0;

    WHILE @Outcome IS NULL
    BEGIN
        BEGIN TRY
            SELECT @Round = @Round + 1, @FoundId = NULL;

            IF @OwnsTransaction = 1
                BEGIN TRANSACTION;

            EXECUTE chokaq.usp_EnsureQueue @Queue = @QueueName;

            SET @Number = NEXT VALUE FOR chokaq.JobNumbers;
            SET @Now = SYSUTCDATETIME();
            SET @Due = COALESCE(@ScheduledAtUtc, DATEADD(SECOND, @DelaySeconds, @Now));
            SET @Id = COALESCE(@JobId, chokaq.fn_JobIdAt(@Now, NEWID()));

            /* The key decides first: a repeated call with its own id and key is told "the job is there". */
            IF @IdempotencyKey IS NOT NULL
                SELECT @FoundId = h.Id
                FROM chokaq.JobsHot AS h WITH (UPDLOCK, HOLDLOCK)
                WHERE h.IdempotencyKey = CONVERT(NVARCHAR(255), @IdempotencyKey) AND h.IdempotencyKey IS NOT NULL;

            IF @FoundId IS NOT NULL
                SELECT @Outcome = 'duplicate_key', @Id = @FoundId;
            /* Hot first and held, the other pillars after the insert: whoever moves this id has left Hot or waits. */
            ELSE IF @JobId IS NOT NULL
               AND EXISTS (SELECT 1 FROM chokaq.JobsHot AS h WITH (UPDLOCK, HOLDLOCK) WHERE h.Id = @Id)
                SET @Outcome = 'duplicate_id';
            ELSE
            BEGIN
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
                VALUES (
                    @Id,
                    @QueueName,
                    @Type,
                    @Payload,
                    @Tags,
                    @IdempotencyKey,
                    @Priority,
                    0,
                    @Due,
                    CASE WHEN @Due <= @Now THEN 1 ELSE 0 END,
                    @Due,
                    @Number,
                    CASE WHEN @ScheduledAtUtc IS NOT NULL OR @DelaySeconds > 0 THEN @Due END,
                    @Now,
                    @CreatedBy,
                    @Now,
                    @Number
                );

                IF @JobId IS NOT NULL
                   AND (
                       EXISTS (SELECT 1 FROM chokaq.JobsArchive AS a WITH (READCOMMITTEDLOCK) WHERE a.Id = @Id)
                       OR EXISTS (SELECT 1 FROM chokaq.JobsDLQ AS d WITH (READCOMMITTEDLOCK) WHERE d.Id = @Id)
                   )
                BEGIN
                    DELETE FROM chokaq.JobsHot
                    WHERE Id = @Id;
                    SET @Outcome = 'duplicate_id';
                END;
                ELSE
                BEGIN
                    INSERT INTO chokaq.CounterDeltas (Queue, Enqueued)
                    VALUES (@QueueName, 1);
                    SET @Outcome = 'enqueued';
                END;
            END;

            IF @OwnsTransaction = 1
                COMMIT TRANSACTION;
        END TRY
        BEGIN CATCH
            IF @OwnsTransaction = 1 AND XACT_STATE() <> 0
                ROLLBACK TRANSACTION;

            SET @Outcome = NULL;

            /* A server that ignores HOLDLOCK lets a rival in between: its row is there now, so look again. */
            IF @OwnsTransaction = 0 OR ERROR_NUMBER() NOT IN (2601, 2627) OR @Round >= 10
                THROW;
        END CATCH;
    END;

    EXECUTE chokaq.usp_FoldSometimes;

    SELECT @Outcome AS Outcome, @Id AS JobId;
END;
