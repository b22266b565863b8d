/*
chokaq.set_queue_retry_policy: say how often and when the failed jobs of a queue run again; NULL keeps a setting

Twin         mssql/usp_SetQueueRetryPolicy.sql
Result       one row: outcome and the queue's row, as get_queues gives it
Outcomes     created (with the default policy otherwise) | updated | unchanged (nothing differed)
Errors       QC001
Transaction  joining
Locks        queues, queue_claims and queue_totals (a new queue only), history
Granted to   chokaq_operator
Example      SELECT * FROM chokaq.set_queue_retry_policy('mail', p_max_attempts => 5, p_modified_by => 'ann');
*/
CREATE OR REPLACE FUNCTION chokaq.set_queue_retry_policy(
    p_queue text,
    p_max_attempts integer DEFAULT NULL,
    p_base_delay_seconds integer DEFAULT NULL,
    p_backoff_multiplier double precision DEFAULT NULL,
    p_max_delay_seconds integer DEFAULT NULL,
    p_jitter_seconds integer DEFAULT NULL,
    p_max_job_age_seconds integer DEFAULT NULL,
    p_modified_by text DEFAULT NULL,
    p_clear_max_job_age boolean DEFAULT false
)
RETURNS TABLE (
    outcome text,
    queue text,
    is_paused boolean,
    is_active boolean,
    max_workers integer,
    zombie_timeout_seconds integer,
    max_attempts integer,
    base_delay_seconds integer,
    backoff_multiplier double precision,
    max_delay_seconds integer,
    jitter_seconds integer,
    max_job_age_seconds integer,
    created_at_utc timestamptz,
    last_updated_utc timestamptz,
    last_modified_by text
)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
/* Numbers go by their text, which the caller's setting may shorten. */
SET extra_float_digits = 1
AS $$
BEGIN
    IF p_max_attempts < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_max_attempts must be NULL or 1 or more.';
    ELSIF p_base_delay_seconds < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_base_delay_seconds must be NULL or 0 or more seconds.';
    ELSIF p_backoff_multiplier NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_backoff_multiplier must be NULL or 1 to 1000.';
    ELSIF p_max_delay_seconds < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_max_delay_seconds must be NULL or 0 or more seconds.';
    ELSIF p_jitter_seconds < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_jitter_seconds must be NULL or 0 or more seconds.';
    ELSIF p_max_job_age_seconds < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_max_job_age_seconds must be NULL or 1 or more seconds.';
    ELSIF p_clear_max_job_age IS NULL OR p_clear_max_job_age AND p_max_job_age_seconds IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_clear_max_job_age must be true or false, and false when p_max_job_age_seconds is given.';
    ELSIF NOT p_clear_max_job_age AND num_nonnulls(
        p_max_attempts, p_base_delay_seconds, p_backoff_multiplier, p_max_delay_seconds, p_jitter_seconds,
        p_max_job_age_seconds
    ) = 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_max_attempts must be given where nothing else is to change.';
    END IF;

    RETURN QUERY
    SELECT
        c.outcome, c.queue, c.is_paused, c.is_active, c.max_workers, c.zombie_timeout_seconds, c.max_attempts,
        c.base_delay_seconds, c.backoff_multiplier, c.max_delay_seconds, c.jitter_seconds, c.max_job_age_seconds,
        c.created_at_utc, c.last_updated_utc, c.last_modified_by
    FROM chokaq.change_queue(
        p_queue,
        jsonb_strip_nulls(jsonb_build_object(
            'max_attempts', p_max_attempts,
            'base_delay_seconds', p_base_delay_seconds,
            'backoff_multiplier', p_backoff_multiplier,
            'max_delay_seconds', p_max_delay_seconds,
            'jitter_seconds', p_jitter_seconds,
            'max_job_age_seconds', p_max_job_age_seconds
        )) || CASE WHEN p_clear_max_job_age THEN '{"max_job_age_seconds": null}' ELSE '{}' END::jsonb,
        p_modified_by
    ) AS c;
END;
$$;

COMMENT ON FUNCTION
chokaq.set_queue_retry_policy(text, integer, integer, double precision, integer, integer, integer, text, boolean)
IS 'Say how often and when the failed jobs of a queue run again; NULL keeps a setting';

REVOKE ALL ON FUNCTION
chokaq.set_queue_retry_policy(text, integer, integer, double precision, integer, integer, integer, text, boolean)
FROM PUBLIC;
