/*
chokaq.enqueue: put one job into its queue

Twin         mssql/usp_Enqueue.sql
Result       one row: outcome, job_id
Outcomes     enqueued | duplicate_key (job_id is the live job's) | duplicate_id
Errors       QC001
Transaction  joining
Locks        queues (a new queue only), jobs_hot, counters
Granted to   chokaq_worker
Example      SELECT * FROM chokaq.enqueue('mail', 'email_v1', '{"to": "ann@example.com"}');
*/
CREATE OR REPLACE FUNCTION chokaq.enqueue(
    p_queue text,
    p_type text,
    p_payload text DEFAULT NULL,
    p_job_id text DEFAULT NULL,
    p_tags text DEFAULT NULL,
    p_priority integer DEFAULT 10,
    p_delay_seconds integer DEFAULT 0,
    p_scheduled_at_utc timestamptz DEFAULT NULL,
    p_idempotency_key text DEFAULT NULL,
    p_created_by text DEFAULT NULL
)
RETURNS TABLE (outcome text, job_id text)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_due timestamptz;
    v_now timestamptz;
    v_number bigint;
BEGIN
    IF NOT chokaq.is_name(p_queue, 255) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_queue must be 1 to 255 characters without white space at either end.';
    ELSIF NOT chokaq.is_name(p_type, 255) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_type must be 1 to 255 characters without white space at either end.';
    ELSIF p_job_id IS NOT NULL AND NOT chokaq.is_name(p_job_id, 50) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_job_id must be NULL or 1 to 50 characters without white space at either end.';
    ELSIF NOT chokaq.is_within(p_tags, 1000) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_tags must be NULL or at most 1000 characters.';
    ELSIF p_priority IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_priority must be an integer.';
    ELSIF p_delay_seconds IS NULL OR p_delay_seconds < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_delay_seconds must be 0 or more seconds.';
    ELSIF p_scheduled_at_utc IS NOT NULL AND p_delay_seconds > 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_delay_seconds must be 0 when p_scheduled_at_utc is given.';
    ELSIF p_scheduled_at_utc NOT BETWEEN '0001-01-01T00:00:00Z' AND '9999-12-31T23:59:59.999999Z' THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_scheduled_at_utc must be NULL or a time of the years 1 to 9999.';
    ELSIF p_idempotency_key IS NOT NULL AND NOT chokaq.is_name(p_idempotency_key, 255) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_idempotency_key must be NULL or 1 to 255 characters without white space at either end.';
    ELSIF p_created_by IS NOT NULL AND NOT chokaq.is_name(p_created_by, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_created_by must be NULL or 1 to 100 characters without white space at either end.';
    END IF;

    PERFORM chokaq.ensure_queues(ARRAY[p_queue]);

    LOOP
        v_now := clock_timestamp();
        v_due := COALESCE(p_scheduled_at_utc, v_now + make_interval(secs => p_delay_seconds));
        v_number := nextval('chokaq.job_numbers');
        job_id := COALESCE(p_job_id, chokaq.new_job_id());
        outcome := 'enqueued';

        /* Hot first, the other pillars after: whoever moves this id holds or has left its row in Hot. */
        INSERT INTO chokaq.jobs_hot AS h (
            id, queue, type, payload, tags, idempotency_key, priority, status, due_at_utc, is_due,
            first_due_at_utc, arrival, scheduled_at_utc, created_at_utc, created_by, last_updated_utc, revision
        )
        VALUES (
            job_id, p_queue, p_type, p_payload, p_tags, p_idempotency_key, p_priority, 0, v_due, v_due <= v_now,
            v_due, v_number,
            CASE WHEN p_scheduled_at_utc IS NOT NULL OR p_delay_seconds > 0 THEN v_due END,
            v_now, p_created_by, v_now, v_number
        )
        ON CONFLICT DO NOTHING;

        IF FOUND THEN
            IF p_job_id IS NOT NULL AND chokaq.has_ended(p_job_id) THEN
                DELETE FROM chokaq.jobs_hot AS h WHERE h.id = p_job_id;
                outcome := 'duplicate_id';
            ELSE
                INSERT INTO chokaq.counter_deltas (queue, enqueued) VALUES (p_queue, 1);
                IF chokaq.is_fold_due() THEN
                    PERFORM chokaq.fold_counters(5000);
                END IF;
            END IF;

            EXIT;
        END IF;

        /* The key decides first: a repeated call with its own id and key is told "the job is there". */
        SELECT h.id INTO job_id FROM chokaq.jobs_hot AS h WHERE h.idempotency_key = p_idempotency_key;

        IF FOUND THEN
            outcome := 'duplicate_key';
            EXIT;
        END IF;

        job_id := p_job_id;

        IF EXISTS (SELECT 1 FROM chokaq.jobs_hot AS h WHERE h.id = p_job_id) THEN
            outcome := 'duplicate_id';
            EXIT;
        END IF;
        /* Neither: the row that was in the way has left Hot since; try again. */
    END LOOP;

    RETURN NEXT;
END;
$$;

COMMENT ON FUNCTION chokaq.enqueue(text, text, text, text, text, integer, integer, timestamptz, text, text)
IS 'Put one job into its queue';

REVOKE ALL ON FUNCTION chokaq.enqueue(text, text, text, text, text, integer, integer, timestamptz, text, text)
FROM PUBLIC;
