/*
chokaq.archive_zombies_batch: move one batch of running jobs whose heartbeat ran out to the DLQ, as Zombie

Twin         mssql/usp_ArchiveZombiesBatch.sql
Result       one row: moved_count, skipped_count (held by others, or with an id that is in the DLQ or the Archive
             already), has_more, last_queue, last_job_id: the key to go on from
Errors       QC001
Transaction  joining
Locks        jobs_hot (what others hold is skipped), jobs_dlq, counters
Granted to   chokaq_worker
Example      SELECT * FROM chokaq.archive_zombies_batch(NULL, 1000);
*/
CREATE OR REPLACE FUNCTION chokaq.archive_zombies_batch(
    p_timeout_seconds integer DEFAULT NULL,
    p_batch_size integer DEFAULT 1000,
    p_after_queue text DEFAULT NULL,
    p_after_job_id text DEFAULT NULL
)
RETURNS TABLE (
    moved_count integer,
    skipped_count integer,
    has_more boolean,
    last_queue text,
    last_job_id text
)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_ids text[];
    v_now timestamptz := clock_timestamp();
    v_number bigint;
    v_queues text[];
    v_timeouts integer[];
BEGIN
    IF p_timeout_seconds < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_timeout_seconds must be NULL or 0 or more seconds.';
    ELSIF p_batch_size IS NULL OR p_batch_size NOT BETWEEN 1 AND 4000 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_batch_size must be 1 to 4000.';
    ELSIF NOT chokaq.is_within(p_after_queue, 255) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_after_queue must be NULL or at most 255 characters.';
    ELSIF NOT chokaq.is_within(p_after_job_id, 50) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_after_job_id must be NULL or at most 50 characters.';
    END IF;

    SELECT
        array_agg(w.queue ORDER BY w.queue, w.id),
        array_agg(w.id ORDER BY w.queue, w.id),
        array_agg(w.timeout_seconds ORDER BY w.queue, w.id)
    INTO v_queues, v_ids, v_timeouts
    FROM (
        SELECT h.queue, h.id, t.timeout_seconds
        FROM chokaq.jobs_hot AS h
        INNER JOIN chokaq.queues AS q ON q.queue = h.queue
        CROSS JOIN LATERAL (
            SELECT COALESCE(p_timeout_seconds, q.zombie_timeout_seconds, 600) AS timeout_seconds
        ) AS t
        WHERE h.worker_id IS NOT NULL
        AND (h.queue, h.id) > (COALESCE(p_after_queue, ''), COALESCE(p_after_job_id, ''))
        AND h.status = 2
        AND h.heartbeat_utc <= v_now - make_interval(secs => t.timeout_seconds)
        ORDER BY h.queue, h.id
        LIMIT p_batch_size + 1
    ) AS w;

    has_more := COALESCE(cardinality(v_ids) > p_batch_size, false);
    v_ids := v_ids[:p_batch_size];
    v_timeouts := v_timeouts[:p_batch_size];
    last_queue := v_queues[cardinality(v_ids)];
    last_job_id := v_ids[cardinality(v_ids)];
    v_number := nextval('chokaq.job_numbers');

    WITH late AS MATERIALIZED (
        SELECT h.id, z.timeout_seconds, z.ordinal
        FROM unnest(v_ids, v_timeouts) WITH ORDINALITY AS z (id, timeout_seconds, ordinal)
        INNER JOIN chokaq.jobs_hot AS h ON h.id = z.id COLLATE "C"
        WHERE h.status = 2
        AND h.heartbeat_utc <= v_now - make_interval(secs => z.timeout_seconds)
        /* An id that has ended before would stop the whole batch at a primary key. */
        AND NOT EXISTS (SELECT 1 FROM chokaq.jobs_dlq AS d WHERE d.id = h.id)
        AND NOT EXISTS (SELECT 1 FROM chokaq.jobs_archive AS a WHERE a.id = h.id)
        ORDER BY h.id
        FOR UPDATE OF h SKIP LOCKED
    ),
    gone AS (
        DELETE FROM chokaq.jobs_hot AS h
        USING late AS l
        WHERE h.id = l.id
        RETURNING
            h.id, h.queue, h.type, h.payload, h.tags, h.idempotency_key, h.priority, h.attempt_count, h.worker_id,
            h.error_details, h.scheduled_at_utc, h.started_at_utc, h.heartbeat_utc, h.created_at_utc, h.created_by,
            h.last_modified_by, h.resurrect_count, l.timeout_seconds, l.ordinal
    ),
    added AS (
        INSERT INTO chokaq.jobs_dlq AS d (
            id, queue, type, payload, tags, idempotency_key, priority, attempt_count, worker_id,
            failure_reason, error_details, failed_at_utc, scheduled_at_utc, started_at_utc, heartbeat_utc,
            created_at_utc, created_by, last_updated_utc, last_modified_by, resurrect_count, revision
        )
        SELECT
            g.id, g.queue, g.type, g.payload, g.tags, g.idempotency_key, g.priority, g.attempt_count, g.worker_id,
            2,
            format(
                'Worker %s gave no heartbeat after %s (timeout %s seconds).%s',
                g.worker_id,
                to_char(g.heartbeat_utc AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                g.timeout_seconds,
                E'\nThe attempt before ended with: ' || g.error_details
            ),
            v_now, g.scheduled_at_utc, g.started_at_utc, g.heartbeat_utc, g.created_at_utc, g.created_by, v_now,
            g.last_modified_by, g.resurrect_count, v_number + g.ordinal
        FROM gone AS g
        RETURNING d.queue
    ),
    counted AS (
        INSERT INTO chokaq.counter_deltas (queue, dead_lettered)
        SELECT a.queue, count(*) FROM added AS a GROUP BY a.queue
    )
    SELECT count(*) INTO moved_count FROM added AS a;

    SELECT count(*)
    INTO skipped_count
    FROM unnest(v_ids, v_timeouts) AS z (id, timeout_seconds)
    INNER JOIN chokaq.jobs_hot AS h ON h.id = z.id COLLATE "C"
    WHERE h.status = 2 AND h.heartbeat_utc <= v_now - make_interval(secs => z.timeout_seconds);

    IF chokaq.is_fold_due() THEN
        PERFORM chokaq.fold_counters(5000);
    END IF;
    RETURN NEXT;
END;
$$;

COMMENT ON FUNCTION chokaq.archive_zombies_batch(integer, integer, text, text)
IS 'Move one batch of running jobs whose heartbeat ran out to the DLQ, as Zombie';

REVOKE ALL ON FUNCTION chokaq.archive_zombies_batch(integer, integer, text, text) FROM PUBLIC;
