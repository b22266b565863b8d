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
    SET NOCOUNT, XACT_ABORT ON;
    SET ROWCOUNT 0;
    /* READPAST is error 650 under SNAPSHOT and SERIALIZABLE; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @Queue IS NOT NULL AND chokaq.fn_IsName(@Queue, 255) = 0
        THROW 59001, N'@Queue must be NULL or 1 to 255 characters without white space at either end.', 1;

    DECLARE @QueueName NVARCHAR(255) = @Queue;

    SELECT
        s.Queue,
        /* EnqueuedTotal = Hot + DLQ + SucceededTotal + PurgedTotal, so Hot needs no count, however long the backlog. */
        s.EnqueuedTotal -
        s.SucceededTotal -
        s.FailedTotal -
        s.PurgedTotal -
        COALESCE(w.FetchedCount, 0) -
        COALESCE(w.ProcessingCount, 0) AS PendingCount,
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
    FROM chokaq.StatsSummary AS s
    LEFT JOIN (
        SELECT
            h.Queue,
            SUM(CASE WHEN h.Status = 1 THEN 1 ELSE 0 END) AS FetchedCount,
            SUM(CASE WHEN h.Status = 2 THEN 1 ELSE 0 END) AS ProcessingCount
        FROM chokaq.JobsHot AS h WITH (READPAST, READCOMMITTEDLOCK)
        WHERE h.WorkerId IS NOT NULL
        GROUP BY h.Queue
    ) AS w ON w.Queue = s.Queue
    WHERE @QueueName IS NULL OR s.Queue = @QueueName
    ORDER BY s.Queue;
END;
