/*
chokaq.reschedule_for_retry: put a job that is in Processing back, to run again later

Twin         mssql/usp_RescheduleForRetry.sql
Result       one row: outcome, scheduled_at_utc
Outcomes     rescheduled | not_found | not_owner | not_processing | stale_attempt
Errors       QC001
Transaction  joining
Locks        jobs_hot, counters
Granted to   chokaq_worker
Example      SELECT * FROM chokaq.reschedule_for_retry('a1', 'worker-1', 1, 60, 'mail server is busy');
*/
CREATE OR REPLACE FUNCTION chokaq.reschedule_for_retry(
    p_job_id text,
    p_worker_id text DEFAULT NULL,
    p_attempt integer DEFAULT NULL,
    p_delay_seconds integer DEFAULT 0,
    p_error_details text DEFAULT NULL,
    p_resurrect_count integer DEFAULT NULL
)
RETURNS TABLE (outcome text, scheduled_at_utc timestamptz)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_due timestamptz;
    v_now timestamptz;
    v_queue text;
BEGIN
    IF NOT chokaq.is_name(p_job_id, 50) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_job_id must be 1 to 50 characters without white space at either end.';
    ELSIF p_worker_id IS NOT NULL AND NOT chokaq.is_name(p_worker_id, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_worker_id must be NULL or 1 to 100 characters without white space at either end.';
    ELSIF p_attempt < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_attempt must be NULL or 1 or more.';
    ELSIF p_delay_seconds IS NULL OR p_delay_seconds < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_delay_seconds must be 0 or more seconds.';
    ELSIF p_resurrect_count < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_resurrect_count must be NULL or 0 or more.';
    END IF;

    LOOP
        v_now := clock_timestamp();
        v_due := v_now + make_interval(secs => p_delay_seconds);

        UPDATE chokaq.jobs_hot AS h
        SET
            status = 0,
            worker_id = NULL,
            fetched_at_utc = NULL,
            started_at_utc = NULL,
            heartbeat_utc = NULL,
            scheduled_at_utc = v_due,
            due_at_utc = v_due,
            is_due = p_delay_seconds = 0,
            error_details = COALESCE(p_error_details, h.error_details),
            last_updated_utc = v_now
        WHERE h.id = p_job_id
        AND h.status = 2
        AND (p_worker_id IS NULL OR h.worker_id = p_worker_id)
        AND (p_attempt IS NULL OR h.attempt_count = p_attempt)
        AND (p_resurrect_count IS NULL OR h.resurrect_count = p_resurrect_count)
        RETURNING h.queue INTO v_queue;

        IF FOUND THEN
            outcome := 'rescheduled';
            scheduled_at_utc := v_due;
            INSERT INTO chokaq.counter_deltas (queue, retried) VALUES (v_queue, 1);
            IF chokaq.is_fold_due() THEN
                PERFORM chokaq.fold_counters(5000);
            END IF;
            EXIT;
        END IF;

        outcome := chokaq.explain_miss(p_job_id, p_worker_id, p_attempt, p_resurrect_count, NULL);
        EXIT WHEN outcome IS NOT NULL;
    END LOOP;

    RETURN NEXT;
END;
$$;

COMMENT ON FUNCTION chokaq.reschedule_for_retry(text, text, integer, integer, text, integer)
IS 'Put a job that is in Processing back, to run again later';

REVOKE ALL ON FUNCTION chokaq.reschedule_for_retry(text, text, integer, integer, text, integer) FROM PUBLIC;
