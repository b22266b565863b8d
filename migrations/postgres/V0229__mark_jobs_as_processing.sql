/*
chokaq.mark_jobs_as_processing: say that the worker now runs up to 1000 jobs it fetched; this counts their attempts

Twin         mssql/usp_MarkJobsAsProcessing.sql
Result       one row per id, in order: job_id, outcome, attempt_count (the fence that every finaliser gives back)
Outcomes     started | already_started | not_found | not_owner | not_fetched
Errors       QC001
Transaction  joining
Locks        jobs_hot, in key order
Granted to   chokaq_worker
Example      SELECT * FROM chokaq.mark_jobs_as_processing(ARRAY['a1', 'a2'], 'worker-1');
*/
CREATE OR REPLACE FUNCTION chokaq.mark_jobs_as_processing(p_job_ids text[], p_worker_id text)
RETURNS TABLE (job_id text, outcome text, attempt_count integer)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
/* Each job is found by its key; a plan for each call would cost as much as its rows. */
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    v_ids text[];
    v_now timestamptz := clock_timestamp();
    v_started jsonb;
BEGIN
    v_ids := chokaq.checked_ids(p_job_ids, 1000);

    IF NOT chokaq.is_name(p_worker_id, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_worker_id must be 1 to 100 characters without white space at either end.';
    END IF;

    /*
    The index takes the ids in their order, and so do the locks (a bitmap would not). IS NOT DISTINCT FROM, because = would offer the index of
    all that workers hold.
    */
    WITH started AS (
        UPDATE chokaq.jobs_hot AS h
        SET
            status = 2,
            attempt_count = h.attempt_count + 1,
            started_at_utc = v_now,
            heartbeat_utc = v_now,
            last_updated_utc = v_now
        WHERE h.id = ANY (v_ids) AND h.worker_id IS NOT DISTINCT FROM p_worker_id AND h.status = 1
        RETURNING h.id, h.attempt_count
    )
    SELECT COALESCE(jsonb_object_agg(s.id, s.attempt_count), '{}') INTO v_started FROM started AS s;

    /* Only what did not start is looked up again. */
    RETURN QUERY
    SELECT
        i.id,
        CASE
            WHEN v_started ? i.id THEN 'started'
            WHEN m.status IS NULL THEN 'not_found'
            WHEN m.worker_id <> p_worker_id THEN 'not_owner'
            WHEN m.status = 2 THEN 'already_started'
            ELSE 'not_fetched'
        END,
        COALESCE((v_started ->> i.id)::integer, m.attempt_count)
    FROM unnest(v_ids) WITH ORDINALITY AS i (id, place)
    LEFT JOIN LATERAL (
        SELECT h.worker_id, h.status, h.attempt_count
        FROM chokaq.jobs_hot AS h
        WHERE h.id = i.id COLLATE "C" AND NOT v_started ? i.id
        OFFSET 0
    ) AS m ON true
    ORDER BY i.place;
END;
$$;

COMMENT ON FUNCTION chokaq.mark_jobs_as_processing(text[], text)
IS 'Say that the worker now runs up to 1000 jobs it fetched';

REVOKE ALL ON FUNCTION chokaq.mark_jobs_as_processing(text[], text) FROM PUBLIC;
