/*
chokaq.fetch_next_batch: claim up to p_batch_size due jobs for a worker

Twin         mssql/usp_FetchNextBatch.sql
Result       the claimed jobs in claim order: priority DESC, due time, arrival
Errors       QC001
Transaction  joining; a queue with max_workers is held for the rest of it
Locks        queue_claims (capped queues only), jobs_hot: the rows it takes, and rows that became due since the fetch
             before; what rivals hold is skipped
Granted to   chokaq_worker
Example      SELECT * FROM chokaq.fetch_next_batch('worker-1', 10, ARRAY['mail']);
*/
CREATE OR REPLACE FUNCTION chokaq.fetch_next_batch(
    p_worker_id text,
    p_batch_size integer DEFAULT 10,
    p_queues text[] DEFAULT NULL,
    p_start_now boolean DEFAULT false
)
RETURNS TABLE (
    job_id text,
    queue text,
    type text,
    payload text,
    tags text,
    priority integer,
    attempt_count integer,
    idempotency_key text,
    scheduled_at_utc timestamptz,
    created_at_utc timestamptz,
    created_by text,
    resurrect_count integer
)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
/* Every read is a short walk along one index: the statistics of a table that fills and empties must not say otherwise. */
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_sort = off
SET jit = off
AS $$
DECLARE
    v_capped text[];
    v_held text[] := '{}';
    v_heads text[];
    v_left integer := p_batch_size;
    v_now timestamptz := clock_timestamp();
    v_reach integer := 0;
    v_rooms integer[];
    v_rows tid[] := '{}';
    v_shut text[] := '{}';
BEGIN
    IF NOT chokaq.is_name(p_worker_id, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_worker_id must be 1 to 100 characters without white space at either end.';
    ELSIF p_batch_size IS NULL OR p_batch_size NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_batch_size must be 1 to 1000.';
    ELSIF p_start_now IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_start_now must be true or false.';
    ELSIF p_queues IS NOT NULL THEN
        /* On its own: a condition with a query in it costs a query, also where there are no queues. */
        IF EXISTS (SELECT 1 FROM unnest(p_queues) AS n (queue) WHERE NOT chokaq.is_name(n.queue, 255)) THEN
            RAISE EXCEPTION USING ERRCODE = 'QC001',
                MESSAGE = 'p_queues must be NULL or names of 1 to 255 characters without white space at either end.';
        END IF;
    END IF;

    /* Nearly always nothing has become due, and a walk over the queues is saved; a job of a paused queue keeps it up. */
    IF v_now >= (
        SELECT n.due_at_utc
        FROM chokaq.jobs_hot AS n
        WHERE n.worker_id IS NULL AND NOT n.is_due AND n.arrival > 0
        ORDER BY n.due_at_utc
        LIMIT 1
    ) THEN
        PERFORM chokaq.promote_jobs(p_queues, p_batch_size);
    END IF;

    /* All queues together. What a rival, a closed queue or one with a limit leaves undone is done queue by queue below. */
    IF p_queues IS NULL THEN
        v_rows := chokaq.lock_next_jobs(v_left);
    END IF;

    WHILE v_left > 0 LOOP
        IF v_rows = '{}' THEN
            /* The best heads of the open queues: no more of them than jobs are wanted can matter. */
            SELECT
                array_agg(b.queue ORDER BY b.priority DESC, b.due_at_utc, b.arrival),
                array_agg(b.room ORDER BY b.priority DESC, b.due_at_utc, b.arrival),
                array_agg(b.queue ORDER BY b.queue) FILTER (WHERE b.is_capped AND b.queue <> ALL (v_held))
            INTO v_heads, v_rooms, v_capped
            FROM (
                SELECT q.queue, q.max_workers IS NOT NULL AS is_capped, r.room, f.priority, f.due_at_utc, f.arrival
                FROM chokaq.queues AS q
                CROSS JOIN LATERAL (
                    SELECT CASE WHEN q.max_workers IS NULL THEN v_left ELSE q.max_workers - (
                        SELECT count(*)::integer
                        FROM (
                            SELECT 1
                            FROM chokaq.jobs_hot AS w
                            WHERE w.queue = q.queue AND w.worker_id IS NOT NULL
                            LIMIT q.max_workers
                        ) AS c
                    ) END AS room
                ) AS r
                CROSS JOIN LATERAL (
                    SELECT h.priority, h.due_at_utc, h.arrival
                    FROM chokaq.jobs_hot AS h
                    WHERE h.queue = q.queue AND h.worker_id IS NULL AND h.is_due AND r.room > 0
                    ORDER BY h.queue, h.priority DESC, h.due_at_utc, h.arrival
                    LIMIT 1
                ) AS f
                WHERE NOT q.is_paused
                AND q.is_active
                AND (p_queues IS NULL OR q.queue = ANY (p_queues))
                AND q.queue <> ALL (v_shut)
                ORDER BY f.priority DESC, f.due_at_utc, f.arrival
                LIMIT v_left
            ) AS b;

            EXIT WHEN v_heads IS NULL;

            IF v_capped IS NOT NULL THEN
                /*
                Whoever holds the queue's row may count and claim, one at a time and until it commits: that is what
                makes max_workers exact. The write, not only the lock, also stops a REPEATABLE READ snapshot that
                is older than the last claim. A queue in a rival's hands is left to the rival.
                */
                WITH taken AS (
                    UPDATE chokaq.queue_claims AS q
                    SET last_claim_at_utc = v_now
                    WHERE q.queue = ANY (ARRAY(
                        SELECT c.queue
                        FROM chokaq.queue_claims AS c
                        WHERE c.queue = ANY (v_capped)
                        ORDER BY c.queue
                        FOR NO KEY UPDATE SKIP LOCKED
                    ))
                    RETURNING q.queue
                )
                SELECT v_held || array_agg(t.queue) INTO v_held FROM taken AS t;

                v_shut := v_shut || ARRAY(SELECT c.queue FROM unnest(v_capped) AS c (queue) WHERE c.queue <> ALL (v_held));
                CONTINUE;
            END IF;

            IF cardinality(v_heads) = 1 AND v_reach = 0 THEN
                v_rows := ARRAY(
                    SELECT h.ctid
                    FROM chokaq.jobs_hot AS h
                    WHERE h.queue = v_heads[1] AND h.worker_id IS NULL AND h.is_due
                    ORDER BY h.queue, h.priority DESC, h.due_at_utc, h.arrival
                    LIMIT LEAST(v_left, v_rooms[1])
                    FOR NO KEY UPDATE SKIP LOCKED
                );

                IF cardinality(v_rows) < v_left THEN
                    v_shut := v_shut || v_heads[1];
                END IF;
            ELSE
                v_reach := GREATEST(v_reach, 4, 2 * v_left / cardinality(v_heads));
                v_rows := ARRAY(
                    WITH seen AS MATERIALIZED (
                        /* Read without a lock, v_reach rows of each head. */
                        SELECT s.id, o.queue, o.room, s.priority, s.due_at_utc, s.arrival, s.place
                        FROM unnest(v_heads, v_rooms) AS o (queue, room)
                        CROSS JOIN LATERAL (
                            SELECT
                                h.id, h.priority, h.due_at_utc, h.arrival,
                                row_number() OVER (ORDER BY h.priority DESC, h.due_at_utc, h.arrival) AS place
                            FROM (
                                SELECT i.id, i.priority, i.due_at_utc, i.arrival
                                FROM chokaq.jobs_hot AS i
                                WHERE i.queue = o.queue AND i.worker_id IS NULL AND i.is_due
                                ORDER BY i.queue, i.priority DESC, i.due_at_utc, i.arrival
                                LIMIT v_reach
                            ) AS h
                        ) AS s
                    ),
                    /* Behind the last row read of a queue may be more: only what comes before all of these is certain. */
                    horizon AS MATERIALIZED (
                        SELECT -s.priority::bigint AS rank, s.due_at_utc, s.arrival
                        FROM seen AS s
                        WHERE s.place = v_reach
                        ORDER BY s.priority DESC, s.due_at_utc, s.arrival
                        LIMIT 1
                    ),
                    certain AS MATERIALIZED (
                        SELECT s.id, s.priority, s.due_at_utc, s.arrival
                        FROM seen AS s
                        LEFT JOIN horizon AS z ON true
                        WHERE (
                            z.rank IS NULL
                            OR (-s.priority::bigint, s.due_at_utc, s.arrival) <= (z.rank, z.due_at_utc, z.arrival)
                        )
                        AND (s.place <= s.room OR s.queue <> ALL (v_held))
                    )
                    /* The limit is above the locks: a rival's rows are passed over, and no more is locked than is taken. */
                    SELECT h.ctid
                    FROM certain AS c
                    INNER JOIN chokaq.jobs_hot AS h ON h.id = c.id
                    WHERE h.worker_id IS NULL AND h.is_due
                    ORDER BY c.priority DESC, c.due_at_utc, c.arrival
                    LIMIT v_left
                    FOR NO KEY UPDATE OF h SKIP LOCKED
                );

                /* All in rivals' hands: look further, and when the end of these queues is in sight, to the next ones. */
                IF v_rows = '{}' THEN
                    IF EXISTS (
                        SELECT 1
                        FROM unnest(v_heads) AS o (queue)
                        CROSS JOIN LATERAL (
                            SELECT 1
                            FROM chokaq.jobs_hot AS h
                            WHERE h.queue = o.queue AND h.worker_id IS NULL AND h.is_due
                            ORDER BY h.queue, h.priority DESC, h.due_at_utc, h.arrival
                            LIMIT 1
                            OFFSET v_reach
                        ) AS m
                    ) THEN
                        v_reach := 4 * v_reach;
                    ELSE
                        v_shut := v_shut || v_heads;
                        v_reach := 0;
                    END IF;

                    CONTINUE;
                END IF;
            END IF;
        END IF;

        v_left := v_left - cardinality(v_rows);

        RETURN QUERY
        WITH claimed AS (
            UPDATE chokaq.jobs_hot AS h
            SET
                status = CASE WHEN p_start_now THEN 2 ELSE 1 END,
                attempt_count = h.attempt_count + CASE WHEN p_start_now THEN 1 ELSE 0 END,
                worker_id = p_worker_id,
                fetched_at_utc = v_now,
                started_at_utc = CASE WHEN p_start_now THEN v_now END,
                heartbeat_utc = v_now,
                last_updated_utc = v_now
            /* Locked above, so they are where they were. */
            WHERE h.ctid = ANY (v_rows)
            RETURNING
                h.id, h.queue, h.type, h.payload, h.tags, h.priority, h.attempt_count, h.idempotency_key,
                h.scheduled_at_utc, h.created_at_utc, h.created_by, h.resurrect_count, h.due_at_utc, h.arrival
        )
        SELECT
            c.id, c.queue, c.type, c.payload, c.tags, c.priority, c.attempt_count, c.idempotency_key,
            c.scheduled_at_utc, c.created_at_utc, c.created_by, c.resurrect_count
        FROM claimed AS c
        ORDER BY c.priority DESC, c.due_at_utc, c.arrival;

        v_rows := '{}';
    END LOOP;
END;
$$;

COMMENT ON FUNCTION chokaq.fetch_next_batch(text, integer, text[], boolean)
IS 'Claim up to p_batch_size due jobs for a worker';

REVOKE ALL ON FUNCTION chokaq.fetch_next_batch(text, integer, text[], boolean) FROM PUBLIC;
