/*
chokaq.usp_ResurrectRows: the move itself of usp_ResurrectJobs and usp_ResurrectByFilterBatch

Twin         postgres/resurrect_rows.sql
Result       no rows; what was done is in the history, under @BatchId; they take their turn in the order
             given; an id that is in Hot as well stays
Transaction  the caller's, which holds the rows
Locks        JobsDLQ, JobsHot, counters, history
*/
CREATE OR ALTER PROCEDURE chokaq.usp_ResurrectRows
    @JobIds NVARCHAR(MAX), /* JSON array: the caller's result set is its last statement, so no INSERT EXECUTE here */
    @Revisions NVARCHAR(MAX), /* JSON array: a job whose revision is another by now stays; NULL: none is asked for */
    @Actor NVARCHAR(100),
    @BatchId UNIQUEIDENTIFIER
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;

    DECLARE @Now DATETIME2(7) = SYSUTCDATETIME(), @Number BIGINT;

    DECLARE @Seen TABLE (
        Ordinal INT NOT NULL PRIMARY KEY,
        Revision BIGINT NOT NULL
    );
    DECLARE @Asked TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        Ordinal INT NOT NULL,
        Revision BIGINT NOT NULL
    );
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

    INSERT INTO @Seen (Ordinal, Revision)
    SELECT CONVERT(INT, j.[key]) + 1, CONVERT(BIGINT, j.[value]) FROM OPENJSON(@Revisions) AS j;

    INSERT INTO @Asked (Id, Ordinal, Revision)
    SELECT d.Id, t.Ordinal, d.Revision
    FROM chokaq.fn_JsonTexts(@JobIds) AS t
    INNER JOIN chokaq.JobsDLQ AS d WITH (FORCESEEK) ON d.Id = CONVERT(NVARCHAR(50), t.Value)
    LEFT JOIN @Seen AS s ON s.Ordinal = t.Ordinal
    WHERE s.Revision IS NULL OR s.Revision = d.Revision
    OPTION (FORCE ORDER, LOOP JOIN);

    /* READCOMMITTEDLOCK: an enqueue of such an id that is not committed is waited for, and not overlooked. */
    DELETE FROM @Asked
    WHERE Id IN (
            SELECT h.Id
            FROM @Asked AS i
            INNER JOIN chokaq.JobsHot AS h WITH (FORCESEEK, READCOMMITTEDLOCK) ON h.Id = i.Id
        );

    /* FORCESEEK: a scan would lock, and wait for, every row on its way. */
    DELETE chokaq.JobsDLQ
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
    FROM chokaq.JobsDLQ WITH (ROWLOCK, FORCESEEK)
    /* The revision, for a server that ignores the locks: no edit is lost. */
    WHERE JobsDLQ.Id IN (SELECT i.Id FROM @Asked AS i WHERE i.Revision = JobsDLQ.Revision);

    SET @Number = NEXT VALUE FOR chokaq.JobNumbers;

    INSERT INTO chokaq.JobsHot (
        Id,
        Queue,
        Type,
        Payload,
        Tags,
        Priority,
        Status,
        DueAtUtc,
        IsDue,
        FirstDueAtUtc,
        Arrival,
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
        g.Payload,
        g.Tags,
        10,
        0,
        @Now,
        1,
        @Now,
        @Number + i.Ordinal,
        g.CreatedAtUtc,
        g.CreatedBy,
        @Now,
        @Actor,
        g.ResurrectCount + 1,
        @Number + i.Ordinal
    FROM @Gone AS g
    INNER JOIN @Asked AS i ON i.Id = g.Id
    ORDER BY g.Id;

    INSERT INTO chokaq.CounterDeltas (Queue, Resurrected)
    SELECT g.Queue, COUNT(*) FROM @Gone AS g GROUP BY g.Queue;

    INSERT INTO chokaq.OperatorHistory (
        Action,
        JobId,
        Queue,
        Type,
        Actor,
        BatchId,
        FailureReason,
        ErrorDetails,
        AttemptCount,
        FailedAtUtc,
        OldPriority,
        OldIdempotencyKey
    )
    SELECT
        N'resurrected',
        g.Id,
        g.Queue,
        g.Type,
        @Actor,
        @BatchId,
        g.FailureReason,
        g.ErrorDetails,
        g.AttemptCount,
        g.FailedAtUtc,
        NULLIF(g.Priority, 10),
        g.IdempotencyKey
    FROM @Gone AS g
    ORDER BY g.Id;
END;
