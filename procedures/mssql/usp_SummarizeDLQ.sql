/*
chokaq.usp_SummarizeDLQ: what is in the DLQ, by queue, type and failure reason

Twin         postgres/summarize_dlq.sql
Result       a row per Queue, Type and FailureReason, in this order: JobCount, OldestFailedAtUtc, NewestFailedAtUtc,
             FailedLastHour; a row that somebody is just moving may be missing
Errors       59001
Transaction  reading; reads one index and no job
Granted to   chokaq_reader
Example      EXECUTE chokaq.usp_SummarizeDLQ @Queue = N'mail';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_SummarizeDLQ @Queue NVARCHAR(4000) = NULL, @Type NVARCHAR(4000) = NULL
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* READPAST is error 650 under SNAPSHOT and SERIALIZABLE; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @Queue IS NOT NULL AND chokaq.fn_IsName(@Queue, 255) = 0
        THROW 59001, N'@Queue must be NULL or 1 to 255 characters without white space at either end.', 1;

    IF @Type IS NOT NULL AND chokaq.fn_IsName(@Type, 255) = 0
        THROW 59001, N'@Type must be NULL or 1 to 255 characters without white space at either end.', 1;

    /* Locals of the columns' types: a wider parameter on the other side of = would keep the index from being sought. */
    DECLARE
        @QueueName NVARCHAR(255) = @Queue,
        @Since DATETIME2(7) = DATEADD(HOUR, -1, SYSUTCDATETIME()),
        @TypeName NVARCHAR(255) = @Type;

    SELECT
        g.Queue,
        g.Type,
        g.FailureReason,
        r.Name AS FailureReasonName,
        g.JobCount,
        g.OldestFailedAtUtc,
        g.NewestFailedAtUtc,
        g.FailedLastHour
    FROM (
        SELECT
            d.Queue,
            d.Type,
            d.FailureReason,
            COUNT(*) AS JobCount,
            MIN(d.FailedAtUtc) AS OldestFailedAtUtc,
            MAX(d.FailedAtUtc) AS NewestFailedAtUtc,
            SUM(CASE WHEN d.FailedAtUtc > @Since THEN 1 ELSE 0 END) AS FailedLastHour
        FROM chokaq.JobsDLQ AS d WITH (INDEX(IX_JobsDLQ_Queue_Type_FailureReason_FailedAtUtc), ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE (@QueueName IS NULL OR d.Queue = @QueueName) AND (@TypeName IS NULL OR d.Type = @TypeName)
        GROUP BY d.Queue, d.Type, d.FailureReason
    ) AS g
    LEFT JOIN chokaq.FailureReasons AS r ON r.FailureReason = g.FailureReason
    ORDER BY g.Queue, g.Type, g.FailureReason
    /* A plan for the filters that are given. */
    OPTION (RECOMPILE);
END;
