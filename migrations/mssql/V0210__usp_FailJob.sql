/*
chokaq.usp_FailJob: an attempt failed; the queue's retry policy decides between another run and the DLQ

Twin         postgres/fail_job.sql
Result       one row: Outcome, ScheduledAtUtc (of the next run), FailureReason (as given, or as the DLQ has it)
Outcomes     rescheduled | moved | already_moved | not_found | not_owner | not_processing | stale_attempt
Errors       59001, 59090
Transaction  joining
Locks        JobsHot, JobsDLQ, counters
Granted to   chokaq_worker
Example      EXECUTE chokaq.usp_FailJob N'a1', N'worker-1', 1, 8, N'connection reset by peer';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_FailJob
    @JobId NVARCHAR(4000),
    @WorkerId NVARCHAR(4000),
    @Attempt INT,
    @FailureReason INT, /* see chokaq.FailureReasons */
    @ErrorDetails NVARCHAR(MAX),
    @RetryAfterSeconds INT = NULL, /* instead of the policy's backoff */
    @ResurrectCount INT = NULL /* as the fetch said: an attempt from before a resurrection is stale */
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

    IF chokaq.fn_IsName(@WorkerId, 100) = 0
        THROW 59001, N'@WorkerId must be 1 to 100 characters without white space at either end.', 1;

    IF @Attempt IS NULL OR @Attempt < 1
        THROW 59001, N'@Attempt must be 1 or more.', 1;

    IF @FailureReason IS NULL OR @FailureReason NOT BETWEEN 0 AND 11
        THROW 59001, N'@FailureReason must be 0 to 11 (see chokaq.FailureReasons).', 1;

    IF @RetryAfterSeconds < 0
        THROW 59001, N'@RetryAfterSeconds must be NULL or 0 or more seconds.', 1;

    IF @ResurrectCount < 0
        THROW 59001, N'@ResurrectCount must be NULL or 0 or more.', 1;

    DECLARE
        @Attempts INT,
        @Base INT,
        @Delay FLOAT,
        @Due DATETIME2(7),
        @FailedAtUtc DATETIME2(7),
        @FirstDue DATETIME2(7),
        @Id NVARCHAR(50) = @JobId,
        @Jitter INT,
        @MaxAge INT,
        @MaxAttempts INT,
        @MaxDelay INT,
        @Message NVARCHAR(2048),
        @Multiplier FLOAT,
        @Now DATETIME2(7),
        @Outcome VARCHAR(20),
        @Owner NVARCHAR(100) = @WorkerId,
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0),
        @Queue NVARCHAR(255),
        @Reason INT = @FailureReason,
        @Resurrections INT,
        @Status INT,
        @Worker NVARCHAR(100);

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        /* Once, unless a server that ignores UPDLOCK let a rival change the row in between. */
        WHILE @Outcome IS NULL
        BEGIN
            SELECT @Queue = NULL, @Reason = @FailureReason, @Due = NULL;

            SELECT
                @Queue = h.Queue,
                @Worker = h.WorkerId,
                @Status = h.Status,
                @Attempts = h.AttemptCount,
                @Resurrections = h.ResurrectCount,
                @FirstDue = h.FirstDueAtUtc
            FROM chokaq.JobsHot AS h WITH (UPDLOCK, ROWLOCK)
            WHERE h.Id = @Id;

            SET @Outcome = CASE
                    WHEN @Queue IS NULL THEN chokaq.fn_ExplainMiss(@Id, @Owner, @Attempt, @ResurrectCount, 'DLQ')
                    WHEN @Worker <> @Owner COLLATE Latin1_General_BIN2 THEN 'not_owner'
                    WHEN @Status <> 2 THEN 'not_processing'
                    WHEN @Attempts <> @Attempt OR @Resurrections <> @ResurrectCount THEN 'stale_attempt'
                END;

            IF @Outcome IS NULL
            BEGIN
                SELECT
                    @MaxAttempts = q.MaxAttempts,
                    @Base = q.BaseDelaySeconds,
                    @Multiplier = q.BackoffMultiplier,
                    @MaxDelay = q.MaxDelaySeconds,
                    @Jitter = q.JitterSeconds,
                    @MaxAge = q.MaxJobAgeSeconds
                FROM chokaq.Queues AS q
                WHERE q.Queue = @Queue;

                SET @Now = SYSUTCDATETIME();
                SET @Delay = @RetryAfterSeconds;

                IF @Delay IS NULL
                BEGIN
                    /* EXP of a sum instead of POWER: held at EXP(600), it cannot leave a FLOAT's range. */
                    SET @Delay = LOG(@Multiplier) * (@Attempt - 1);
                    SET @Delay = @Base * EXP(CASE WHEN @Delay > 600 THEN 600 ELSE @Delay END);
                    SET @Delay = CASE WHEN @Delay > @MaxDelay THEN @MaxDelay ELSE @Delay END;
                    SET @Delay = @Delay + FLOOR(RAND(CHECKSUM(NEWID())) * (CONVERT(FLOAT, @Jitter) + 1));
                    SET @Delay = CASE WHEN @Delay > 2147483647 THEN 2147483647 ELSE ROUND(@Delay, 0) END;
                END;

                SET @Due = DATEADD(SECOND, CONVERT(INT, @Delay), @Now);

                IF @FailureReason NOT IN (1, 4, 6)
                    SET @Reason = CASE
                            WHEN @Attempt >= @MaxAttempts THEN 0
                            WHEN @Due > DATEADD(SECOND, @MaxAge, @FirstDue) THEN 10
                        END;

                IF @Reason IS NULL
                BEGIN
                    UPDATE chokaq.JobsHot
                    SET
                        Status = 0,
                        WorkerId = NULL,
                        FetchedAtUtc = NULL,
                        StartedAtUtc = NULL,
                        HeartbeatUtc = NULL,
                        ScheduledAtUtc = @Due,
                        DueAtUtc = @Due,
                        IsDue = CASE WHEN @Due <= @Now THEN 1 ELSE 0 END,
                        ErrorDetails = COALESCE(@ErrorDetails, ErrorDetails),
                        LastUpdatedUtc = @Now
                    WHERE Id = @Id
                        AND WorkerId = @Owner
                        AND Status = 2
                        AND AttemptCount = @Attempt
                        AND ResurrectCount = @Resurrections;

                    IF @@ROWCOUNT = 1
                    BEGIN
                        INSERT INTO chokaq.CounterDeltas (Queue, Retried)
                        VALUES (@Queue, 1);
                        SELECT @Outcome = 'rescheduled', @Reason = @FailureReason;
                    END;
                END;
                ELSE
                BEGIN
                    EXECUTE chokaq.usp_DeadLetter
                        @Id = @Id,
                        @FailureReason = @Reason,
                        @ErrorDetails = @ErrorDetails,
                        @Owner = @Owner,
                        @Attempt = @Attempt,
                        @ResurrectCount = @ResurrectCount,
                        @Mover = NULL,
                        @FailedAtUtc = @FailedAtUtc OUTPUT;

                    IF @FailedAtUtc IS NOT NULL
                        SELECT @Outcome = 'moved', @Due = NULL;
                END;
            END;
        END;

        IF @Outcome = 'already_moved'
            SELECT @Reason = d.FailureReason FROM chokaq.JobsDLQ AS d WHERE d.Id = @Id;

        IF @OwnsTransaction = 1
            COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* A joined transaction is the caller's to end; it is already doomed, so only report. */
        IF @OwnsTransaction = 1 AND XACT_STATE() <> 0
            ROLLBACK TRANSACTION;

        IF ERROR_NUMBER() IN (2601, 2627)
        BEGIN
            SET @Message = N'Job ' + REPLACE(@Id, N'%', N'%%') + N' is in Hot and in the DLQ; it stays in Hot.';
            THROW 59090, @Message, 1;
        END;

        THROW;
    END CATCH;

    EXECUTE chokaq.usp_FoldSometimes;

    SELECT @Outcome AS Outcome, @Due AS ScheduledAtUtc, @Reason AS FailureReason;
END;
