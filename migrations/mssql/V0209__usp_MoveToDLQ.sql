/*
chokaq.usp_MoveToDLQ: move a job out of Hot to the DLQ, with reason, error and payload

Twin         postgres/move_to_dlq.sql
Result       one row: Outcome, Queue, AttemptCount, FailedAtUtc
Outcomes     moved | already_moved | not_found | not_owner | stale_attempt
Errors       59001, 59090
Transaction  joining
Locks        JobsHot, JobsDLQ, counters, history (an operator's move only)
Granted to   chokaq_worker
Example      EXECUTE chokaq.usp_MoveToDLQ @JobId = N'a1', @FailureReason = 6, @ErrorDetails = N'no comma', @WorkerId = N'worker-1';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_MoveToDLQ
    @JobId NVARCHAR(4000),
    @FailureReason INT, /* see chokaq.FailureReasons */
    @ErrorDetails NVARCHAR(MAX) = NULL, /* NULL keeps what the attempt before left */
    @WorkerId NVARCHAR(4000) = NULL,
    @Attempt INT = NULL,
    @MovedBy NVARCHAR(4000) = NULL, /* an operator's name: the move is then on record as isolated */
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

    IF @FailureReason IS NULL OR @FailureReason NOT BETWEEN 0 AND 11
        THROW 59001, N'@FailureReason must be 0 to 11 (see chokaq.FailureReasons).', 1;

    IF @WorkerId IS NOT NULL AND chokaq.fn_IsName(@WorkerId, 100) = 0
        THROW 59001, N'@WorkerId must be NULL or 1 to 100 characters without white space at either end.', 1;

    IF @Attempt < 0
        THROW 59001, N'@Attempt must be NULL or 0 or more.', 1;

    IF @MovedBy IS NOT NULL AND chokaq.fn_IsName(@MovedBy, 100) = 0
        THROW 59001, N'@MovedBy must be NULL or 1 to 100 characters without white space at either end.', 1;

    IF @ResurrectCount < 0
        THROW 59001, N'@ResurrectCount must be NULL or 0 or more.', 1;

    DECLARE
        @Attempts INT,
        @FailedAtUtc DATETIME2(7),
        @Id NVARCHAR(50) = @JobId,
        @Message NVARCHAR(2048),
        @Mover NVARCHAR(100) = @MovedBy,
        @Outcome VARCHAR(20),
        @Owner NVARCHAR(100) = @WorkerId,
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0),
        @Queue NVARCHAR(255);

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        WHILE @Outcome IS NULL
        BEGIN
            EXECUTE chokaq.usp_DeadLetter
                @Id = @Id,
                @FailureReason = @FailureReason,
                @ErrorDetails = @ErrorDetails,
                @Owner = @Owner,
                @Attempt = @Attempt,
                @ResurrectCount = @ResurrectCount,
                @Mover = @Mover,
                @FailedAtUtc = @FailedAtUtc OUTPUT;

            IF @FailedAtUtc IS NOT NULL
                SET @Outcome = 'moved';
            ELSE
                SET @Outcome = chokaq.fn_ExplainMiss(@Id, @Owner, @Attempt, @ResurrectCount, 'DLQ');
        END;

        IF @Outcome IN ('moved', 'already_moved')
            SELECT @Queue = d.Queue, @Attempts = d.AttemptCount, @FailedAtUtc = d.FailedAtUtc
            FROM chokaq.JobsDLQ AS d
            WHERE d.Id = @Id;

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

    SELECT @Outcome AS Outcome, @Queue AS Queue, @Attempts AS AttemptCount, @FailedAtUtc AS FailedAtUtc;
END;
