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
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    v_counts integer[];
    v_ids text[];
    v_now timestamptz := clock_timestamp();
    v_outcomes text[];
    v_started record;
BEGIN
    v_ids := chokaq.checked_ids(p_job_ids, 1000);

    IF NOT chokaq.is_name(p_worker_id, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_worker_id must be 1 to 100 characters without white space at either end.';
    END IF;

    v_counts := array_fill(NULL::integer, ARRAY[cardinality(v_ids)]);
    v_outcomes := array_fill(NULL::text, ARRAY[cardinality(v_ids)]);

    FOR v_started IN
        /* IS NOT DISTINCT FROM, because = would offer the index of all that workers hold. */
        WITH held AS MATERIALIZED (
            SELECT h.id, i.place
            FROM unnest(v_ids) WITH ORDINALITY AS i (id, place)
            INNER JOIN chokaq.jobs_hot AS h ON h.id = i.id COLLATE "C"
            WHERE h.worker_id IS NOT DISTINCT FROM p_worker_id AND h.status = 1
            ORDER BY h.id
            FOR NO KEY UPDATE OF h
        )
        UPDATE chokaq.jobs_hot AS h
        SET
            status = 2,
            attempt_count = h.attempt_count + 1,
            started_at_utc = v_now,
            heartbeat_utc = v_now,
            last_updated_utc = v_now
        FROM held AS l
        WHERE h.id = l.id
        RETURNING l.place, h.attempt_count
    LOOP
        v_outcomes[v_started.place] := 'started';
        v_counts[v_started.place] := v_started.attempt_count;
    END LOOP;

    /* Only what did not start is looked up again. */
    RETURN QUERY
    SELECT
        i.id,
        COALESCE(
            i.outcome,
            CASE
                WHEN m.worker_id IS NULL AND m.status IS NOT NULL THEN 'not_fetched'
                WHEN m.worker_id <> p_worker_id THEN 'not_owner'
                WHEN m.status = 2 THEN 'already_started'
                WHEN m.status = 1 THEN 'not_fetched'
                ELSE 'not_found'
            END
        ),
        COALESCE(i.attempt_count, m.attempt_count)
    FROM unnest(v_ids, v_outcomes, v_counts) WITH ORDINALITY AS i (id, outcome, attempt_count, place)
    LEFT JOIN LATERAL (
        SELECT h.worker_id, h.status, h.attempt_count
        FROM chokaq.jobs_hot AS h
        WHERE h.id = i.id COLLATE "C" AND i.outcome IS NULL
        OFFSET 0
    ) AS m ON true
    ORDER BY i.place;
END;
$$;

COMMENT ON FUNCTION chokaq.mark_jobs_as_processing(text[], text)
IS 'Say that the worker now runs up to 1000 jobs it fetched';

REVOKE ALL ON FUNCTION chokaq.mark_jobs_as_processing(text[], text) FROM PUBLIC;
