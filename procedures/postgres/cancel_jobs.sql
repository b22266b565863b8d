/*
chokaq.cancel_jobs: move up to 4000 jobs that have not started to the DLQ, as Cancelled, in one transaction

Twin         mssql/usp_CancelJobs.sql
Result       one row per id, in order: job_id, outcome
Outcomes     cancelled | already_cancelled | not_found | not_cancellable (it is running) | id_conflict (it is in the
             Archive or the DLQ as well: only the owner's own writes can do that)
Errors       QC001
Transaction  joining
Locks        jobs_hot in key order (waits for rows that others hold), jobs_dlq, counters, history
Granted to   chokaq_operator
Example      SELECT * FROM chokaq.cancel_jobs(ARRAY['a1', 'a2'], 'ann', 'sent by hand');
*/
CREATE OR REPLACE FUNCTION chokaq.cancel_jobs(p_job_ids text[], p_cancelled_by text, p_reason text DEFAULT NULL)
RETURNS TABLE (job_id text, outcome text)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_added text[];
    v_batch_id uuid := gen_random_uuid();
    v_held text[];
    v_ids text[];
    v_now timestamptz;
    v_number bigint;
BEGIN
    v_ids := chokaq.checked_ids(p_job_ids, 4000);

    IF NOT chokaq.is_name(p_cancelled_by, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_cancelled_by must be 1 to 100 characters without white space at either end.';
    END IF;

    v_number := nextval('chokaq.job_numbers');

    /* One look, in key order: a second one would wait for a lower id while higher ones are held. */
    v_held := ARRAY(
        SELECT h.id
        FROM chokaq.jobs_hot AS h
        WHERE h.id = ANY (v_ids) AND h.status IN (0, 1)
        ORDER BY h.id
        FOR UPDATE
    );
    v_now := clock_timestamp();

    WITH added AS (
        INSERT INTO chokaq.jobs_dlq AS d (
            id, queue, type, payload, tags, idempotency_key, priority, attempt_count, worker_id,
            failure_reason, error_details, failed_at_utc, scheduled_at_utc, started_at_utc, heartbeat_utc,
            created_at_utc, created_by, last_updated_utc, last_modified_by, resurrect_count, revision
        )
        SELECT
            h.id, h.queue, h.type, h.payload, h.tags, h.idempotency_key, h.priority, h.attempt_count, h.worker_id,
            1,
            /* What the attempt before left is evidence too. */
            COALESCE(
                p_reason || E'\nThe attempt before ended with: ' || h.error_details, p_reason, h.error_details
            ),
            v_now, h.scheduled_at_utc, h.started_at_utc, h.heartbeat_utc,
            h.created_at_utc, h.created_by, v_now, p_cancelled_by, h.resurrect_count, v_number + i.place
        FROM unnest(v_ids) WITH ORDINALITY AS i (id, place)
        INNER JOIN chokaq.jobs_hot AS h ON h.id = i.id COLLATE "C"
        WHERE h.id = ANY (v_held)
        AND NOT EXISTS (SELECT 1 FROM chokaq.jobs_archive AS a WHERE a.id = h.id)
        ORDER BY h.id
        ON CONFLICT (id) DO NOTHING
        RETURNING d.id, d.queue, d.type, d.failure_reason, d.error_details, d.attempt_count, d.failed_at_utc
    ),
    gone AS (
        DELETE FROM chokaq.jobs_hot AS h
        USING added AS a
        WHERE h.id = a.id
    ),
    counted AS (
        INSERT INTO chokaq.counter_deltas (queue, dead_lettered)
        SELECT a.queue, count(*) FROM added AS a GROUP BY a.queue
    ),
    recorded AS (
        INSERT INTO chokaq.operator_history (
            action, job_id, queue, type, actor, batch_id, failure_reason, error_details, attempt_count,
            failed_at_utc
        )
        SELECT
            'cancelled', a.id, a.queue, a.type, p_cancelled_by, v_batch_id, a.failure_reason, a.error_details,
            a.attempt_count, a.failed_at_utc
        FROM added AS a
        ORDER BY a.id
    )
    SELECT array_agg(a.id) INTO v_added FROM added AS a;

    IF chokaq.is_fold_due() THEN
        PERFORM chokaq.fold_counters(5000);
    END IF;

    RETURN QUERY
    SELECT
        i.id,
        CASE
            WHEN a.id IS NOT NULL THEN 'cancelled'
            WHEN l.id IS NOT NULL THEN 'id_conflict'
            WHEN h.id IS NOT NULL THEN 'not_cancellable'
            WHEN d.failure_reason = 1 THEN 'already_cancelled'
            ELSE 'not_found'
        END
    FROM unnest(v_ids) WITH ORDINALITY AS i (id, place)
    LEFT JOIN unnest(v_added) AS a (id) ON a.id = i.id
    LEFT JOIN unnest(v_held) AS l (id) ON l.id = i.id
    LEFT JOIN chokaq.jobs_hot AS h ON h.id = i.id COLLATE "C" AND h.id = ANY (v_ids)
    LEFT JOIN chokaq.jobs_dlq AS d ON d.id = i.id COLLATE "C" AND d.id = ANY (v_ids)
    ORDER BY i.place;
END;
$$;

COMMENT ON FUNCTION chokaq.cancel_jobs(text[], text, text)
IS 'Move up to 4000 jobs that have not started to the DLQ, as Cancelled, in one transaction';

REVOKE ALL ON FUNCTION chokaq.cancel_jobs(text[], text, text) FROM PUBLIC;
