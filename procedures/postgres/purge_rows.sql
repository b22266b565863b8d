/*
chokaq.purge_rows: the deletion itself of purge_dlq_jobs and purge_dlq_by_filter_batch

Twin         mssql/usp_PurgeRows.sql
Transaction  joining; the caller holds the rows
Locks        jobs_dlq, counters, history
*/
CREATE OR REPLACE FUNCTION chokaq.purge_rows(p_job_ids text[], p_purged_by text)
RETURNS void
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_batch_id uuid := gen_random_uuid();
BEGIN
    WITH gone AS (
        DELETE FROM chokaq.jobs_dlq AS d
        WHERE d.id = ANY (p_job_ids)
        RETURNING
            d.id, d.queue, d.type, d.failure_reason, d.error_details, d.attempt_count, d.failed_at_utc, d.tags,
            d.priority, d.idempotency_key
    ),
    counted AS (
        INSERT INTO chokaq.counter_deltas (queue, purged)
        SELECT g.queue, count(*) FROM gone AS g GROUP BY g.queue
    )
    /* No payload: what was purged is gone. */
    INSERT INTO chokaq.operator_history (
        action, job_id, queue, type, actor, batch_id, failure_reason, error_details, attempt_count, failed_at_utc,
        old_tags, old_priority, old_idempotency_key
    )
    SELECT
        'purged', g.id, g.queue, g.type, p_purged_by, v_batch_id, g.failure_reason, g.error_details,
        g.attempt_count, g.failed_at_utc, g.tags, g.priority, g.idempotency_key
    FROM gone AS g
    ORDER BY g.id;

    IF chokaq.is_fold_due() THEN
        PERFORM chokaq.fold_counters(5000);
    END IF;
END;
$$;

REVOKE ALL ON FUNCTION chokaq.purge_rows(text[], text) FROM PUBLIC;
