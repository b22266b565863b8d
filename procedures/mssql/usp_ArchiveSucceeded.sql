/*
chokaq.usp_ArchiveSucceeded: move a job that ran well from Hot to the Archive

Twin         postgres/archive_succeeded.sql
Result       one row: Outcome, JobId
Outcomes     archived | already_archived | not_found | not_owner | not_processing | stale_attempt
Errors       59001, 59090
Transaction  joining
Locks        JobsHot, JobsArchive, counters
Granted to   chokaq_worker
Example      EXECUTE chokaq.usp_ArchiveSucceeded @JobId = N'a1', @WorkerId = N'worker-1', @Attempt = 1, @DurationMs = 250;
*/
CREATE OR ALTER PROCEDURE chokaq.usp_ArchiveSucceeded
    @JobId NVARCHAR(4000),
    @WorkerId NVARCHAR(4000) = NULL,
    @Attempt INT = NULL,
    @DurationMs FLOAT = NULL, /* a negative one is stored as NULL: a metric never stops a transition */
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

    IF @ResurrectCount < 0
        THROW 59001, N'@ResurrectCount must be NULL or 0 or more.', 1;

    DECLARE
        @Id NVARCHAR(50) = @JobId,
        @Message NVARCHAR(2048),
        @Outcome VARCHAR(20),
        @Owner NVARCHAR(100) = @WorkerId,
        @OwnsTransaction BIT = IIF(@@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0, 1, 0),
        @Queue NVARCHAR(255);

    BEGIN TRY
        IF @OwnsTransaction = 1
            BEGIN TRANSACTION;

        WHILE @Outcome IS NULL
        BEGIN
            SELECT @Queue = h.Queue FROM chokaq.JobsHot AS h WITH (UPDLOCK, ROWLOCK) WHERE h.Id = @Id;

            DELETE FROM chokaq.JobsHot
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
                deleted.ScheduledAtUtc,
                deleted.StartedAtUtc,
                SYSUTCDATETIME(),
                CASE WHEN @DurationMs >= 0 THEN @DurationMs END,
                deleted.CreatedAtUtc,
                deleted.CreatedBy,
                deleted.LastModifiedBy,
                deleted.ResurrectCount,
                deleted.Revision
            INTO chokaq.JobsArchive (
                Id,
                Queue,
                Type,
                Payload,
                Tags,
                IdempotencyKey,
                Priority,
                AttemptCount,
                WorkerId,
                ScheduledAtUtc,
                StartedAtUtc,
                FinishedAtUtc,
                DurationMs,
                CreatedAtUtc,
                CreatedBy,
                LastModifiedBy,
                ResurrectCount,
                Revision
            )
            WHERE Id = @Id
                AND Status = 2
                AND (@Owner IS NULL OR WorkerId = @Owner)
                AND (@Attempt IS NULL OR AttemptCount = @Attempt)
                AND (@ResurrectCount IS NULL OR ResurrectCount = @ResurrectCount);

            IF @@ROWCOUNT = 1
            BEGIN
                INSERT INTO chokaq.CounterDeltas (Queue, Succeeded)
                VALUES (@Queue, 1);
                SET @Outcome = 'archived';
            END;
            ELSE
                SET @Outcome = chokaq.fn_ExplainMiss(@Id, @Owner, @Attempt, @ResurrectCount, 'Archive');
        END;

        IF @OwnsTransaction = 1
            COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* A joined transaction is the caller's to end; it is already doomed, so only report. */
        IF @OwnsTransaction = 1 AND XACT_STATE() <> 0
            ROLLBACK TRANSACTION;

        IF ERROR_NUMBER() IN (2601, 2627)
        BEGIN
            SET @Message = N'Job ' + REPLACE(@Id, N'%', N'%%') + N' is in Hot and in the Archive; it stays in Hot.';
            THROW 59090, @Message, 1;
        END;

        THROW;
    END CATCH;

    EXECUTE chokaq.usp_FoldSometimes;

    SELECT @Outcome AS Outcome, @Id AS JobId;
END;
