/*
chokaq.set_queue_zombie_timeout: say after how long without a heartbeat a job of a queue is a zombie; NULL: 600 seconds

Twin         mssql/usp_SetQueueZombieTimeout.sql
Result       one row: outcome and the queue's row, as get_queues gives it
Outcomes     created (with the default policy otherwise) | updated | unchanged (nothing differed)
Errors       QC001
Transaction  joining
Locks        queues, queue_claims and queue_totals (a new queue only), history
Granted to   chokaq_operator
Example      SELECT * FROM chokaq.set_queue_zombie_timeout('mail', 120, 'ann');
*/
CREATE OR REPLACE FUNCTION chokaq.set_queue_zombie_timeout(
    p_queue text,
    p_zombie_timeout_seconds integer,
    p_modified_by text
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
AS $$
BEGIN
    IF p_zombie_timeout_seconds < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_zombie_timeout_seconds must be NULL or 1 or more seconds.';
    END IF;

    RETURN QUERY
    SELECT
        c.outcome, c.queue, c.is_paused, c.is_active, c.max_workers, c.zombie_timeout_seconds, c.max_attempts,
        c.base_delay_seconds, c.backoff_multiplier, c.max_delay_seconds, c.jitter_seconds, c.max_job_age_seconds,
        c.created_at_utc, c.last_updated_utc, c.last_modified_by
    FROM chokaq.change_queue(
        p_queue, jsonb_build_object('zombie_timeout_seconds', p_zombie_timeout_seconds), p_modified_by
    ) AS c;
END;
$$;

COMMENT ON FUNCTION chokaq.set_queue_zombie_timeout(text, integer, text)
IS 'Say after how long without a heartbeat a job of a queue is a zombie; NULL: 600 seconds';

REVOKE ALL ON FUNCTION chokaq.set_queue_zombie_timeout(text, integer, text) FROM PUBLIC;
