/*
chokaq.enqueue_many: put up to 10,000 jobs into their queues, as if by one enqueue after the other

Twin         mssql/usp_EnqueueMany.sql
Result       one row each, in order: ordinal (from 1), outcome, job_id
Outcomes     enqueued | duplicate_key (job_id is the live job's) | duplicate_id
Errors       QC001, naming the element and the field
Transaction  joining
Locks        queues (new ones only), jobs_hot, counters
Granted to   chokaq_worker
Example      SELECT * FROM chokaq.enqueue_many('[{"queue": "mail", "type": "email_v1", "payload": "{}"}]');
*/
CREATE OR REPLACE FUNCTION chokaq.enqueue_many(p_jobs jsonb)
RETURNS TABLE (ordinal integer, outcome text, job_id text)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_delay interval;
    v_ended text[];
    v_id text;
    v_ids text[];
    v_job jsonb;
    v_now timestamptz;
    v_number bigint;
    v_ordinal integer;
    v_ordinals integer[];
    v_outcome text;
    v_outcomes text[];
    v_problem text;
    v_total integer;
BEGIN
    IF p_jobs IS NULL OR jsonb_typeof(p_jobs) <> 'array' THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_jobs must be a JSON array of objects.';
    END IF;

    v_total := jsonb_array_length(p_jobs);

    IF v_total > 10000 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_jobs must be an array of at most 10000 objects.';
    END IF;

    SELECT format('p_jobs element %s: %s', j.ordinal, c.problem)
    INTO v_problem
    FROM jsonb_array_elements(p_jobs) WITH ORDINALITY AS j (job, ordinal)
    CROSS JOIN LATERAL (SELECT chokaq.job_problem(j.job) AS problem) AS c
    WHERE c.problem IS NOT NULL
    ORDER BY j.ordinal
    LIMIT 1;

    IF v_problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = v_problem;
    END IF;

    PERFORM chokaq.ensure_queues(ARRAY(
        SELECT DISTINCT j.job ->> 'queue' FROM jsonb_array_elements(p_jobs) AS j (job)
    ));

    v_now := clock_timestamp();
    v_number := nextval('chokaq.job_numbers');

    WITH jobs AS (
        SELECT
            j.ordinal,
            j.job ->> 'jobId' COLLATE "C" AS given_id,
            COALESCE(j.job ->> 'jobId', chokaq.new_job_id()) COLLATE "C" AS id,
            j.job ->> 'queue' AS queue,
            j.job ->> 'type' AS type,
            j.job ->> 'payload' AS payload,
            j.job ->> 'tags' AS tags,
            j.job ->> 'idempotencyKey' COLLATE "C" AS idempotency_key,
            COALESCE((j.job ->> 'priority')::integer, 10) AS priority,
            COALESCE(
                (j.job ->> 'scheduledAtUtc')::timestamptz,
                v_now + make_interval(secs => (j.job ->> 'delaySeconds')::double precision),
                v_now
            ) AS due_at_utc,
            j.job ->> 'scheduledAtUtc' IS NOT NULL
            OR COALESCE((j.job ->> 'delaySeconds')::integer, 0) > 0 AS is_scheduled,
            j.job ->> 'createdBy' AS created_by
        FROM jsonb_array_elements(p_jobs) WITH ORDINALITY AS j (job, ordinal)
    ),
    firsts AS (
        SELECT
            j.ordinal, j.given_id, j.id, j.queue, j.type, j.payload, j.tags, j.idempotency_key, j.priority, j.due_at_utc,
            j.is_scheduled, j.created_by,
            row_number() OVER (PARTITION BY j.idempotency_key ORDER BY j.ordinal) AS key_place,
            row_number() OVER (PARTITION BY j.id ORDER BY j.ordinal) AS id_place
        FROM jobs AS j
    ),
    added AS (
        INSERT INTO chokaq.jobs_hot AS h (
            id, queue, type, payload, tags, idempotency_key, priority, status, due_at_utc, is_due,
            first_due_at_utc, arrival, scheduled_at_utc, created_at_utc, created_by, last_updated_utc, revision
        )
        SELECT
            f.id, f.queue, f.type, f.payload, f.tags, f.idempotency_key, f.priority, 0, f.due_at_utc,
            f.due_at_utc <= v_now, f.due_at_utc, v_number + f.ordinal - 1,
            CASE WHEN f.is_scheduled THEN f.due_at_utc END,
            v_now, f.created_by, v_now, v_number + f.ordinal - 1
        FROM firsts AS f
        WHERE f.id_place = 1 AND (f.key_place = 1 OR f.idempotency_key IS NULL)
        /* By id, or by key where the caller chose none: two calls that share them wait in one direction only. */
        ORDER BY f.given_id, f.idempotency_key, f.ordinal
        ON CONFLICT DO NOTHING
        RETURNING h.id, h.arrival
    )
    SELECT array_agg((a.arrival - v_number + 1)::integer), array_agg(a.id)
    INTO v_ordinals, v_ids
    FROM added AS a;

    /* An id that the caller chose may have ended before: such a job leaves again. */
    v_ended := ARRAY(
        SELECT n.id
        FROM unnest(v_ordinals, v_ids) AS n (ordinal, id)
        WHERE p_jobs -> (n.ordinal - 1) ->> 'jobId' IS NOT NULL AND chokaq.has_ended(n.id)
    );

    IF v_ended <> '{}' THEN
        DELETE FROM chokaq.jobs_hot AS h WHERE h.id = ANY (v_ended);

        SELECT array_agg(n.ordinal), array_agg(n.id)
        INTO v_ordinals, v_ids
        FROM unnest(v_ordinals, v_ids) AS n (ordinal, id)
        WHERE n.id <> ALL (v_ended);
    END IF;

    INSERT INTO chokaq.counter_deltas (queue, enqueued)
    SELECT p_jobs -> (n.ordinal - 1) ->> 'queue' AS queue, count(*)
    FROM unnest(v_ordinals) AS n (ordinal)
    GROUP BY 1
    ORDER BY 1;

    IF chokaq.is_fold_due() THEN
        PERFORM chokaq.fold_counters(5000);
    END IF;
    v_outcomes := array_fill('enqueued'::text, ARRAY[COALESCE(cardinality(v_ordinals), 0)]);

    /* What met a duplicate, in the array or in the tables, is asked for one by one. */
    FOR v_ordinal IN
        SELECT o.ordinal
        FROM generate_series(1, v_total) AS o (ordinal)
        LEFT JOIN unnest(v_ordinals) AS n (ordinal) ON n.ordinal = o.ordinal
        WHERE n.ordinal IS NULL
        ORDER BY o.ordinal
    LOOP
        v_job := p_jobs -> (v_ordinal - 1);
        v_delay := make_interval(secs => COALESCE((v_job ->> 'delaySeconds')::double precision, 0));

        SELECT e.outcome, e.job_id
        INTO v_outcome, v_id
        FROM chokaq.enqueue(
            p_queue => v_job ->> 'queue',
            p_type => v_job ->> 'type',
            p_payload => v_job ->> 'payload',
            p_job_id => v_job ->> 'jobId',
            p_tags => v_job ->> 'tags',
            p_priority => COALESCE((v_job ->> 'priority')::integer, 10),
            p_scheduled_at_utc => COALESCE((v_job ->> 'scheduledAtUtc')::timestamptz, v_now + v_delay),
            p_idempotency_key => v_job ->> 'idempotencyKey',
            p_created_by => v_job ->> 'createdBy'
        ) AS e;

        /* The first of its key or id that is no duplicate: it has its place among the others of the array. */
        IF v_outcome = 'enqueued' THEN
            UPDATE chokaq.jobs_hot AS h
            SET
                arrival = v_number + v_ordinal - 1,
                scheduled_at_utc = CASE
                    WHEN v_job ->> 'scheduledAtUtc' IS NOT NULL OR v_delay > interval '0' THEN h.scheduled_at_utc
                END
            WHERE h.id = v_id;
        END IF;

        v_ordinals := v_ordinals || v_ordinal;
        v_outcomes := v_outcomes || v_outcome;
        v_ids := v_ids || v_id;
    END LOOP;

    RETURN QUERY
    SELECT n.ordinal, n.outcome, n.id
    FROM unnest(v_ordinals, v_outcomes, v_ids) AS n (ordinal, outcome, id)
    ORDER BY n.ordinal;
END;
$$;

COMMENT ON FUNCTION chokaq.enqueue_many(jsonb) IS 'Put up to 10,000 jobs into their queues';

REVOKE ALL ON FUNCTION chokaq.enqueue_many(jsonb) FROM PUBLIC;
