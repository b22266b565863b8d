/*
chokaq.usp_GetSummaryStats: what is waiting, what is running, and the totals, over all queues

Twin         postgres/get_summary_stats.sql
Result       one row: QueueCount, the sums of the columns of usp_GetQueueStats, the latest LastActivityUtc
Transaction  reading; counts only what workers hold, the rest follows from the totals; jobs that change hands while
             it reads may be missing from FetchedCount and ProcessingCount and then be in PendingCount
Granted to   chokaq_reader
Example      EXECUTE chokaq.usp_GetSummaryStats;
*/
CREATE OR ALTER PROCEDURE chokaq.usp_GetSummaryStats
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;
    /* READPAST is error 650 under SNAPSHOT and SERIALIZABLE; the caller's level comes back when this returns. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    SELECT
        t.QueueCount,
        /* EnqueuedTotal = Hot + DLQ + SucceededTotal + PurgedTotal, so Hot needs no count, however long the backlog. */
        CASE
            WHEN t.EnqueuedTotal - t.SucceededTotal - t.FailedTotal - t.PurgedTotal > w.FetchedCount +
            w.ProcessingCount THEN t.EnqueuedTotal -
            t.SucceededTotal -
            t.FailedTotal -
            t.PurgedTotal -
            w.FetchedCount -
            w.ProcessingCount
            ELSE
            /* A job may be enqueued and fetched between the read of the totals and that of what workers hold. */
            0
        END AS PendingCount,
        w.FetchedCount,
        w.ProcessingCount,
        t.EnqueuedTotal,
        t.SucceededTotal,
        t.FailedTotal,
        t.RetriedTotal,
        t.DeadLetteredTotal,
        t.ResurrectedTotal,
        t.PurgedTotal,
        t.LastActivityUtc
    FROM (
        SELECT
            COUNT(*) AS QueueCount,
            COALESCE(SUM(s.EnqueuedTotal), 0) AS EnqueuedTotal,
            COALESCE(SUM(s.SucceededTotal), 0) AS SucceededTotal,
            COALESCE(SUM(s.FailedTotal), 0) AS FailedTotal,
            COALESCE(SUM(s.RetriedTotal), 0) AS RetriedTotal,
            COALESCE(SUM(s.DeadLetteredTotal), 0) AS DeadLetteredTotal,
            COALESCE(SUM(s.ResurrectedTotal), 0) AS ResurrectedTotal,
            COALESCE(SUM(s.PurgedTotal), 0) AS PurgedTotal,
            MAX(s.LastActivityUtc) AS LastActivityUtc
        FROM chokaq.StatsSummary AS s
    ) AS t
    CROSS JOIN (
        SELECT
            COALESCE(SUM(CASE WHEN h.Status = 1 THEN 1 ELSE 0 END), 0) AS FetchedCount,
            COALESCE(SUM(CASE WHEN h.Status = 2 THEN 1 ELSE 0 END), 0) AS ProcessingCount
        FROM chokaq.JobsHot AS h WITH (INDEX(IX_JobsHot_Queue_Id), ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE h.WorkerId IS NOT NULL
    ) AS w;
END;
