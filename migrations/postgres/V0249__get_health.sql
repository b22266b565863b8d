/*
chokaq.get_health: per queue what waits, how late it is, how fast jobs end, and what lies in the DLQ

Twin         mssql/usp_GetHealth.sql
Result       a row per queue; pending_count is due now, scheduled_count later: exact unless there are 10,000 of both, then
             scheduled_count stops there and pending_count is the rest; average_lag_seconds is over 10,000 jobs at most
Errors       QC001
Transaction  reading; its cost does not grow with the backlog, the Archive or the DLQ
Granted to   chokaq_reader
Example      SELECT * FROM chokaq.get_health();
*/
CREATE OR REPLACE FUNCTION chokaq.get_health(p_queue text DEFAULT NULL)
RETURNS TABLE (
    queue text,
    is_paused boolean,
    is_active boolean,
    pending_count bigint,
    scheduled_count bigint,
    fetched_count bigint,
    processing_count bigint,
    average_lag_seconds double precision,
    max_lag_seconds double precision,
    completed_per_second_one_minute double precision,
    completed_per_second_five_minutes double precision,
    failed_per_second_one_minute double precision,
    failed_per_second_five_minutes double precision,
    dlq_count bigint,
    oldest_failed_at_utc timestamptz
)
LANGUAGE plpgsql
STABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
/* Every read is the beginning of an index; on a table that churns, statistics may say otherwise. */
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
/* What is off is priced so high that the compiler would come in for it. */
SET jit = off
AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    /* Windows begin with a bucket, so they are up to ten seconds longer than their name; rates divide by what they are. */
    v_one timestamptz := date_bin('10 seconds', v_now - interval '1 minute', '2000-01-01T00:00:00Z');
    v_five timestamptz := date_bin('10 seconds', v_now - interval '5 minutes', '2000-01-01T00:00:00Z');
    v_one_seconds double precision := date_part('epoch', v_now - v_one);
    v_five_seconds double precision := date_part('epoch', v_now - v_five);
BEGIN
    IF p_queue IS NOT NULL AND NOT chokaq.is_name(p_queue, 255) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_queue must be NULL or 1 to 255 characters without white space at either end.';
    END IF;

    RETURN QUERY
    SELECT
        q.queue,
        q.is_paused,
        q.is_active,
        CASE
            WHEN later.job_count < 10000 OR due.job_count + ripe.job_count >= 10000
                THEN greatest(s.pending_count - later.job_count, 0)
            ELSE due.job_count + ripe.job_count
        END,
        CASE
            WHEN later.job_count < 10000 OR due.job_count + ripe.job_count >= 10000 THEN later.job_count
            ELSE greatest(s.pending_count - due.job_count - ripe.job_count, 0)
        END,
        s.fetched_count,
        s.processing_count,
        COALESCE((due.lag + ripe.lag) / NULLIF(due.job_count + ripe.job_count, 0), 0),
        COALESCE(date_part('epoch', v_now - least(heads.due_at_utc, ripe.due_at_utc)), 0),
        COALESCE(r.succeeded_one / v_one_seconds, 0),
        COALESCE(r.succeeded_five / v_five_seconds, 0),
        COALESCE(r.dead_lettered_one / v_one_seconds, 0),
        COALESCE(r.dead_lettered_five / v_five_seconds, 0),
        s.failed_total,
        dead.failed_at_utc
    FROM chokaq.queues AS q
    INNER JOIN chokaq.get_queue_stats(p_queue) AS s ON s.queue = q.queue
    CROSS JOIN LATERAL (
        SELECT
            count(*) AS job_count,
            COALESCE(sum(date_part('epoch', v_now - w.due_at_utc)), 0) AS lag
        FROM (
            SELECT h.due_at_utc
            FROM chokaq.jobs_hot AS h
            WHERE h.queue = q.queue AND h.worker_id IS NULL AND h.is_due
            ORDER BY h.priority DESC, h.due_at_utc, h.arrival
            LIMIT 10000
        ) AS w
    ) AS due
    /* Due by now, and no fetch has come by yet to say so. */
    CROSS JOIN LATERAL (
        SELECT
            count(*) AS job_count,
            COALESCE(sum(date_part('epoch', v_now - w.due_at_utc)), 0) AS lag,
            min(w.due_at_utc) AS due_at_utc
        FROM (
            SELECT h.due_at_utc
            FROM chokaq.jobs_hot AS h
            WHERE h.queue = q.queue AND h.worker_id IS NULL AND NOT h.is_due AND h.due_at_utc <= v_now
            ORDER BY h.due_at_utc
            LIMIT 10000
        ) AS w
    ) AS ripe
    CROSS JOIN LATERAL (
        SELECT count(*) AS job_count
        FROM (
            SELECT 1
            FROM chokaq.jobs_hot AS h
            WHERE h.queue = q.queue AND h.worker_id IS NULL AND NOT h.is_due AND h.due_at_utc > v_now
            ORDER BY h.due_at_utc
            LIMIT 10000
        ) AS w
    ) AS later
    /* The longest wait may be that of a low priority: the first job of each, of up to 1,000 priorities. */
    CROSS JOIN LATERAL (
        WITH RECURSIVE head AS (
            (
                SELECT h.priority, h.due_at_utc
                FROM chokaq.jobs_hot AS h
                WHERE h.queue = q.queue AND h.worker_id IS NULL AND h.is_due
                ORDER BY h.priority DESC, h.due_at_utc, h.arrival
                LIMIT 1
            )
            UNION ALL
            SELECT n.priority, n.due_at_utc
            FROM head
            CROSS JOIN LATERAL (
                SELECT h.priority, h.due_at_utc
                FROM chokaq.jobs_hot AS h
                WHERE h.queue = q.queue AND h.worker_id IS NULL AND h.is_due AND h.priority < head.priority
                ORDER BY h.priority DESC, h.due_at_utc, h.arrival
                LIMIT 1
            ) AS n
        )
        SELECT min(l.due_at_utc) AS due_at_utc FROM (SELECT f.due_at_utc FROM head AS f LIMIT 1000) AS l
    ) AS heads
    LEFT JOIN LATERAL (
        SELECT d.failed_at_utc
        FROM chokaq.jobs_dlq AS d
        WHERE d.queue = q.queue
        ORDER BY d.failed_at_utc, d.id
        LIMIT 1
    ) AS dead ON true
    LEFT JOIN (
        SELECT
            c.queue,
            sum(c.succeeded) FILTER (WHERE c.at_utc >= v_one) AS succeeded_one,
            sum(c.succeeded) AS succeeded_five,
            sum(c.dead_lettered) FILTER (WHERE c.at_utc >= v_one) AS dead_lettered_one,
            sum(c.dead_lettered) AS dead_lettered_five
        FROM (
            SELECT m.queue, m.bucket_utc AS at_utc, m.succeeded, m.dead_lettered
            FROM chokaq.metric_buckets AS m
            WHERE m.bucket_utc >= v_five
            UNION ALL
            SELECT d.queue, d.at_utc, d.succeeded, d.dead_lettered
            FROM chokaq.counter_deltas AS d
            WHERE d.at_utc >= v_five
        ) AS c
        GROUP BY c.queue
    ) AS r ON r.queue = q.queue
    WHERE p_queue IS NULL OR q.queue = p_queue
    ORDER BY q.queue;
END;
$$;

COMMENT ON FUNCTION chokaq.get_health(text)
IS 'Per queue what waits, how late it is, how fast jobs end, and what lies in the DLQ';

REVOKE ALL ON FUNCTION chokaq.get_health(text) FROM PUBLIC;
