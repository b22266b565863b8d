/*
chokaq.usp_GetQueueStats: per queue what is waiting, what is running, and the totals

Twin         postgres/get_queue_stats.sql
Result       a row per queue: PendingCount (due or not), FetchedCount, ProcessingCount and the columns of StatsSummary
Errors       59001
Transaction  reading; counts only what workers hold, the rest follows from the totals; jobs that change hands while
             it reads may be missing from FetchedCount and ProcessingCount and then be in PendingCount
Granted to   chokaq_reader
Example      EXECUTE chokaq.usp_GetQueueStats @Queue = N'mail';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_GetQueueStats @Queue NVARCHAR(4000) = NULL
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

    DECLARE @QueueName NVARCHAR(255) = @Queue;

    SELECT
        s.Queue,
        /* Not below 0: a job may be enqueued and fetched between the read of the totals and that of what workers hold. */
        CASE
            WHEN s.WaitingCount > COALESCE(w.FetchedCount, 0) + COALESCE(w.ProcessingCount, 0) THEN s.WaitingCount -
            COALESCE(w.FetchedCount, 0) -
            COALESCE(w.ProcessingCount, 0)
            ELSE 0
        END AS PendingCount,
        COALESCE(w.FetchedCount, 0) AS FetchedCount,
        COALESCE(w.ProcessingCount, 0) AS ProcessingCount,
        s.EnqueuedTotal,
        s.SucceededTotal,
        s.FailedTotal,
        s.RetriedTotal,
        s.DeadLetteredTotal,
        s.ResurrectedTotal,
        s.PurgedTotal,
        s.LastActivityUtc
    FROM (
        SELECT
            t.Queue,
            /* EnqueuedTotal = Hot + DLQ + SucceededTotal + PurgedTotal, so Hot needs no count, however long the backlog. */
            t.EnqueuedTotal - t.SucceededTotal - t.FailedTotal - t.PurgedTotal AS WaitingCount,
            t.EnqueuedTotal,
            t.SucceededTotal,
            t.FailedTotal,
            t.RetriedTotal,
            t.DeadLetteredTotal,
            t.ResurrectedTotal,
            t.PurgedTotal,
            t.LastActivityUtc
        FROM chokaq.StatsSummary AS t
        WHERE @QueueName IS NULL OR t.Queue = @QueueName
    ) AS s
    LEFT JOIN (
        SELECT
            h.Queue,
            CONVERT(BIGINT, SUM(CASE WHEN h.Status = 1 THEN 1 ELSE 0 END)) AS FetchedCount,
            CONVERT(BIGINT, SUM(CASE WHEN h.Status = 2 THEN 1 ELSE 0 END)) AS ProcessingCount
        FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_Id), ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE h.WorkerId IS NOT NULL AND (@QueueName IS NULL OR h.Queue = @QueueName)
        GROUP BY h.Queue
    ) AS w ON w.Queue = s.Queue
    ORDER BY s.Queue;
END;
