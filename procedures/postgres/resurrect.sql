/*
chokaq.resurrect: edit a job of the DLQ and put it back into its queue, in one step

Twin         mssql/usp_Resurrect.sql
Result       one row: outcome, queue
Outcomes     resurrected | not_found | changed (not at p_expected_revision) | key_conflict (the key is a live job's)
Errors       QC001, QC004, QC090
Transaction  joining
Locks        jobs_dlq, jobs_hot, counters, history
Granted to   chokaq_operator
Example      SELECT * FROM chokaq.resurrect('a1', '{"to": "ann@example.com"}', p_resurrected_by => 'ann');
*/
CREATE OR REPLACE FUNCTION chokaq.resurrect(
    p_job_id text,
    p_new_payload text DEFAULT NULL,
    p_new_tags text DEFAULT NULL,
    p_new_priority integer DEFAULT NULL,
    p_resurrected_by text DEFAULT NULL,
    p_allow_invalid_json boolean DEFAULT false,
    p_delay_seconds integer DEFAULT 0,
    p_keep_idempotency_key boolean DEFAULT false,
    p_expected_revision bigint DEFAULT NULL
)
RETURNS TABLE (outcome text, queue text)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_due timestamptz;
    v_job record;
    v_now timestamptz;
    v_number bigint;
BEGIN
    IF NOT chokaq.is_name(p_job_id, 50) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_job_id must be 1 to 50 characters without white space at either end.';
    ELSIF NOT chokaq.is_within(p_new_tags, 1000) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_new_tags must be NULL or at most 1000 characters.';
    ELSIF NOT chokaq.is_name(p_resurrected_by, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_resurrected_by must be 1 to 100 characters without white space at either end.';
    ELSIF p_allow_invalid_json IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_allow_invalid_json must be true or false.';
    ELSIF p_delay_seconds IS NULL OR p_delay_seconds < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_delay_seconds must be 0 or more seconds.';
    ELSIF p_keep_idempotency_key IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_keep_idempotency_key must be true or false.';
    END IF;

    IF NOT p_allow_invalid_json THEN
        PERFORM chokaq.check_json(p_new_payload, 'p_new_payload');
    END IF;

    SELECT
        d.queue, d.type, d.payload, d.tags, d.idempotency_key, d.priority, d.failure_reason, d.error_details,
        d.attempt_count, d.failed_at_utc, d.revision
    INTO v_job
    FROM chokaq.jobs_dlq AS d
    WHERE d.id = p_job_id
    FOR UPDATE;

    IF NOT FOUND THEN
        outcome := 'not_found';
        RETURN NEXT;
        RETURN;
    END IF;

    queue := v_job.queue;

    IF v_job.revision <> p_expected_revision THEN
        outcome := 'changed';
        RETURN NEXT;
        RETURN;
    END IF;

    v_now := clock_timestamp();
    v_due := v_now + make_interval(secs => p_delay_seconds);
    v_number := nextval('chokaq.job_numbers');

    INSERT INTO chokaq.jobs_hot (
        id, queue, type, payload, tags, idempotency_key, priority, status, due_at_utc, is_due, first_due_at_utc,
        arrival, scheduled_at_utc, created_at_utc, created_by, last_updated_utc, last_modified_by, resurrect_count,
        revision
    )
    SELECT
        d.id, d.queue, d.type, COALESCE(p_new_payload, d.payload), COALESCE(p_new_tags, d.tags),
        CASE WHEN p_keep_idempotency_key THEN d.idempotency_key END,
        COALESCE(p_new_priority, 10), 0, v_due, p_delay_seconds = 0, v_due,
        v_number, CASE WHEN p_delay_seconds > 0 THEN v_due END, d.created_at_utc, d.created_by, v_now,
        p_resurrected_by, d.resurrect_count + 1, v_number
    FROM chokaq.jobs_dlq AS d
    WHERE d.id = p_job_id
    ON CONFLICT DO NOTHING;

    IF NOT FOUND THEN
        IF EXISTS (SELECT 1 FROM chokaq.jobs_hot AS h WHERE h.id = p_job_id) THEN
            RAISE EXCEPTION USING ERRCODE = 'QC090',
                MESSAGE = format('Job %s is in the DLQ and in Hot; it stays in the DLQ.', p_job_id);
        END IF;

        outcome := 'key_conflict';
        RETURN NEXT;
        RETURN;
    END IF;

    DELETE FROM chokaq.jobs_dlq AS d WHERE d.id = p_job_id;

    INSERT INTO chokaq.counter_deltas (queue, resurrected) VALUES (v_job.queue, 1);

    INSERT INTO chokaq.operator_history (
        action, job_id, queue, type, actor, failure_reason, error_details, attempt_count, failed_at_utc,
        old_payload, old_tags, old_priority, old_idempotency_key
    )
    VALUES (
        'resurrected', p_job_id, v_job.queue, v_job.type, p_resurrected_by, v_job.failure_reason, v_job.error_details,
        v_job.attempt_count, v_job.failed_at_utc,
        CASE WHEN p_new_payload <> v_job.payload THEN v_job.payload END,
        CASE WHEN p_new_tags <> v_job.tags THEN v_job.tags END,
        CASE WHEN COALESCE(p_new_priority, 10) <> v_job.priority THEN v_job.priority END,
        CASE WHEN NOT p_keep_idempotency_key THEN v_job.idempotency_key END
    );

    IF chokaq.is_fold_due() THEN
        PERFORM chokaq.fold_counters(5000);
    END IF;
    outcome := 'resurrected';
    RETURN NEXT;
END;
$$;

COMMENT ON FUNCTION
chokaq.resurrect(text, text, text, integer, text, boolean, integer, boolean, bigint)
IS 'Edit a job of the DLQ and put it back into its queue, in one step';

REVOKE ALL ON FUNCTION
chokaq.resurrect(text, text, text, integer, text, boolean, integer, boolean, bigint)
FROM PUBLIC;
