/*
chokaq.move_to_dlq: move a job out of Hot to the DLQ, with reason, error and payload

Twin         mssql/usp_MoveToDLQ.sql
Result       one row: outcome, queue, attempt_count, failed_at_utc
Outcomes     moved | already_moved | not_found | not_owner | stale_attempt
Errors       QC001, QC090
Transaction  joining
Locks        jobs_hot, jobs_dlq, counters, history (an operator's move only)
Granted to   chokaq_worker
Example      SELECT * FROM chokaq.move_to_dlq('a1', 6, 'no comma after "subject"', 'worker-1', 1);
*/
CREATE OR REPLACE FUNCTION chokaq.move_to_dlq(
    p_job_id text,
    p_failure_reason integer,
    p_error_details text DEFAULT NULL,
    p_worker_id text DEFAULT NULL,
    p_attempt integer DEFAULT NULL,
    p_moved_by text DEFAULT NULL,
    p_resurrect_count integer DEFAULT NULL
)
RETURNS TABLE (outcome text, queue text, attempt_count integer, failed_at_utc timestamptz)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_added integer;
    v_now timestamptz;
BEGIN
    IF NOT chokaq.is_name(p_job_id, 50) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_job_id must be 1 to 50 characters without white space at either end.';
    ELSIF p_failure_reason IS NULL OR p_failure_reason NOT BETWEEN 0 AND 11 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_failure_reason must be 0 to 11 (see chokaq.failure_reasons).';
    ELSIF p_worker_id IS NOT NULL AND NOT chokaq.is_name(p_worker_id, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_worker_id must be NULL or 1 to 100 characters without white space at either end.';
    ELSIF p_attempt < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_attempt must be NULL or 0 or more.';
    ELSIF p_moved_by IS NOT NULL AND NOT chokaq.is_name(p_moved_by, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_moved_by must be NULL or 1 to 100 characters without white space at either end.';
    ELSIF p_resurrect_count < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_resurrect_count must be NULL or 0 or more.';
    END IF;

    LOOP
        v_now := clock_timestamp();

        WITH gone AS (
            DELETE FROM chokaq.jobs_hot AS h
            WHERE h.id = p_job_id
            AND (p_worker_id IS NULL OR h.worker_id = p_worker_id)
            AND (p_attempt IS NULL OR h.attempt_count = p_attempt)
            AND (p_resurrect_count IS NULL OR h.resurrect_count = p_resurrect_count)
            RETURNING
                h.id, h.queue, h.type, h.payload, h.tags, h.idempotency_key, h.priority, h.attempt_count,
                h.worker_id, h.error_details, h.scheduled_at_utc, h.started_at_utc, h.heartbeat_utc,
                h.created_at_utc, h.created_by, h.last_modified_by, h.resurrect_count
        ),
        added AS (
            INSERT INTO chokaq.jobs_dlq AS d (
                id, queue, type, payload, tags, idempotency_key, priority, attempt_count, worker_id,
                failure_reason, error_details, failed_at_utc, scheduled_at_utc, started_at_utc, heartbeat_utc,
                created_at_utc, created_by, last_updated_utc, last_modified_by, resurrect_count, revision
            )
            SELECT
                g.id, g.queue, g.type, g.payload, g.tags, g.idempotency_key, g.priority, g.attempt_count, g.worker_id,
                p_failure_reason, COALESCE(p_error_details, g.error_details), v_now, g.scheduled_at_utc,
                g.started_at_utc, g.heartbeat_utc, g.created_at_utc, g.created_by, v_now,
                COALESCE(p_moved_by, g.last_modified_by), g.resurrect_count, nextval('chokaq.job_numbers')
            FROM gone AS g
            ON CONFLICT (id) DO NOTHING
            RETURNING d.id, d.queue, d.type, d.failure_reason, d.error_details, d.attempt_count, d.failed_at_utc
        ),
        counted AS (
            INSERT INTO chokaq.counter_deltas (queue, dead_lettered)
            SELECT a.queue, 1 FROM added AS a
        ),
        recorded AS (
            INSERT INTO chokaq.operator_history (
                action, job_id, queue, type, actor, failure_reason, error_details, attempt_count, failed_at_utc
            )
            SELECT
                'isolated', a.id, a.queue, a.type, p_moved_by, a.failure_reason, a.error_details, a.attempt_count,
                a.failed_at_utc
            FROM added AS a
            WHERE p_moved_by IS NOT NULL
        )
        SELECT g.queue, g.attempt_count, (SELECT count(*) FROM added)
        INTO queue, attempt_count, v_added
        FROM gone AS g;

        IF NOT FOUND THEN
            outcome := chokaq.explain_miss(p_job_id, p_worker_id, p_attempt, p_resurrect_count, 'DLQ');

            IF outcome = 'already_moved' THEN
                SELECT d.queue, d.attempt_count, d.failed_at_utc
                INTO queue, attempt_count, failed_at_utc
                FROM chokaq.jobs_dlq AS d
                WHERE d.id = p_job_id;
            END IF;

            EXIT WHEN outcome IS NOT NULL;
        ELSIF v_added = 0 THEN
            RAISE EXCEPTION USING ERRCODE = 'QC090',
                MESSAGE = format('Job %s is in Hot and in the DLQ; it stays in Hot.', p_job_id);
        ELSE
            outcome := 'moved';
            failed_at_utc := v_now;
            IF chokaq.is_fold_due() THEN
                PERFORM chokaq.fold_counters(5000);
            END IF;
            EXIT;
        END IF;
    END LOOP;

    RETURN NEXT;
END;
$$;

COMMENT ON FUNCTION chokaq.move_to_dlq(text, integer, text, text, integer, text, integer)
IS 'Move a job out of Hot to the DLQ, with reason, error and payload';

REVOKE ALL ON FUNCTION chokaq.move_to_dlq(text, integer, text, text, integer, text, integer) FROM PUBLIC;
