/*
chokaq.usp_GetDLQJob: one job of the DLQ with everything that is known about its failure

Twin         postgres/get_dlq_job.sql
Result       0 or 1 row: the whole row
Errors       59001
Transaction  reading
Granted to   chokaq_reader
Example      EXECUTE chokaq.usp_GetDLQJob @JobId = N'a1';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_GetDLQJob @JobId NVARCHAR(4000)
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;

    IF chokaq.fn_IsName(@JobId, 50) = 0
        THROW 59001, N'@JobId must be 1 to 50 characters without white space at either end.', 1;

    DECLARE @Id NVARCHAR(50) = @JobId;

    SELECT
        d.Id AS JobId,
        d.Queue,
        d.Type,
        d.Payload,
        d.Tags,
        d.IdempotencyKey,
        d.Priority,
        d.AttemptCount,
        d.WorkerId,
        d.FailureReason,
        r.Name AS FailureReasonName,
        d.ErrorDetails,
        d.FailedAtUtc,
        d.ScheduledAtUtc,
        d.StartedAtUtc,
        d.HeartbeatUtc,
        d.CreatedAtUtc,
        d.CreatedBy,
        d.LastUpdatedUtc,
        d.LastModifiedBy,
        d.ResurrectCount,
        d.Revision
    FROM chokaq.JobsDLQ AS d
    LEFT JOIN chokaq.FailureReasons AS r ON r.FailureReason = d.FailureReason
    WHERE d.Id = @Id;
END;
