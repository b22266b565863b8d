/*
chokaq.archive_succeeded: move a job that ran well from Hot to the Archive

Twin         mssql/usp_ArchiveSucceeded.sql
Result       one row: outcome, job_id
Outcomes     archived | already_archived | not_found | not_owner | not_processing | stale_attempt
Errors       QC001, QC090
Transaction  joining
Locks        jobs_hot, jobs_archive, counters
Granted to   chokaq_worker
Example      SELECT * FROM chokaq.archive_succeeded('a1', 'worker-1', 1, 250);
*/
CREATE OR REPLACE FUNCTION chokaq.archive_succeeded(
    p_job_id text,
    p_worker_id text DEFAULT NULL,
    p_attempt integer DEFAULT NULL,
    p_duration_ms double precision DEFAULT NULL,
    p_resurrect_count integer DEFAULT NULL
)
RETURNS TABLE (outcome text, job_id text)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_added integer;
BEGIN
    IF NOT chokaq.is_name(p_job_id, 50) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_job_id must be 1 to 50 characters without white space at either end.';
    ELSIF p_worker_id IS NOT NULL AND NOT chokaq.is_name(p_worker_id, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_worker_id must be NULL or 1 to 100 characters without white space at either end.';
    ELSIF p_attempt < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_attempt must be NULL or 1 or more.';
    ELSIF p_resurrect_count < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_resurrect_count must be NULL or 0 or more.';
    END IF;

    job_id := p_job_id;

    LOOP
        WITH gone AS (
            DELETE FROM chokaq.jobs_hot AS h
            WHERE h.id = p_job_id
            AND h.status = 2
            AND (p_worker_id IS NULL OR h.worker_id = p_worker_id)
            AND (p_attempt IS NULL OR h.attempt_count = p_attempt)
            AND (p_resurrect_count IS NULL OR h.resurrect_count = p_resurrect_count)
            RETURNING
                h.id, h.queue, h.type, h.payload, h.tags, h.idempotency_key, h.priority, h.attempt_count,
                h.worker_id, h.scheduled_at_utc, h.started_at_utc, h.created_at_utc, h.created_by,
                h.last_modified_by, h.resurrect_count, h.revision
        ),
        added AS (
            INSERT INTO chokaq.jobs_archive AS a (
                id, queue, type, payload, tags, idempotency_key, priority, attempt_count, worker_id,
                scheduled_at_utc, started_at_utc, finished_at_utc, duration_ms, created_at_utc, created_by,
                last_modified_by, resurrect_count, revision
            )
            SELECT
                g.id, g.queue, g.type, g.payload, g.tags, g.idempotency_key, g.priority, g.attempt_count, g.worker_id,
                g.scheduled_at_utc, g.started_at_utc, clock_timestamp(),
                /* A metric never stops a transition: what is no duration is no value. */
                CASE WHEN p_duration_ms >= 0 AND p_duration_ms < 'Infinity' THEN p_duration_ms END,
                g.created_at_utc, g.created_by, g.last_modified_by, g.resurrect_count, g.revision
            FROM gone AS g
            ON CONFLICT (id) DO NOTHING
            RETURNING a.queue
        ),
        counted AS (
            INSERT INTO chokaq.counter_deltas (queue, succeeded)
            SELECT a.queue, 1 FROM added AS a
        )
        SELECT (SELECT count(*) FROM added) INTO v_added FROM gone AS g;

        IF NOT FOUND THEN
            outcome := chokaq.explain_miss(p_job_id, p_worker_id, p_attempt, p_resurrect_count, 'Archive');
            EXIT WHEN outcome IS NOT NULL;
        ELSIF v_added = 0 THEN
            RAISE EXCEPTION USING ERRCODE = 'QC090',
                MESSAGE = format('Job %s is in Hot and in the Archive; it stays in Hot.', p_job_id);
        ELSE
            outcome := 'archived';
            IF chokaq.is_fold_due() THEN
                PERFORM chokaq.fold_counters(5000);
            END IF;
            EXIT;
        END IF;
    END LOOP;

    RETURN NEXT;
END;
$$;

COMMENT ON FUNCTION chokaq.archive_succeeded(text, text, integer, double precision, integer)
IS 'Move a job that ran well from Hot to the Archive';

REVOKE ALL ON FUNCTION chokaq.archive_succeeded(text, text, integer, double precision, integer) FROM PUBLIC;
