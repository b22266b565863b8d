/*
chokaq.change_queue: the change itself of the set_queue_ functions, with its row in the history

Twin         mssql/usp_ChangeQueue.sql
Result       one row: outcome and the queue's row
Outcomes     created | updated | unchanged
Errors       QC001
Transaction  joining
Locks        queues, queue_claims and queue_totals (a new queue only), history
*/
CREATE OR REPLACE FUNCTION chokaq.change_queue(
    p_queue text,
    p_settings jsonb, /* the columns that are to change, with their new values */
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
/* Numbers go by their text, which the caller's setting may shorten. */
SET extra_float_digits = 1
AS $$
#variable_conflict use_column
DECLARE
    v_new chokaq.queues;
    v_new_settings text;
    v_old chokaq.queues;
    v_old_settings text;
BEGIN
    IF NOT chokaq.is_name(p_queue, 255) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_queue must be 1 to 255 characters without white space at either end.';
    ELSIF NOT chokaq.is_name(p_modified_by, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_modified_by must be 1 to 100 characters without white space at either end.';
    END IF;

    INSERT INTO chokaq.queues (queue) VALUES (p_queue) ON CONFLICT (queue) DO NOTHING;

    IF FOUND THEN
        outcome := 'created';
        PERFORM chokaq.ensure_queues(ARRAY[p_queue]);
    END IF;

    v_old := (SELECT q FROM chokaq.queues AS q WHERE q.queue = p_queue FOR NO KEY UPDATE);
    v_new := jsonb_populate_record(v_old, p_settings);

    /* In the order of the columns, which jsonb does not keep. */
    SELECT
        string_agg(format('"%s": %s', s.name, COALESCE(s.old_value, 'null')), ', ' ORDER BY s.place),
        string_agg(format('"%s": %s', s.name, COALESCE(s.new_value, 'null')), ', ' ORDER BY s.place)
    INTO v_old_settings, v_new_settings
    FROM (
        VALUES
            (1, 'isPaused', v_old.is_paused::text, v_new.is_paused::text),
            (2, 'isActive', v_old.is_active::text, v_new.is_active::text),
            (3, 'maxWorkers', v_old.max_workers::text, v_new.max_workers::text),
            (4, 'zombieTimeoutSeconds', v_old.zombie_timeout_seconds::text, v_new.zombie_timeout_seconds::text),
            (5, 'maxAttempts', v_old.max_attempts::text, v_new.max_attempts::text),
            (6, 'baseDelaySeconds', v_old.base_delay_seconds::text, v_new.base_delay_seconds::text),
            (7, 'backoffMultiplier', v_old.backoff_multiplier::text, v_new.backoff_multiplier::text),
            (8, 'maxDelaySeconds', v_old.max_delay_seconds::text, v_new.max_delay_seconds::text),
            (9, 'jitterSeconds', v_old.jitter_seconds::text, v_new.jitter_seconds::text),
            (10, 'maxJobAgeSeconds', v_old.max_job_age_seconds::text, v_new.max_job_age_seconds::text)
    ) AS s (place, name, old_value, new_value)
    WHERE s.old_value IS DISTINCT FROM s.new_value;

    IF outcome IS NULL AND v_old_settings IS NULL THEN
        outcome := 'unchanged';
    ELSE
        outcome := COALESCE(outcome, 'updated');

        UPDATE chokaq.queues AS q
        SET
            is_paused = v_new.is_paused,
            is_active = v_new.is_active,
            max_workers = v_new.max_workers,
            zombie_timeout_seconds = v_new.zombie_timeout_seconds,
            max_attempts = v_new.max_attempts,
            base_delay_seconds = v_new.base_delay_seconds,
            backoff_multiplier = v_new.backoff_multiplier,
            max_delay_seconds = v_new.max_delay_seconds,
            jitter_seconds = v_new.jitter_seconds,
            max_job_age_seconds = v_new.max_job_age_seconds,
            last_updated_utc = clock_timestamp(),
            last_modified_by = p_modified_by
        WHERE q.queue = p_queue;

        INSERT INTO chokaq.operator_history (action, queue, actor, job_count, old_settings, new_settings)
        VALUES (
            'queue_changed', p_queue, p_modified_by, 0,
            concat('{', v_old_settings, '}'), concat('{', v_new_settings, '}')
        );
    END IF;

    RETURN QUERY
    SELECT
        outcome, q.queue, q.is_paused, q.is_active, q.max_workers, q.zombie_timeout_seconds, q.max_attempts,
        q.base_delay_seconds, q.backoff_multiplier, q.max_delay_seconds, q.jitter_seconds, q.max_job_age_seconds,
        q.created_at_utc, q.last_updated_utc, q.last_modified_by
    FROM chokaq.queues AS q
    WHERE q.queue = p_queue;
END;
$$;

REVOKE ALL ON FUNCTION chokaq.change_queue(text, jsonb, text) FROM PUBLIC;
