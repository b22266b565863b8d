/*
chokaq.usp_RescheduleForRetry: put a job that is in Processing back, to run again later

Twin         postgres/reschedule_for_retry.sql
Result       one row: Outcome, ScheduledAtUtc
Outcomes     rescheduled | not_found | not_owner | not_processing | stale_attempt
Errors       59001
Transaction  joining
Locks        JobsHot, counters
Granted to   chokaq_worker
Example      EXECUTE chokaq.usp_RescheduleForRetry @JobId = N'a1', @WorkerId = N'worker-1', @Attempt = 1, @DelaySeconds = 60;
*/
CREATE OR ALTER PROCEDURE chokaq.usp_RescheduleForRetry
    @JobId NVARCHAR(4000),
    @WorkerId NVARCHAR(4000) = NULL,
    @Attempt INT = NULL,
    @DelaySeconds INT = 0,
    @ErrorDetails NVARCHAR(MAX) = NULL, /* NULL keeps what the attempt before left */
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

    IF @WorkerId IS NOT NULL AND chokaq.fn_IsName(@WorkerId, 100) = 0
        THROW 59001, N'@WorkerId must be NULL or 1 to 100 characters without white space at either end.', 1;

    IF @Attempt < 1
        THROW 59001, N'@Attempt must be NULL or 1 or more.', 1;

    IF @DelaySeconds IS NULL OR @DelaySeconds < 0
        THROW 59001, N'@DelaySeconds must be 0 or more seconds.', 1;

    IF @ResurrectCount < 0
        THROW 59001, N'@ResurrectCount must be NULL or 0 or more.', 1;

    DECLARE
        @Due DATETIME2(7),
        @Id NVARCHAR(50) = @JobId,
        @Now DATETIME2(7),
        @Outcome VARCHAR(20),
        @Owner NVARCHAR(100) = @WorkerId,
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0);

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        WHILE @Outcome IS NULL
        BEGIN
            SET @Now = SYSUTCDATETIME();
            SET @Due = DATEADD(SECOND, @DelaySeconds, @Now);

            UPDATE chokaq.JobsHot
            SET
                Status = 0,
                WorkerId = NULL,
                FetchedAtUtc = NULL,
                StartedAtUtc = NULL,
                HeartbeatUtc = NULL,
                ScheduledAtUtc = @Due,
                DueAtUtc = @Due,
                IsDue = CASE WHEN @DelaySeconds = 0 THEN 1 ELSE 0 END,
                ErrorDetails = COALESCE(@ErrorDetails, ErrorDetails),
                LastUpdatedUtc = @Now
            WHERE Id = @Id
                AND Status = 2
                AND (@Owner IS NULL OR WorkerId = @Owner)
                AND (@Attempt IS NULL OR AttemptCount = @Attempt)
                AND (@ResurrectCount IS NULL OR ResurrectCount = @ResurrectCount);

            IF @@ROWCOUNT = 1
            BEGIN
                INSERT INTO chokaq.CounterDeltas (Queue, Retried)
                SELECT h.Queue, 1 FROM chokaq.JobsHot AS h WHERE h.Id = @Id;
                SET @Outcome = 'rescheduled';
            END;
            ELSE
                SELECT @Outcome = chokaq.fn_ExplainMiss(@Id, @Owner, @Attempt, @ResurrectCount, NULL), @Due = NULL;
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

    SELECT @Outcome AS Outcome, @Due AS ScheduledAtUtc;
END;
