/*
chokaq.set_queue_paused: pause a queue, whose jobs then wait, or let it go on

Twin         mssql/usp_SetQueuePaused.sql
Result       one row: outcome and the queue's row, as get_queues gives it
Outcomes     created (with the default policy otherwise) | updated | unchanged (nothing differed)
Errors       QC001
Transaction  joining
Locks        queues, queue_claims and queue_totals (a new queue only), history
Granted to   chokaq_operator
Example      SELECT * FROM chokaq.set_queue_paused('mail', true, 'ann');
*/
CREATE OR REPLACE FUNCTION chokaq.set_queue_paused(p_queue text, p_is_paused boolean, p_modified_by text)
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
AS $$
BEGIN
    IF p_is_paused IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_is_paused must be true or false.';
    END IF;

    RETURN QUERY
    SELECT
        c.outcome, c.queue, c.is_paused, c.is_active, c.max_workers, c.zombie_timeout_seconds, c.max_attempts,
        c.base_delay_seconds, c.backoff_multiplier, c.max_delay_seconds, c.jitter_seconds, c.max_job_age_seconds,
        c.created_at_utc, c.last_updated_utc, c.last_modified_by
    FROM chokaq.change_queue(p_queue, jsonb_build_object('is_paused', p_is_paused), p_modified_by) AS c;
END;
$$;

COMMENT ON FUNCTION chokaq.set_queue_paused(text, boolean, text)
IS 'Pause a queue, whose jobs then wait, or let it go on';

REVOKE ALL ON FUNCTION chokaq.set_queue_paused(text, boolean, text) FROM PUBLIC;
