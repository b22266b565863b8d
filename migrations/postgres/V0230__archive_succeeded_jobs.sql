/*
chokaq.archive_succeeded_jobs: move up to 1000 jobs that ran well from Hot to the Archive, in one transaction

Twin         mssql/usp_ArchiveSucceededJobs.sql
Result       one row per job (of a repeated id the first counts), in order: job_id, outcome
Outcomes     archived | already_archived | not_found | not_owner | not_processing | stale_attempt | id_conflict (it is
             in the Archive as well: only the owner's own writes can do that)
Errors       QC001, naming the element and the field
Transaction  joining
Locks        jobs_hot in key order, jobs_archive, counters
Granted to   chokaq_worker
Example      SELECT * FROM chokaq.archive_succeeded_jobs('[{"jobId": "a1", "attempt": 1}]', 'worker-1');
*/
CREATE OR REPLACE FUNCTION chokaq.archive_succeeded_jobs(p_jobs jsonb, p_worker_id text)
RETURNS TABLE (job_id text, outcome text)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
/* Each job is found by its key; a plan for each call would cost as much as its rows. */
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    v_added text[];
    v_attempts integer[];
    v_durations double precision[];
    v_ids text[];
    v_outcomes text[];
    v_problem text;
    v_resurrect_counts integer[];
BEGIN
    IF p_jobs IS NULL OR jsonb_typeof(p_jobs) <> 'array' THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_jobs must be a JSON array of objects.';
    ELSIF jsonb_array_length(p_jobs) > 1000 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_jobs must be an array of at most 1000 objects.';
    ELSIF NOT chokaq.is_name(p_worker_id, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_worker_id must be 1 to 100 characters without white space at either end.';
    END IF;

    /* The first test is quick and lets nearly every element through; the second one finds the words. */
    SELECT format('p_jobs element %s: %s', j.ordinal, c.problem)
    INTO v_problem
    FROM jsonb_array_elements(p_jobs) WITH ORDINALITY AS j (job, ordinal)
    CROSS JOIN LATERAL (SELECT chokaq.succeeded_job_problem(j.job) AS problem) AS c
    WHERE (
        jsonb_typeof(j.job) = 'object'
        AND jsonb_typeof(j.job -> 'jobId') = 'string'
        AND j.job ->> 'jobId' ~ '^[!-~]{1,50}$'
        AND COALESCE(jsonb_typeof(j.job -> 'attempt') = 'number' AND j.job ->> 'attempt' ~ '^[1-9][0-9]{0,8}$', true)
        AND COALESCE(
            jsonb_typeof(j.job -> 'resurrectCount') = 'number' AND j.job ->> 'resurrectCount' ~ '^[0-9]{1,9}$', true
        )
        AND COALESCE(jsonb_typeof(j.job -> 'durationMs') = 'number', true)
        AND j.job - ARRAY['jobId', 'attempt', 'resurrectCount', 'durationMs'] = '{}'
    ) IS NOT TRUE
    AND c.problem IS NOT NULL
    ORDER BY j.ordinal
    LIMIT 1;

    IF v_problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = v_problem;
    END IF;

    /* Of a repeated id the first mention counts. */
    IF (
        SELECT count(DISTINCT j.id COLLATE "C") < count(*)
        FROM (SELECT e.job ->> 'jobId' AS id FROM jsonb_array_elements(p_jobs) AS e (job)) AS j
    ) THEN
        p_jobs := (
            SELECT jsonb_agg(f.job ORDER BY f.ordinal)
            FROM (
                SELECT DISTINCT ON (j.job ->> 'jobId' COLLATE "C") j.job, j.ordinal
                FROM jsonb_array_elements(p_jobs) WITH ORDINALITY AS j (job, ordinal)
                ORDER BY j.job ->> 'jobId' COLLATE "C", j.ordinal
            ) AS f
        );
    END IF;

    SELECT
        array_agg(j."jobId"),
        array_agg(j.attempt),
        /* A metric never stops a transition: what is no duration, or no double precision, is no value. */
        array_agg(
            CASE WHEN j."durationMs" = 0 OR j."durationMs" BETWEEN 1e-300 AND 1e300 THEN j."durationMs"::double precision END
        ),
        array_agg(j."resurrectCount"),
        array_agg(NULL::text)
    INTO v_ids, v_attempts, v_durations, v_resurrect_counts, v_outcomes
    FROM jsonb_to_recordset(p_jobs)
        AS j ("jobId" text, attempt integer, "durationMs" numeric, "resurrectCount" integer);

    /* Once, unless a job that was no one's to archive became so in between. */
    LOOP
        /*
        IS NOT DISTINCT FROM, because = would offer the index of all that workers hold. An id that is in the Archive as
        well stays in Hot, and stops no other job.
        */
        WITH held AS MATERIALIZED (
            SELECT
                h.id, h.queue, h.type, h.payload, h.tags, h.idempotency_key, h.priority, h.attempt_count, h.worker_id,
                h.scheduled_at_utc, h.started_at_utc, i.duration_ms, h.created_at_utc, h.created_by,
                h.last_modified_by, h.resurrect_count, h.revision, i.place
            FROM unnest(v_ids, v_attempts, v_resurrect_counts, v_durations, v_outcomes) WITH ORDINALITY
                AS i (id, attempt, resurrect_count, duration_ms, outcome, place)
            INNER JOIN chokaq.jobs_hot AS h ON h.id = i.id COLLATE "C"
            WHERE i.outcome IS NULL
            AND h.status = 2
            AND h.worker_id IS NOT DISTINCT FROM p_worker_id
            AND (i.attempt IS NULL OR h.attempt_count = i.attempt)
            AND (i.resurrect_count IS NULL OR h.resurrect_count = i.resurrect_count)
            ORDER BY h.id
            FOR UPDATE OF h
        ),
        added AS (
            INSERT INTO chokaq.jobs_archive AS a (
                id, queue, type, payload, tags, idempotency_key, priority, attempt_count, worker_id,
                scheduled_at_utc, started_at_utc, finished_at_utc, duration_ms, created_at_utc, created_by,
                last_modified_by, resurrect_count, revision
            )
            SELECT
                l.id, l.queue, l.type, l.payload, l.tags, l.idempotency_key, l.priority, l.attempt_count, l.worker_id,
                l.scheduled_at_utc, l.started_at_utc, clock_timestamp(), l.duration_ms, l.created_at_utc, l.created_by,
                l.last_modified_by, l.resurrect_count, l.revision
            FROM held AS l
            ON CONFLICT (id) DO NOTHING
            RETURNING a.id, a.queue
        ),
        gone AS (
            DELETE FROM chokaq.jobs_hot AS h
            USING added AS a
            WHERE h.id = a.id
        ),
        counted AS (
            INSERT INTO chokaq.counter_deltas (queue, succeeded)
            SELECT a.queue, count(*) FROM added AS a GROUP BY a.queue
        )
        SELECT array_agg(a.id) INTO v_added FROM added AS a;

        /* Nearly always all are archived, and there is nothing to explain. */
        IF cardinality(v_added) = cardinality(v_ids) THEN
            v_outcomes := array_fill('archived'::text, ARRAY[cardinality(v_ids)]);
            EXIT;
        END IF;

        SELECT array_agg(
            COALESCE(
                i.outcome,
                CASE WHEN i.id = ANY (v_added) THEN 'archived' END,
                chokaq.explain_miss(i.id, p_worker_id, i.attempt, i.resurrect_count, 'Archive'),
                (SELECT 'id_conflict' FROM chokaq.jobs_archive AS o WHERE o.id = i.id COLLATE "C")
            )
            ORDER BY i.place
        )
        INTO v_outcomes
        FROM unnest(v_ids, v_attempts, v_resurrect_counts, v_outcomes) WITH ORDINALITY
            AS i (id, attempt, resurrect_count, outcome, place);

        EXIT WHEN array_position(v_outcomes, NULL) IS NULL;
    END LOOP;

    PERFORM chokaq.fold_sometimes();

    RETURN QUERY
    SELECT i.id, i.outcome
    FROM unnest(v_ids, v_outcomes) WITH ORDINALITY AS i (id, outcome, place)
    ORDER BY i.place;
END;
$$;

COMMENT ON FUNCTION chokaq.archive_succeeded_jobs(jsonb, text)
IS 'Move up to 1000 jobs that ran well from Hot to the Archive, in one transaction';

REVOKE ALL ON FUNCTION chokaq.archive_succeeded_jobs(jsonb, text) FROM PUBLIC;
