/*
chokaq.resurrect_rows: the move itself of resurrect_jobs and resurrect_by_filter_batch

Twin         mssql/usp_ResurrectRows.sql
Result       text[]: the ids that came back, to take their turn in the order given; an id that is in Hot as well stays
Transaction  joining; the caller holds the rows
Locks        jobs_hot, jobs_dlq, counters, history
*/
CREATE OR REPLACE FUNCTION chokaq.resurrect_rows(p_job_ids text[], p_resurrected_by text)
RETURNS text[]
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_back text[];
    v_batch_id uuid := gen_random_uuid();
    v_now timestamptz := clock_timestamp();
    v_number bigint := nextval('chokaq.job_numbers');
BEGIN
    WITH back AS (
        INSERT INTO chokaq.jobs_hot AS h (
            id, queue, type, payload, tags, priority, status, due_at_utc, is_due, first_due_at_utc, arrival,
            created_at_utc, created_by, last_updated_utc, last_modified_by, resurrect_count, revision
        )
        SELECT
            d.id, d.queue, d.type, d.payload, d.tags, 10, 0, v_now, true, v_now, v_number + i.place,
            d.created_at_utc, d.created_by, v_now, p_resurrected_by, d.resurrect_count + 1, v_number + i.place
        FROM chokaq.jobs_dlq AS d
        INNER JOIN unnest(p_job_ids) WITH ORDINALITY AS i (id, place) ON i.id = d.id
        WHERE d.id = ANY (p_job_ids)
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
        'resurrected', g.id, g.queue, g.type, p_resurrected_by, v_batch_id, g.failure_reason, g.error_details,
        g.attempt_count, g.failed_at_utc, NULLIF(g.priority, 10), g.idempotency_key
    FROM gone AS g
    ORDER BY g.id;

    IF chokaq.is_fold_due() THEN
        PERFORM chokaq.fold_counters(5000);
    END IF;

    RETURN v_back;
END;
$$;

REVOKE ALL ON FUNCTION chokaq.resurrect_rows(text[], text) FROM PUBLIC;
