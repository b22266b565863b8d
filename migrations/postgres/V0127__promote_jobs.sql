/*
chokaq.promote_jobs: mark jobs that have become due, so that a fetch finds them in the order of the claim

Twin         mssql/usp_PromoteJobs.sql
Transaction  joining
Locks        jobs_hot; what others hold is skipped
*/
CREATE OR REPLACE FUNCTION chokaq.promote_jobs(p_queues text[], p_batch_size integer)
RETURNS void
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
/* Every read is a short walk along one index: the statistics of a table that fills and empties must not say otherwise. */
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_sort = off
SET jit = off
AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_promote integer;
    v_promote_per_queue integer;
BEGIN
    /*
    More per queue than one fetch can take, so that due jobs never pile up unseen; at random, so that no queue waits
    for another. Inside a caller's transaction only as many as it may take: they stay locked until it ends. No clock
    tells the two apart for certain: such a transaction has written before, or began a round trip ago.
    */
    IF pg_current_xact_id_if_assigned() IS NULL
    AND statement_timestamp() < transaction_timestamp() + interval '1 millisecond' THEN
        v_promote := GREATEST(4 * p_batch_size, 1000);
        v_promote_per_queue := GREATEST(2 * p_batch_size, 50);
    ELSE
        v_promote := p_batch_size;
        v_promote_per_queue := p_batch_size;
    END IF;

    UPDATE chokaq.jobs_hot AS h
    SET is_due = true
    WHERE h.id = ANY (ARRAY(
        SELECT d.id
        FROM (
            SELECT q.queue
            FROM chokaq.queues AS q
            WHERE NOT q.is_paused
            AND q.is_active
            AND (p_queues IS NULL OR q.queue = ANY (p_queues))
            /* A full queue would only use up what may be let in. */
            AND (
                q.max_workers IS NULL
                OR q.max_workers > (
                    SELECT count(*)
                    FROM (
                        SELECT 1
                        FROM chokaq.jobs_hot AS w
                        WHERE w.queue = q.queue AND w.worker_id IS NOT NULL
                        LIMIT q.max_workers
                    ) AS c
                )
            )
            ORDER BY random()
        ) AS o
        CROSS JOIN LATERAL (
            SELECT n.id
            FROM chokaq.jobs_hot AS n
            WHERE n.queue = o.queue AND n.worker_id IS NULL AND NOT n.is_due AND n.due_at_utc <= v_now
            ORDER BY n.queue, n.due_at_utc
            LIMIT v_promote_per_queue
            FOR UPDATE SKIP LOCKED
        ) AS d
        LIMIT v_promote
    ));
END;
$$;

REVOKE ALL ON FUNCTION chokaq.promote_jobs(text[], integer) FROM PUBLIC;
