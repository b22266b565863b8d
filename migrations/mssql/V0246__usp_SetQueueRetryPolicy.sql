/*
chokaq.usp_SetQueueRetryPolicy: say how often and when the failed jobs of a queue run again; NULL keeps a setting

Twin         postgres/set_queue_retry_policy.sql
Result       one row: Outcome and the queue's row, as usp_GetQueues gives it
Outcomes     created (with the default policy otherwise) | updated | unchanged (nothing differed)
Errors       59001
Transaction  joining
Locks        Queues, QueueClaims and QueueTotals (a new queue only), history
Granted to   chokaq_operator
Example      EXECUTE chokaq.usp_SetQueueRetryPolicy @Queue = N'mail', @MaxAttempts = 5, @ModifiedBy = N'ann';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_SetQueueRetryPolicy
    @Queue NVARCHAR(4000),
    @MaxAttempts INT = NULL, /* NULL keeps, here and below */
    @BaseDelaySeconds INT = NULL,
    @BackoffMultiplier FLOAT = NULL,
    @MaxDelaySeconds INT = NULL,
    @JitterSeconds INT = NULL,
    @MaxJobAgeSeconds INT = NULL,
    @ModifiedBy NVARCHAR(4000) = NULL, /* required */
    @ClearMaxJobAge BIT = 0 /* 1: no limit any more */
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;

    IF @MaxAttempts < 1
        THROW 59001, N'@MaxAttempts must be NULL or 1 or more.', 1;

    IF @BaseDelaySeconds < 0
        THROW 59001, N'@BaseDelaySeconds must be NULL or 0 or more seconds.', 1;

    IF @BackoffMultiplier NOT BETWEEN 1 AND 1000
        THROW 59001, N'@BackoffMultiplier must be NULL or 1 to 1000.', 1;

    IF @MaxDelaySeconds < 0
        THROW 59001, N'@MaxDelaySeconds must be NULL or 0 or more seconds.', 1;

    IF @JitterSeconds < 0
        THROW 59001, N'@JitterSeconds must be NULL or 0 or more seconds.', 1;

    IF @MaxJobAgeSeconds < 1
        THROW 59001, N'@MaxJobAgeSeconds must be NULL or 1 or more seconds.', 1;

    IF @ClearMaxJobAge IS NULL OR (@ClearMaxJobAge = 1 AND @MaxJobAgeSeconds IS NOT NULL)
        THROW 59001, N'@ClearMaxJobAge must be 0 or 1, and 0 when @MaxJobAgeSeconds is given.', 1;

    IF @ClearMaxJobAge = 0
       AND COALESCE(
           @MaxAttempts,
           @BaseDelaySeconds,
           @BackoffMultiplier,
           @MaxDelaySeconds,
           @JitterSeconds,
           @MaxJobAgeSeconds
       ) IS NULL
        THROW 59001, N'@MaxAttempts must be given where nothing else is to change.', 1;

    EXECUTE chokaq.usp_ChangeQueue
        @Queue = @Queue,
        @ModifiedBy = @ModifiedBy,
        @MaxAttempts = @MaxAttempts,
        @BaseDelaySeconds = @BaseDelaySeconds,
        @BackoffMultiplier = @BackoffMultiplier,
        @MaxDelaySeconds = @MaxDelaySeconds,
        @JitterSeconds = @JitterSeconds,
        @MaxJobAgeSeconds = @MaxJobAgeSeconds,
        @ClearMaxJobAge = @ClearMaxJobAge;
END;
