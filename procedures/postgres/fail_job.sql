/*
chokaq.fail_job: an attempt failed; the queue's retry policy decides between another run and the DLQ

Twin         mssql/usp_FailJob.sql
Result       one row: outcome, scheduled_at_utc (of the next run), failure_reason (as given, or as the DLQ has it)
Outcomes     rescheduled | moved | already_moved | not_found | not_owner | not_processing | stale_attempt
Errors       QC001, QC090
Transaction  joining
Locks        jobs_hot, jobs_dlq, counters
Granted to   chokaq_worker
Example      SELECT * FROM chokaq.fail_job('a1', 'worker-1', 1, 8, 'connection reset by peer');
*/
CREATE OR REPLACE FUNCTION chokaq.fail_job(
    p_job_id text,
    p_worker_id text,
    p_attempt integer,
    p_failure_reason integer,
    p_error_details text,
    p_retry_after_seconds integer DEFAULT NULL,
    p_resurrect_count integer DEFAULT NULL
)
RETURNS TABLE (outcome text, scheduled_at_utc timestamptz, failure_reason integer)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_delay double precision;
    v_job record;
    v_now timestamptz;
BEGIN
    IF NOT chokaq.is_name(p_job_id, 50) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_job_id must be 1 to 50 characters without white space at either end.';
    ELSIF NOT chokaq.is_name(p_worker_id, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_worker_id must be 1 to 100 characters without white space at either end.';
    ELSIF p_attempt IS NULL OR p_attempt < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_attempt must be 1 or more.';
    ELSIF p_failure_reason IS NULL OR p_failure_reason NOT BETWEEN 0 AND 11 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_failure_reason must be 0 to 11 (see chokaq.failure_reasons).';
    ELSIF p_retry_after_seconds < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_retry_after_seconds must be NULL or 0 or more seconds.';
    ELSIF p_resurrect_count < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_resurrect_count must be NULL or 0 or more.';
    END IF;

    failure_reason := p_failure_reason;

    SELECT
        h.worker_id, h.status, h.attempt_count, h.resurrect_count, h.first_due_at_utc, q.max_attempts, q.base_delay_seconds,
        q.backoff_multiplier, q.max_delay_seconds, q.jitter_seconds, q.max_job_age_seconds
    INTO v_job
    FROM chokaq.jobs_hot AS h
    INNER JOIN chokaq.queues AS q ON q.queue = h.queue
    WHERE h.id = p_job_id
    FOR NO KEY UPDATE OF h;

    IF NOT FOUND THEN
        outcome := chokaq.explain_miss(p_job_id, p_worker_id, p_attempt, p_resurrect_count, 'DLQ');

        IF outcome = 'already_moved' THEN
            SELECT d.failure_reason INTO failure_reason FROM chokaq.jobs_dlq AS d WHERE d.id = p_job_id;
        END IF;

        RETURN NEXT;
        RETURN;
    END IF;

    outcome := CASE
        WHEN v_job.worker_id <> p_worker_id THEN 'not_owner'
        WHEN v_job.status <> 2 THEN 'not_processing'
        WHEN v_job.attempt_count <> p_attempt OR v_job.resurrect_count <> p_resurrect_count THEN 'stale_attempt'
    END;

    IF outcome IS NOT NULL THEN
        RETURN NEXT;
        RETURN;
    END IF;

    v_now := clock_timestamp();
    /* exp of a sum instead of power: held at exp(600), it cannot leave a double's range. */
    v_delay := COALESCE(
        p_retry_after_seconds,
        LEAST(
            LEAST(
                v_job.base_delay_seconds * exp(LEAST(ln(v_job.backoff_multiplier) * (p_attempt - 1), 600)),
                v_job.max_delay_seconds
            ) + floor(random() * (v_job.jitter_seconds::bigint + 1)),
            2147483647
        )
    );

    IF p_failure_reason NOT IN (1, 4, 6) THEN
        failure_reason := CASE
            WHEN p_attempt >= v_job.max_attempts THEN 0
            WHEN v_now + make_interval(secs => v_delay)
                > v_job.first_due_at_utc + make_interval(secs => v_job.max_job_age_seconds) THEN 10
        END;
    END IF;

    IF failure_reason IS NULL THEN
        failure_reason := p_failure_reason;

        SELECT r.outcome, r.scheduled_at_utc
        INTO outcome, scheduled_at_utc
        FROM chokaq.reschedule_for_retry(p_job_id, p_worker_id, p_attempt, v_delay::integer, p_error_details) AS r;
    ELSE
        SELECT m.outcome
        INTO outcome
        FROM chokaq.move_to_dlq(p_job_id, failure_reason, p_error_details, p_worker_id, p_attempt) AS m;
    END IF;

    RETURN NEXT;
END;
$$;

COMMENT ON FUNCTION chokaq.fail_job(text, text, integer, integer, text, integer, integer)
IS 'An attempt failed; the retry policy of the queue decides between another run and the DLQ';

REVOKE ALL ON FUNCTION chokaq.fail_job(text, text, integer, integer, text, integer, integer) FROM PUBLIC;
