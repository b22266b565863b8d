/*
chokaq.get_queues: the queues and their settings

Twin         mssql/usp_GetQueues.sql
Result       a row per queue: the settings as they are kept, NULL where a default or no limit applies
Errors       QC001
Transaction  reading
Granted to   chokaq_reader
Example      SELECT * FROM chokaq.get_queues('mail');
*/
CREATE OR REPLACE FUNCTION chokaq.get_queues(p_queue text DEFAULT NULL)
RETURNS TABLE (
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
STABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_queue IS NOT NULL AND NOT chokaq.is_name(p_queue, 255) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_queue must be NULL or 1 to 255 characters without white space at either end.';
    END IF;

    RETURN QUERY
    SELECT
        q.queue, q.is_paused, q.is_active, q.max_workers, q.zombie_timeout_seconds, q.max_attempts,
        q.base_delay_seconds, q.backoff_multiplier, q.max_delay_seconds, q.jitter_seconds, q.max_job_age_seconds,
        q.created_at_utc, q.last_updated_utc, q.last_modified_by
    FROM chokaq.queues AS q
    WHERE p_queue IS NULL OR q.queue = p_queue
    ORDER BY q.queue;
END;
$$;

COMMENT ON FUNCTION chokaq.get_queues(text) IS 'The queues and their settings';

REVOKE ALL ON FUNCTION chokaq.get_queues(text) FROM PUBLIC;
