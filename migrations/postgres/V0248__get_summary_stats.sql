/*
chokaq.get_summary_stats: what is waiting, what is running, and the totals, over all queues

Twin         mssql/usp_GetSummaryStats.sql
Result       one row: queue_count, the sums of the columns of get_queue_stats, the latest last_activity_utc
Transaction  reading; counts only what workers hold, the rest follows from the totals
Granted to   chokaq_reader
Example      SELECT * FROM chokaq.get_summary_stats();
*/
CREATE OR REPLACE FUNCTION chokaq.get_summary_stats()
RETURNS TABLE (
    queue_count bigint,
    pending_count bigint,
    fetched_count bigint,
    processing_count bigint,
    enqueued_total bigint,
    succeeded_total bigint,
    failed_total bigint,
    retried_total bigint,
    dead_lettered_total bigint,
    resurrected_total bigint,
    purged_total bigint,
    last_activity_utc timestamptz
)
LANGUAGE sql
STABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
/* What workers hold is read by its partial index, whatever the statistics say of a table that fills and empties. */
SET enable_seqscan = off
SET jit = off
AS $$
    SELECT
        t.queue_count,
        /* EnqueuedTotal = Hot + DLQ + SucceededTotal + PurgedTotal, so Hot needs no count, however long the backlog. */
        t.enqueued - t.succeeded - t.failed - t.purged - w.fetched_count - w.processing_count,
        w.fetched_count,
        w.processing_count,
        t.enqueued, t.succeeded, t.failed, t.retried, t.dead_lettered, t.resurrected, t.purged, t.last_activity_utc
    FROM (
        SELECT
            count(*) AS queue_count,
            COALESCE(sum(s.enqueued_total), 0)::bigint AS enqueued,
            COALESCE(sum(s.succeeded_total), 0)::bigint AS succeeded,
            COALESCE(sum(s.failed_total), 0)::bigint AS failed,
            COALESCE(sum(s.retried_total), 0)::bigint AS retried,
            COALESCE(sum(s.dead_lettered_total), 0)::bigint AS dead_lettered,
            COALESCE(sum(s.resurrected_total), 0)::bigint AS resurrected,
            COALESCE(sum(s.purged_total), 0)::bigint AS purged,
            max(s.last_activity_utc) AS last_activity_utc
        FROM chokaq.stats_summary AS s
    ) AS t
    CROSS JOIN (
        SELECT
            count(*) FILTER (WHERE h.status = 1) AS fetched_count,
            count(*) FILTER (WHERE h.status = 2) AS processing_count
        FROM chokaq.jobs_hot AS h
        WHERE h.worker_id IS NOT NULL
    ) AS w;
$$;

COMMENT ON FUNCTION chokaq.get_summary_stats() IS 'What is waiting, what is running, and the totals, over all queues';

REVOKE ALL ON FUNCTION chokaq.get_summary_stats() FROM PUBLIC;
