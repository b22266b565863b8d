/*
chokaq.usp_GetQueues: the queues and their settings

Twin         postgres/get_queues.sql
Result       a row per queue: the settings as they are kept, NULL where a default or no limit applies
Errors       59001
Transaction  reading
Granted to   chokaq_reader
Example      EXECUTE chokaq.usp_GetQueues @Queue = N'mail';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_GetQueues @Queue NVARCHAR(4000) = NULL
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;

    IF @Queue IS NOT NULL AND chokaq.fn_IsName(@Queue, 255) = 0
        THROW 59001, N'@Queue must be NULL or 1 to 255 characters without white space at either end.', 1;

    DECLARE @QueueName NVARCHAR(255) = @Queue;

    SELECT
        q.Queue,
        q.IsPaused,
        q.IsActive,
        q.MaxWorkers,
        q.ZombieTimeoutSeconds,
        q.MaxAttempts,
        q.BaseDelaySeconds,
        q.BackoffMultiplier,
        q.MaxDelaySeconds,
        q.JitterSeconds,
        q.MaxJobAgeSeconds,
        q.CreatedAtUtc,
        q.LastUpdatedUtc,
        q.LastModifiedBy
    FROM chokaq.Queues AS q
    WHERE @QueueName IS NULL OR q.Queue = @QueueName
    ORDER BY q.Queue;
END;
