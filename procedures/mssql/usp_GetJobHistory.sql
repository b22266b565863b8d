/*
chokaq.usp_GetJobHistory: what operators did to a job, oldest first

Twin         postgres/get_job_history.sql
Result       a row per act: who, when, what the DLQ knew, and the old values of what was changed or dropped; an act that
             is not committed yet is missing
Errors       59001
Transaction  reading
Granted to   chokaq_reader
Example      EXECUTE chokaq.usp_GetJobHistory @JobId = N'a1';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_GetJobHistory @JobId NVARCHAR(4000)
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* READPAST is error 650 under SNAPSHOT and SERIALIZABLE; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF chokaq.fn_IsName(@JobId, 50) = 0
        THROW 59001, N'@JobId must be 1 to 50 characters without white space at either end.', 1;

    DECLARE @Id NVARCHAR(50) = @JobId;

    SELECT
        o.HistoryId,
        o.AtUtc,
        o.Action,
        o.JobId,
        o.Queue,
        o.Type,
        o.Actor,
        o.Login,
        LOWER(CONVERT(NVARCHAR(36), o.BatchId)) AS BatchId,
        o.FailureReason,
        r.Name AS FailureReasonName,
        o.ErrorDetails,
        o.AttemptCount,
        o.FailedAtUtc,
        o.OldPayload,
        o.OldTags,
        o.OldPriority,
        o.OldIdempotencyKey
    FROM chokaq.OperatorHistory AS o WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    LEFT JOIN chokaq.FailureReasons AS r ON r.FailureReason = o.FailureReason
    WHERE o.JobId = @Id
    ORDER BY o.HistoryId;
END;
