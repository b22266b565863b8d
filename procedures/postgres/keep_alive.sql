/*
chokaq.keep_alive: renew the heartbeat of the jobs that a worker holds

Twin         mssql/usp_KeepAlive.sql
Result       one row per id, in order: job_id, outcome
Outcomes     alive | lost (no longer this worker's: stop working on it)
Errors       QC001
Transaction  joining
Locks        jobs_hot, in key order
Granted to   chokaq_worker
Example      SELECT * FROM chokaq.keep_alive(ARRAY['a1', 'a2'], 'worker-1');
*/
CREATE OR REPLACE FUNCTION chokaq.keep_alive(p_job_ids text[], p_worker_id text)
RETURNS TABLE (job_id text, outcome text)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
/* Each job is found by its key; a plan for each call would cost as much as its rows. */
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    v_alive text[];
    v_ids text[];
    v_now timestamptz := clock_timestamp();
BEGIN
    v_ids := chokaq.checked_ids(p_job_ids, 4000);

    IF NOT chokaq.is_name(p_worker_id, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_worker_id must be 1 to 100 characters without white space at either end.';
    END IF;

    /* IS NOT DISTINCT FROM, because = would offer the index of all that workers hold. */
    WITH held AS MATERIALIZED (
        SELECT h.id
        FROM chokaq.jobs_hot AS h
        WHERE h.id = ANY (v_ids) AND h.worker_id IS NOT DISTINCT FROM p_worker_id
        ORDER BY h.id
        FOR NO KEY UPDATE
    ),
    alive AS (
        UPDATE chokaq.jobs_hot AS h
        SET heartbeat_utc = v_now, last_updated_utc = v_now
        FROM held AS l
        WHERE h.id = l.id
        RETURNING h.id
    )
    SELECT array_agg(a.id) INTO v_alive FROM alive AS a;

    RETURN QUERY
    SELECT i.id, CASE WHEN a.id IS NULL THEN 'lost' ELSE 'alive' END
    FROM unnest(v_ids) WITH ORDINALITY AS i (id, place)
    LEFT JOIN unnest(v_alive) AS a (id) ON a.id = i.id
    ORDER BY i.place;
END;
$$;

COMMENT ON FUNCTION chokaq.keep_alive(text[], text) IS 'Renew the heartbeat of the jobs that a worker holds';

REVOKE ALL ON FUNCTION chokaq.keep_alive(text[], text) FROM PUBLIC;
