/*
chokaq.usp_GetJob: one job, wherever it is

Twin         postgres/get_job.sql
Result       0 or 1 row: Pillar (Hot, Archive or DLQ) and the columns of all three
Errors       59001
Transaction  reading
Granted to   chokaq_reader
Example      EXECUTE chokaq.usp_GetJob @JobId = N'a1';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_GetJob @JobId NVARCHAR(4000)
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;

    IF chokaq.fn_IsName(@JobId, 50) = 0
        THROW 59001, N'@JobId must be 1 to 50 characters without white space at either end.', 1;

    DECLARE @Id NVARCHAR(50) = @JobId, @Round INT = 0;

    /* No table variable: Babelfish cannot send a payload of a megabyte out of one. */
    CREATE TABLE #Found (
        Pillar VARCHAR(10) NULL,
        JobId NVARCHAR(50) COLLATE Latin1_General_BIN2 NULL,
        Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
        Type NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
        Payload NVARCHAR(MAX) COLLATE Latin1_General_BIN2 NULL,
        Tags NVARCHAR(1000) COLLATE Latin1_General_BIN2 NULL,
        IdempotencyKey NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
        Priority INT NULL,
        Status TINYINT NULL,
        AttemptCount INT NULL,
        WorkerId NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
        ScheduledAtUtc DATETIME2(7) NULL,
        DueAtUtc DATETIME2(7) NULL,
        FetchedAtUtc DATETIME2(7) NULL,
        StartedAtUtc DATETIME2(7) NULL,
        HeartbeatUtc DATETIME2(7) NULL,
        FinishedAtUtc DATETIME2(7) NULL,
        DurationMs FLOAT NULL,
        FailedAtUtc DATETIME2(7) NULL,
        FailureReason TINYINT NULL,
        ErrorDetails NVARCHAR(MAX) COLLATE Latin1_General_BIN2 NULL,
        CreatedAtUtc DATETIME2(7) NULL,
        CreatedBy NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
        LastUpdatedUtc DATETIME2(7) NULL,
        LastModifiedBy NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
        ResurrectCount INT NULL,
        Revision BIGINT NULL
    );

    /*
    Without row versions the tables are read one after the other: a job that moves meanwhile can be missed, so
    look again, or be seen twice, so take the newer row.
    */
    WHILE @Round < 3 AND NOT EXISTS (SELECT 1 FROM #Found AS f)
    BEGIN
        SET @Round = @Round + 1;

        INSERT INTO #Found (
            Pillar,
            JobId,
            Queue,
            Type,
            Payload,
            Tags,
            IdempotencyKey,
            Priority,
            Status,
            AttemptCount,
            WorkerId,
            ScheduledAtUtc,
            DueAtUtc,
            FetchedAtUtc,
            StartedAtUtc,
            HeartbeatUtc,
            FinishedAtUtc,
            DurationMs,
            FailedAtUtc,
            FailureReason,
            ErrorDetails,
            CreatedAtUtc,
            CreatedBy,
            LastUpdatedUtc,
            LastModifiedBy,
            ResurrectCount,
            Revision
        )
        SELECT
            'Hot',
            h.Id,
            h.Queue,
            h.Type,
            h.Payload,
            h.Tags,
            h.IdempotencyKey,
            h.Priority,
            h.Status,
            h.AttemptCount,
            h.WorkerId,
            h.ScheduledAtUtc,
            h.DueAtUtc,
            h.FetchedAtUtc,
            h.StartedAtUtc,
            h.HeartbeatUtc,
            CONVERT(DATETIME2(7), NULL),
            CONVERT(FLOAT, NULL),
            CONVERT(DATETIME2(7), NULL),
            CONVERT(TINYINT, NULL),
            h.ErrorDetails,
            h.CreatedAtUtc,
            h.CreatedBy,
            h.LastUpdatedUtc,
            h.LastModifiedBy,
            h.ResurrectCount,
            h.Revision
        FROM chokaq.JobsHot AS h
        WHERE h.Id = @Id
        UNION ALL
        SELECT
            'DLQ',
            d.Id,
            d.Queue,
            d.Type,
            d.Payload,
            d.Tags,
            d.IdempotencyKey,
            d.Priority,
            NULL,
            d.AttemptCount,
            d.WorkerId,
            d.ScheduledAtUtc,
            NULL,
            NULL,
            d.StartedAtUtc,
            d.HeartbeatUtc,
            NULL,
            NULL,
            d.FailedAtUtc,
            d.FailureReason,
            d.ErrorDetails,
            d.CreatedAtUtc,
            d.CreatedBy,
            d.LastUpdatedUtc,
            d.LastModifiedBy,
            d.ResurrectCount,
            d.Revision
        FROM chokaq.JobsDLQ AS d
        WHERE d.Id = @Id
        UNION ALL
        SELECT
            'Archive',
            a.Id,
            a.Queue,
            a.Type,
            a.Payload,
            a.Tags,
            a.IdempotencyKey,
            a.Priority,
            NULL,
            a.AttemptCount,
            a.WorkerId,
            a.ScheduledAtUtc,
            NULL,
            NULL,
            a.StartedAtUtc,
            NULL,
            a.FinishedAtUtc,
            a.DurationMs,
            NULL,
            NULL,
            NULL,
            a.CreatedAtUtc,
            a.CreatedBy,
            a.FinishedAtUtc,
            a.LastModifiedBy,
            a.ResurrectCount,
            a.Revision
        FROM chokaq.JobsArchive AS a
        WHERE a.Id = @Id;
    END;

    SELECT TOP (1)
        f.Pillar,
        f.JobId,
        f.Queue,
        f.Type,
        f.Payload,
        f.Tags,
        f.IdempotencyKey,
        f.Priority,
        f.Status,
        f.AttemptCount,
        f.WorkerId,
        f.ScheduledAtUtc,
        f.DueAtUtc,
        f.FetchedAtUtc,
        f.StartedAtUtc,
        f.HeartbeatUtc,
        f.FinishedAtUtc,
        f.DurationMs,
        f.FailedAtUtc,
        f.FailureReason,
        f.ErrorDetails,
        f.CreatedAtUtc,
        f.CreatedBy,
        f.LastUpdatedUtc,
        f.LastModifiedBy,
        f.ResurrectCount,
        f.Revision
    FROM #Found AS f
    ORDER BY f.LastUpdatedUtc DESC, f.Revision DESC;
END;
