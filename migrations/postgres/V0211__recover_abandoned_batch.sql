/*
chokaq.recover_abandoned_batch: give one batch of jobs that were fetched and never started back to their queues

Twin         mssql/usp_RecoverAbandonedBatch.sql
Result       one row: recovered_count, skipped_count (held by others), has_more, last_queue, last_job_id: the key to go on from
Errors       QC001
Transaction  joining
Locks        jobs_hot; what others hold is skipped
Granted to   chokaq_worker
Example      SELECT * FROM chokaq.recover_abandoned_batch(300, 1000);
*/
CREATE OR REPLACE FUNCTION chokaq.recover_abandoned_batch(
    p_timeout_seconds integer DEFAULT 300,
    p_batch_size integer DEFAULT 1000,
    p_after_queue text DEFAULT NULL,
    p_after_job_id text DEFAULT NULL
)
RETURNS TABLE (
    recovered_count integer,
    skipped_count integer,
    has_more boolean,
    last_queue text,
    last_job_id text
)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_ids text[];
    v_limit timestamptz;
    v_queues text[];
BEGIN
    IF p_timeout_seconds IS NULL OR p_timeout_seconds < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_timeout_seconds must be 0 or more seconds.';
    ELSIF p_batch_size IS NULL OR p_batch_size NOT BETWEEN 1 AND 4000 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_batch_size must be 1 to 4000.';
    ELSIF NOT chokaq.is_within(p_after_queue, 255) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_after_queue must be NULL or at most 255 characters.';
    ELSIF NOT chokaq.is_within(p_after_job_id, 50) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_after_job_id must be NULL or at most 50 characters.';
    END IF;

    v_limit := clock_timestamp() - make_interval(secs => p_timeout_seconds);

    SELECT array_agg(w.queue ORDER BY w.queue, w.id), array_agg(w.id ORDER BY w.queue, w.id)
    INTO v_queues, v_ids
    FROM (
        SELECT h.queue, h.id
        FROM chokaq.jobs_hot AS h
        WHERE h.worker_id IS NOT NULL
        AND (h.queue, h.id) > (COALESCE(p_after_queue, ''), COALESCE(p_after_job_id, ''))
        AND h.status = 1
        AND h.heartbeat_utc <= v_limit
        ORDER BY h.queue, h.id
        LIMIT p_batch_size + 1
    ) AS w;

    has_more := COALESCE(cardinality(v_ids) > p_batch_size, false);
    v_ids := v_ids[:p_batch_size];
    last_queue := v_queues[cardinality(v_ids)];
    last_job_id := v_ids[cardinality(v_ids)];

    WITH late AS MATERIALIZED (
        SELECT h.id
        FROM chokaq.jobs_hot AS h
        WHERE h.id = ANY (v_ids) AND h.status = 1 AND h.heartbeat_utc <= v_limit
        ORDER BY h.id
        FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE chokaq.jobs_hot AS h
    SET
        status = 0,
        worker_id = NULL,
        fetched_at_utc = NULL,
        heartbeat_utc = NULL,
        last_updated_utc = clock_timestamp()
    FROM late AS l
    WHERE h.id = l.id;

    GET DIAGNOSTICS recovered_count = ROW_COUNT;

    SELECT count(*)
    INTO skipped_count
    FROM chokaq.jobs_hot AS h
    WHERE h.id = ANY (v_ids) AND h.status = 1 AND h.heartbeat_utc <= v_limit;

    RETURN NEXT;
END;
$$;

COMMENT ON FUNCTION chokaq.recover_abandoned_batch(integer, integer, text, text)
IS 'Give one batch of jobs that were fetched and never started back to their queues';

REVOKE ALL ON FUNCTION chokaq.recover_abandoned_batch(integer, integer, text, text) FROM PUBLIC;
