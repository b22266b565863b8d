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
AS $$
#variable_conflict use_column
DECLARE
    v_ids text[];
    v_now timestamptz := clock_timestamp();
    v_started text[];
BEGIN
    v_ids := chokaq.checked_ids(p_job_ids, 1000);

    IF NOT chokaq.is_name(p_worker_id, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_worker_id must be 1 to 100 characters without white space at either end.';
    END IF;

    WITH held AS MATERIALIZED (
        SELECT h.id
        FROM chokaq.jobs_hot AS h
        WHERE h.id = ANY (v_ids) AND h.worker_id = p_worker_id AND h.status = 1
        ORDER BY h.id
        FOR NO KEY UPDATE
    ),
    started AS (
        UPDATE chokaq.jobs_hot AS h
        SET
            status = 2,
            attempt_count = h.attempt_count + 1,
            started_at_utc = v_now,
            heartbeat_utc = v_now,
            last_updated_utc = v_now
        FROM held AS l
        WHERE h.id = l.id
        RETURNING h.id
    )
    SELECT array_agg(s.id) INTO v_started FROM started AS s;

    RETURN QUERY
    SELECT
        i.id,
        CASE
            WHEN s.id IS NOT NULL THEN 'started'
            WHEN h.id IS NULL THEN 'not_found'
            WHEN h.worker_id IS NULL THEN 'not_fetched'
            WHEN h.worker_id <> p_worker_id THEN 'not_owner'
            WHEN h.status = 2 THEN 'already_started'
            ELSE 'not_fetched'
        END,
        h.attempt_count
    FROM unnest(v_ids) WITH ORDINALITY AS i (id, place)
    LEFT JOIN unnest(v_started) AS s (id) ON s.id = i.id
    LEFT JOIN chokaq.jobs_hot AS h ON h.id = i.id COLLATE "C" AND h.id = ANY (v_ids)
    ORDER BY i.place;
END;
$$;

COMMENT ON FUNCTION chokaq.mark_jobs_as_processing(text[], text)
IS 'Say that the worker now runs up to 1000 jobs it fetched';

REVOKE ALL ON FUNCTION chokaq.mark_jobs_as_processing(text[], text) FROM PUBLIC;
