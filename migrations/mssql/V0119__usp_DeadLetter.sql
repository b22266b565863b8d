/*
chokaq.usp_DeadLetter: the move itself of usp_MoveToDLQ and usp_FailJob

Twin         none: fail_job calls move_to_dlq, which in T-SQL would send its own rows
Result       no rows; @FailedAtUtc is NULL when no job of this owner and attempt was in Hot
Transaction  the caller's
Locks        JobsHot, JobsDLQ, counters, history
*/
CREATE OR ALTER PROCEDURE chokaq.usp_DeadLetter
    @Id NVARCHAR(50),
    @FailureReason INT,
    @ErrorDetails NVARCHAR(MAX),
    @Owner NVARCHAR(100),
    @Attempt INT,
    @ResurrectCount INT,
    @Mover NVARCHAR(100),
    @FailedAtUtc DATETIME2(7) OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;

    DECLARE @Now DATETIME2(7) = SYSUTCDATETIME(), @OldRevision BIGINT, @Revision BIGINT;

    SET @FailedAtUtc = NULL;
    SET @Revision = NEXT VALUE FOR chokaq.JobNumbers;

    /* Demanded below, for a server that ignores the lock: no edit is lost. */
    SELECT @OldRevision = h.Revision FROM chokaq.JobsHot AS h WITH (UPDLOCK, ROWLOCK) WHERE h.Id = @Id;

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
        @FailureReason,
        deleted.ErrorDetails,
        @Now,
        deleted.ScheduledAtUtc,
        deleted.StartedAtUtc,
        deleted.HeartbeatUtc,
        deleted.CreatedAtUtc,
        deleted.CreatedBy,
        @Now,
        deleted.LastModifiedBy,
        deleted.ResurrectCount,
        @Revision
    INTO chokaq.JobsDLQ (
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
    WHERE Id = @Id
        AND Revision = @OldRevision
        AND (@Owner IS NULL OR WorkerId = @Owner)
        AND (@Attempt IS NULL OR AttemptCount = @Attempt)
        AND (@ResurrectCount IS NULL OR ResurrectCount = @ResurrectCount);

    IF @@ROWCOUNT = 0
        RETURN;

    SET @FailedAtUtc = @Now;

    /* Not in the OUTPUT above, because Babelfish takes no expression over deleted there. */
    IF @ErrorDetails IS NOT NULL OR @Mover IS NOT NULL
        UPDATE chokaq.JobsDLQ
        SET ErrorDetails = COALESCE(@ErrorDetails, ErrorDetails), LastModifiedBy = COALESCE(@Mover, LastModifiedBy)
        WHERE Id = @Id;

    INSERT INTO chokaq.CounterDeltas (Queue, DeadLettered)
    SELECT d.Queue, 1 FROM chokaq.JobsDLQ AS d WHERE d.Id = @Id;

    IF @Mover IS NOT NULL
        INSERT INTO chokaq.OperatorHistory (
            Action,
            JobId,
            Queue,
            Type,
            Actor,
            FailureReason,
            ErrorDetails,
            AttemptCount,
            FailedAtUtc
        )
        SELECT
            N'isolated',
            d.Id,
            d.Queue,
            d.Type,
            @Mover,
            d.FailureReason,
            d.ErrorDetails,
            d.AttemptCount,
            d.FailedAtUtc
        FROM chokaq.JobsDLQ AS d
        WHERE d.Id = @Id;
END;
