/*
chokaq.usp_PurgeRows: the deletion itself of usp_PurgeDLQJobs and usp_PurgeDLQByFilterBatch

Twin         postgres/purge_rows.sql
Result       no rows; what was done is in the history, under @BatchId
Transaction  the caller's, which holds the rows
Locks        JobsDLQ, counters, history
*/
CREATE OR ALTER PROCEDURE chokaq.usp_PurgeRows
    @JobIds NVARCHAR(MAX), /* JSON array: the caller's result set is its last statement, so no INSERT EXECUTE here */
    @Revisions NVARCHAR(MAX), /* JSON array: a job whose revision is another by now stays; NULL: none is asked for */
    @Actor NVARCHAR(100),
    @BatchId UNIQUEIDENTIFIER
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;

    DECLARE @Seen TABLE (
        Ordinal INT NOT NULL PRIMARY KEY,
        Revision BIGINT NOT NULL
    );
    DECLARE @Asked TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        Revision BIGINT NULL
    );
    DECLARE @Gone TABLE (
        Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
        Type NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
        Tags NVARCHAR(1000) COLLATE Latin1_General_BIN2 NULL,
        IdempotencyKey NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
        Priority INT NOT NULL,
        AttemptCount INT NOT NULL,
        FailureReason TINYINT NOT NULL,
        ErrorDetails NVARCHAR(MAX) COLLATE Latin1_General_BIN2 NULL,
        FailedAtUtc DATETIME2(7) NOT NULL
    );

    INSERT INTO @Seen (Ordinal, Revision)
    SELECT CONVERT(INT, j.[key]) + 1, CONVERT(BIGINT, j.[value]) FROM OPENJSON(@Revisions) AS j;

    INSERT INTO @Asked (Id, Revision)
    SELECT t.Value, s.Revision
    FROM chokaq.fn_JsonTexts(@JobIds) AS t
    LEFT JOIN @Seen AS s ON s.Ordinal = t.Ordinal;

    /* FORCESEEK: a scan would lock, and wait for, every row on its way. */
    DELETE chokaq.JobsDLQ
    OUTPUT
        deleted.Id,
        deleted.Queue,
        deleted.Type,
        deleted.Tags,
        deleted.IdempotencyKey,
        deleted.Priority,
        deleted.AttemptCount,
        deleted.FailureReason,
        deleted.ErrorDetails,
        deleted.FailedAtUtc
    INTO @Gone (Id, Queue, Type, Tags, IdempotencyKey, Priority, AttemptCount, FailureReason, ErrorDetails, FailedAtUtc)
    FROM chokaq.JobsDLQ WITH (ROWLOCK, FORCESEEK)
    /* The revision, for a server that ignores the locks of the caller: what was changed since is not what was asked for. */
    WHERE JobsDLQ.Id IN (SELECT i.Id FROM @Asked AS i WHERE i.Revision IS NULL OR i.Revision = JobsDLQ.Revision);

    INSERT INTO chokaq.CounterDeltas (Queue, Purged)
    SELECT g.Queue, COUNT(*) FROM @Gone AS g GROUP BY g.Queue;

    /* No payload: what was purged is gone. */
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
        OldTags,
        OldPriority,
        OldIdempotencyKey
    )
    SELECT
        N'purged',
        g.Id,
        g.Queue,
        g.Type,
        @Actor,
        @BatchId,
        g.FailureReason,
        g.ErrorDetails,
        g.AttemptCount,
        g.FailedAtUtc,
        g.Tags,
        g.Priority,
        g.IdempotencyKey
    FROM @Gone AS g
    ORDER BY g.Id;
END;
