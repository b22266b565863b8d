/*
chokaq.resurrect_jobs: put up to 4000 jobs of the DLQ back into their queues as they are, in one transaction

Twin         mssql/usp_ResurrectJobs.sql
Result       one row per id, in order: job_id, outcome
Outcomes     resurrected | not_found | id_conflict (the id is in Hot as well: only the owner's own writes can do that)
Errors       QC001
Transaction  joining
Locks        jobs_dlq in key order (waits for rows that others hold), jobs_hot, counters, history
Granted to   chokaq_operator
Example      SELECT * FROM chokaq.resurrect_jobs(ARRAY['a1', 'a2'], 'ann');
*/
CREATE OR REPLACE FUNCTION chokaq.resurrect_jobs(p_job_ids text[], p_resurrected_by text)
RETURNS TABLE (job_id text, outcome text)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_back text[];
    v_found text[];
    v_ids text[];
    v_now timestamptz;
    v_number bigint;
BEGIN
    v_ids := chokaq.checked_ids(p_job_ids, 4000);

    IF NOT chokaq.is_name(p_resurrected_by, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_resurrected_by must be 1 to 100 characters without white space at either end.';
    END IF;

    v_found := ARRAY(
        SELECT d.id
        FROM chokaq.jobs_dlq AS d
        WHERE d.id = ANY (v_ids)
        ORDER BY d.id
        FOR UPDATE
    );
    v_now := clock_timestamp();
    v_number := nextval('chokaq.job_numbers');

    WITH back AS (
        INSERT INTO chokaq.jobs_hot AS h (
            id, queue, type, payload, tags, priority, status, due_at_utc, is_due, first_due_at_utc, arrival,
            created_at_utc, created_by, last_updated_utc, last_modified_by, resurrect_count, revision
        )
        SELECT
            d.id, d.queue, d.type, d.payload, d.tags, 10, 0, v_now, true, v_now, v_number + i.place,
            d.created_at_utc, d.created_by, v_now, p_resurrected_by, d.resurrect_count + 1, v_number + i.place
        FROM chokaq.jobs_dlq AS d
        INNER JOIN unnest(v_ids) WITH ORDINALITY AS i (id, place) ON i.id = d.id
        WHERE d.id = ANY (v_found)
        ORDER BY d.id
        ON CONFLICT DO NOTHING
        RETURNING h.id
    )
    SELECT array_agg(b.id) INTO v_back FROM back AS b;

    WITH gone AS (
        DELETE FROM chokaq.jobs_dlq AS d
        WHERE d.id = ANY (v_back)
        RETURNING
            d.id, d.queue, d.type, d.failure_reason, d.error_details, d.attempt_count, d.failed_at_utc, d.priority,
            d.idempotency_key
    ),
    counted AS (
        INSERT INTO chokaq.counter_deltas (queue, resurrected)
        SELECT g.queue, count(*) FROM gone AS g GROUP BY g.queue
    )
    INSERT INTO chokaq.operator_history (
        action, job_id, queue, type, actor, batch_id, failure_reason, error_details, attempt_count, failed_at_utc,
        old_priority, old_idempotency_key
    )
    SELECT
        'resurrected', g.id, g.queue, g.type, p_resurrected_by, b.batch_id, g.failure_reason, g.error_details,
        g.attempt_count, g.failed_at_utc, NULLIF(g.priority, 10), g.idempotency_key
    FROM gone AS g
    CROSS JOIN (SELECT gen_random_uuid() AS batch_id) AS b
    ORDER BY g.id;

    PERFORM chokaq.fold_sometimes();

    RETURN QUERY
    SELECT
        i.id,
        CASE WHEN b.id IS NOT NULL THEN 'resurrected' WHEN f.id IS NOT NULL THEN 'id_conflict' ELSE 'not_found' END
    FROM unnest(v_ids) WITH ORDINALITY AS i (id, place)
    LEFT JOIN unnest(v_back) AS b (id) ON b.id = i.id
    LEFT JOIN unnest(v_found) AS f (id) ON f.id = i.id
    ORDER BY i.place;
END;
$$;

COMMENT ON FUNCTION chokaq.resurrect_jobs(text[], text)
IS 'Put up to 4000 jobs of the DLQ back into their queues as they are, in one transaction';

REVOKE ALL ON FUNCTION chokaq.resurrect_jobs(text[], text) FROM PUBLIC;
