/*
chokaq.get_queue_stats: per queue what is waiting, what is running, and the totals

Twin         mssql/usp_GetQueueStats.sql
Result       a row per queue: pending_count (due or not), fetched_count, processing_count and the columns of stats_summary
Errors       QC001
Transaction  reading; counts only what workers hold, the rest follows from the totals
Granted to   chokaq_reader
Example      SELECT * FROM chokaq.get_queue_stats('mail');
*/
CREATE OR REPLACE FUNCTION chokaq.get_queue_stats(p_queue text DEFAULT NULL)
RETURNS TABLE (
    queue text,
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
LANGUAGE plpgsql
STABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
/* What workers hold has an index, whatever the statistics say of a table that fills and empties. */
SET enable_seqscan = off
SET jit = off
AS $$
BEGIN
    IF p_queue IS NOT NULL AND NOT chokaq.is_name(p_queue, 255) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_queue must be NULL or 1 to 255 characters without white space at either end.';
    END IF;

    RETURN QUERY
    SELECT
        s.queue,
        /* EnqueuedTotal = Hot + DLQ + SucceededTotal + PurgedTotal, so Hot needs no count, however long the backlog. */
        s.enqueued_total - s.succeeded_total - s.failed_total - s.purged_total
        - COALESCE(w.fetched_count, 0) - COALESCE(w.processing_count, 0),
        COALESCE(w.fetched_count, 0),
        COALESCE(w.processing_count, 0),
        s.enqueued_total, s.succeeded_total, s.failed_total, s.retried_total, s.dead_lettered_total,
        s.resurrected_total, s.purged_total, s.last_activity_utc
    FROM chokaq.stats_summary AS s
    LEFT JOIN (
        SELECT
            h.queue,
            count(*) FILTER (WHERE h.status = 1) AS fetched_count,
            count(*) FILTER (WHERE h.status = 2) AS processing_count
        FROM chokaq.jobs_hot AS h
        WHERE h.worker_id IS NOT NULL
        GROUP BY h.queue
    ) AS w ON w.queue = s.queue
    WHERE p_queue IS NULL OR s.queue = p_queue
    ORDER BY s.queue;
END;
$$;

COMMENT ON FUNCTION chokaq.get_queue_stats(text) IS 'Per queue what is waiting, what is running, and the totals';

REVOKE ALL ON FUNCTION chokaq.get_queue_stats(text) FROM PUBLIC;
