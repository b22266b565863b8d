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
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_sort = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    v_conflicts text[] := '{}';
    v_durations jsonb;
    v_fences jsonb;
    v_gone text[];
    v_ids text[];
    v_is_checked boolean := false;
    v_is_plain boolean;
    v_outcomes text[];
BEGIN
    IF p_jobs IS NULL OR jsonb_typeof(p_jobs) <> 'array' THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_jobs must be a JSON array of objects.';
    ELSIF jsonb_array_length(p_jobs) > 1000 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_jobs must be an array of at most 1000 objects.';
    ELSIF NOT chokaq.is_name(p_worker_id, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_worker_id must be 1 to 100 characters without white space at either end.';
    END IF;

    /*
    One pass. Plain elements have fields of the right types and no repeated id; what their values may be is asked only
    when a job is not found, because the values of one that is found are right. A fence is "attempt resurrectCount".
    */
    LOOP
        SELECT
            bool_and(
                jsonb_typeof(j.job) = 'object'
                AND jsonb_typeof(j.job -> 'jobId') = 'string'
                AND COALESCE(jsonb_typeof(j.job -> 'attempt') = 'number', true)
                AND COALESCE(jsonb_typeof(j.job -> 'resurrectCount') = 'number', true)
                AND COALESCE(jsonb_typeof(j.job -> 'durationMs') = 'number', true)
                AND j.job - '{jobId,attempt,resurrectCount,durationMs}'::text[] = '{}'
            ) AND count(DISTINCT j.job ->> 'jobId' COLLATE "C") = count(*),
            array_agg(j.job ->> 'jobId'),
            jsonb_object_agg(
                COALESCE(j.job ->> 'jobId', ''),
                concat(COALESCE(j.job ->> 'attempt', '*'), ' ', COALESCE(j.job ->> 'resurrectCount', '*'))
            ),
            jsonb_object_agg(COALESCE(j.job ->> 'jobId', ''), j.job -> 'durationMs') FILTER (WHERE j.job ? 'durationMs')
        INTO v_is_plain, v_ids, v_fences, v_durations
        FROM jsonb_array_elements(p_jobs) AS j (job);

        EXIT WHEN v_is_plain IS NOT FALSE OR v_is_checked;

        PERFORM chokaq.check_succeeded_jobs(p_jobs);
        v_is_checked := true;

        /* Of a repeated id the first mention counts. */
        p_jobs := (
            SELECT jsonb_agg(f.job ORDER BY f.ordinal)
            FROM (
                SELECT DISTINCT ON (j.job ->> 'jobId' COLLATE "C") j.job, j.ordinal
                FROM jsonb_array_elements(p_jobs) WITH ORDINALITY AS j (job, ordinal)
                ORDER BY j.job ->> 'jobId' COLLATE "C", j.ordinal
            ) AS f
        );
    END LOOP;

    /* Once, unless a job is in the Archive already. */
    WHILE v_ids IS NOT NULL LOOP
        BEGIN
            /*
            The index takes the ids in their order, and so do the locks (a bitmap would not). IS NOT DISTINCT FROM,
            because = would offer the index of all that workers hold.
            */
            WITH gone AS (
                DELETE FROM chokaq.jobs_hot AS h
                WHERE h.id = ANY (v_ids)
                AND h.status = 2
                AND h.worker_id IS NOT DISTINCT FROM p_worker_id
                AND (
                    v_fences ->> h.id = h.attempt_count || ' ' || h.resurrect_count
                    OR v_fences ->> h.id IN (h.attempt_count || ' *', '* ' || h.resurrect_count, '* *')
                )
                AND h.id <> ALL (v_conflicts)
                RETURNING
                    h.id, h.queue, h.type, h.payload, h.tags, h.idempotency_key, h.priority, h.attempt_count,
                    h.worker_id, h.scheduled_at_utc, h.started_at_utc, (v_durations ->> h.id)::numeric AS duration,
                    h.created_at_utc, h.created_by, h.last_modified_by, h.resurrect_count, h.revision
            ),
            added AS (
                INSERT INTO chokaq.jobs_archive (
                    id, queue, type, payload, tags, idempotency_key, priority, attempt_count, worker_id,
                    scheduled_at_utc, started_at_utc, finished_at_utc, duration_ms, created_at_utc, created_by,
                    last_modified_by, resurrect_count, revision
                )
                SELECT
                    g.id, g.queue, g.type, g.payload, g.tags, g.idempotency_key, g.priority, g.attempt_count,
                    g.worker_id, g.scheduled_at_utc, g.started_at_utc, clock_timestamp(),
                    /* A metric never stops a transition: what is no duration, or no double precision, is no value. */
                    CASE
                        WHEN g.duration = 0 OR g.duration BETWEEN 1e-300 AND 1e300 THEN g.duration::double precision
                    END,
                    g.created_at_utc, g.created_by, g.last_modified_by, g.resurrect_count, g.revision
                FROM gone AS g
            ),
            counted AS (
                INSERT INTO chokaq.counter_deltas (queue, succeeded)
                SELECT g.queue, count(*) FROM gone AS g GROUP BY g.queue
            )
            SELECT array_agg(g.id) INTO v_gone FROM gone AS g;
        EXCEPTION
            WHEN unique_violation THEN
                /* An id that is in the Archive as well stays in Hot, and stops no other job. */
                IF v_conflicts = '{}' THEN
                    v_conflicts := ARRAY(SELECT a.id FROM chokaq.jobs_archive AS a WHERE a.id = ANY (v_ids));
                    CONTINUE WHEN v_conflicts <> '{}';
                END IF;

                RAISE;
        END;

        /* Nearly always all are archived, and there is nothing to explain. */
        EXIT WHEN cardinality(v_gone) = cardinality(v_ids);

        IF NOT v_is_checked THEN
            PERFORM chokaq.check_succeeded_jobs(p_jobs);
            v_is_checked := true;
        END IF;

        SELECT array_agg(
            COALESCE(
                CASE WHEN i.id = ANY (v_gone) THEN 'archived' WHEN i.id = ANY (v_conflicts) THEN 'id_conflict' END,
                chokaq.explain_miss(
                    i.id, p_worker_id, (i.job ->> 'attempt')::integer, (i.job ->> 'resurrectCount')::integer, 'Archive'
                ),
                /* It started in between. To look again would be to wait for it while higher ids are held. */
                'not_processing'
            )
            ORDER BY i.place
        )
        INTO v_outcomes
        FROM ROWS FROM (unnest(v_ids), jsonb_array_elements(p_jobs)) WITH ORDINALITY AS i (id, job, place);

        EXIT;
    END LOOP;

    IF chokaq.is_fold_due() THEN
        PERFORM chokaq.fold_counters(5000);
    END IF;

    RETURN QUERY
    SELECT i.id, COALESCE(i.outcome, 'archived')
    FROM ROWS FROM (unnest(v_ids), unnest(v_outcomes)) AS i (id, outcome);
END;
$$;

COMMENT ON FUNCTION chokaq.archive_succeeded_jobs(jsonb, text)
IS 'Move up to 1000 jobs that ran well from Hot to the Archive, in one transaction';

REVOKE ALL ON FUNCTION chokaq.archive_succeeded_jobs(jsonb, text) FROM PUBLIC;
