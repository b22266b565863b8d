/*
chokaq.fold_counters: move committed counter deltas into the totals and the metric buckets

Twin         mssql/usp_FoldCounters.sql
Result       one row: folded_count
Errors       QC001
Transaction  joining; one folder at a time, a second one returns 0 at once
Locks        counter_deltas, queue_totals, metric_buckets
Granted to   chokaq_worker
Example      SELECT * FROM chokaq.fold_counters();
*/
CREATE OR REPLACE FUNCTION chokaq.fold_counters(p_batch_size integer DEFAULT 10000)
RETURNS TABLE (folded_count bigint)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_oldest timestamptz := clock_timestamp() - interval '1 day';
BEGIN
    IF p_batch_size IS NULL OR p_batch_size NOT BETWEEN 1 AND 100000 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_batch_size must be 1 to 100000.';
    END IF;

    folded_count := 0;

    /* Two folders would only wait for each other's totals. The number is nobody else's: the deployment has its own. */
    IF pg_try_advisory_xact_lock(109282849219953) THEN
        WITH gone AS (
            DELETE FROM chokaq.counter_deltas AS d
            WHERE d.ctid = ANY (ARRAY(
                SELECT c.ctid
                FROM chokaq.counter_deltas AS c
                LIMIT p_batch_size
                FOR UPDATE SKIP LOCKED
            ))
            RETURNING d.queue, d.at_utc, d.enqueued, d.succeeded, d.retried, d.dead_lettered, d.resurrected, d.purged
        ),
        sums AS (
            SELECT
                g.queue,
                count(*) AS row_count,
                sum(g.enqueued) AS enqueued,
                sum(g.succeeded) AS succeeded,
                sum(g.retried) AS retried,
                sum(g.dead_lettered) AS dead_lettered,
                sum(g.resurrected) AS resurrected,
                sum(g.purged) AS purged,
                max(g.at_utc) AS last_activity_utc
            FROM gone AS g
            GROUP BY g.queue
        ),
        bucketed AS (
            INSERT INTO chokaq.metric_buckets AS m (bucket_utc, queue, enqueued, succeeded, retried, dead_lettered)
            SELECT
                date_bin('10 seconds', g.at_utc, '2000-01-01T00:00:00Z') AS bucket_utc,
                g.queue,
                sum(g.enqueued),
                sum(g.succeeded),
                sum(g.retried),
                sum(g.dead_lettered)
            FROM gone AS g
            WHERE g.at_utc >= v_oldest
            GROUP BY 1, g.queue
            HAVING sum(g.enqueued + g.succeeded + g.retried + g.dead_lettered) > 0
            ORDER BY 1, g.queue
            ON CONFLICT (bucket_utc, queue) DO UPDATE
            SET
                enqueued = m.enqueued + excluded.enqueued,
                succeeded = m.succeeded + excluded.succeeded,
                retried = m.retried + excluded.retried,
                dead_lettered = m.dead_lettered + excluded.dead_lettered
        ),
        folded AS (
            INSERT INTO chokaq.queue_totals AS t (
                queue, enqueued, succeeded, retried, dead_lettered, resurrected, purged, last_activity_utc
            )
            SELECT
                s.queue, s.enqueued, s.succeeded, s.retried, s.dead_lettered, s.resurrected, s.purged,
                s.last_activity_utc
            FROM sums AS s
            ORDER BY s.queue
            ON CONFLICT (queue) DO UPDATE
            SET
                enqueued = t.enqueued + excluded.enqueued,
                succeeded = t.succeeded + excluded.succeeded,
                retried = t.retried + excluded.retried,
                dead_lettered = t.dead_lettered + excluded.dead_lettered,
                resurrected = t.resurrected + excluded.resurrected,
                purged = t.purged + excluded.purged,
                last_activity_utc = greatest(t.last_activity_utc, excluded.last_activity_utc)
        )
        SELECT COALESCE(sum(s.row_count), 0) INTO folded_count FROM sums AS s;

        /* So that the buckets stay a day's, whoever forgets to purge them. */
        DELETE FROM chokaq.metric_buckets AS m
        WHERE m.ctid = ANY (ARRAY(
            SELECT o.ctid
            FROM chokaq.metric_buckets AS o
            WHERE o.bucket_utc < v_oldest
            ORDER BY o.bucket_utc, o.queue
            LIMIT p_batch_size
            FOR UPDATE SKIP LOCKED
        ));
    END IF;

    RETURN NEXT;
END;
$$;

COMMENT ON FUNCTION chokaq.fold_counters(integer)
IS 'Move committed counter deltas into the totals and the metric buckets';

REVOKE ALL ON FUNCTION chokaq.fold_counters(integer) FROM PUBLIC;
