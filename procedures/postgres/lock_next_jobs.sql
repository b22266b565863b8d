/*
chokaq.lock_next_jobs: lock the next claimable jobs over all queues, whatever their number

Twin         none: part of usp_FetchNextBatch
Result       text[]: up to p_count ids in the order of the claim; none where a queue with a limit is in sight, whose claim
             takes more care
Transaction  joining
Locks        jobs_hot; what others hold is skipped
*/
CREATE OR REPLACE FUNCTION chokaq.lock_next_jobs(p_count integer)
RETURNS text[]
LANGUAGE plpgsql
/* With the rights and the settings of fetch_next_batch, which alone calls it. */
AS $$
DECLARE
    v_from_arrival bigint;
    v_from_due timestamptz;
    v_from_priority integer;
    v_ids text[];
    v_mark text;
    v_now timestamptz := clock_timestamp();
    v_until timestamptz;
    v_walked bigint;
BEGIN
    /*
    While an old snapshot is open somewhere, rows that were claimed stay in front of the index, and each fetch would walk
    over them. So a session that had to walk far goes on from there, for a moment that is short against the walk.
    */
    SELECT f.mark[1]::integer, f.mark[2]::timestamptz, f.mark[3]::bigint, f.mark[4]::timestamptz
    INTO v_from_priority, v_from_due, v_from_arrival, v_until
    FROM (
        SELECT regexp_match(
            current_setting('chokaq.walked_to', true), '^(-?\d{1,10}) (\d{4}-[-\d:.T+]+) (\d{1,18}) (\d{4}-[-\d:.T+]+)$'
        ) AS mark
    ) AS f;

    IF v_until IS NULL OR v_now NOT BETWEEN v_until - interval '1 minute' AND v_until THEN
        v_from_priority := 2147483647;
        v_from_due := '-infinity';
        v_from_arrival := 0;
        v_until := NULL;
    END IF;

    v_walked := pg_stat_get_xact_tuples_returned('chokaq.ix_jobs_hot_priority_due_at_utc_arrival'::regclass);
    v_ids := ARRAY(
        WITH seen AS MATERIALIZED (
            SELECT u.id, u.queue, u.priority, u.due_at_utc, u.arrival
            FROM (
                (
                    SELECT i.id, i.queue, i.priority, i.due_at_utc, i.arrival
                    FROM chokaq.jobs_hot AS i
                    WHERE i.worker_id IS NULL AND i.is_due AND i.arrival > 0
                    AND i.priority = v_from_priority
                    AND (i.due_at_utc, i.arrival) >= (v_from_due, v_from_arrival)
                    ORDER BY i.priority DESC, i.due_at_utc, i.arrival
                    LIMIT 2 * p_count + 16
                )
                UNION ALL
                (
                    SELECT i.id, i.queue, i.priority, i.due_at_utc, i.arrival
                    FROM chokaq.jobs_hot AS i
                    WHERE i.worker_id IS NULL AND i.is_due AND i.arrival > 0
                    AND i.priority < v_from_priority
                    ORDER BY i.priority DESC, i.due_at_utc, i.arrival
                    LIMIT 2 * p_count + 16
                )
            ) AS u
            LIMIT 2 * p_count + 16
        ),
        open AS MATERIALIZED (
            SELECT s.id, s.priority, s.due_at_utc, s.arrival, q.max_workers IS NOT NULL AS is_capped
            FROM seen AS s
            INNER JOIN chokaq.queues AS q ON q.queue = s.queue
            WHERE NOT q.is_paused AND q.is_active
        )
        /* The limit is above the locks: a rival's rows are passed over, and no more is locked than is taken. */
        SELECT h.id
        FROM open AS o
        INNER JOIN chokaq.jobs_hot AS h ON h.id = o.id
        WHERE h.worker_id IS NULL AND h.is_due AND NOT EXISTS (SELECT 1 FROM open AS c WHERE c.is_capped)
        ORDER BY o.priority DESC, o.due_at_utc, o.arrival
        LIMIT p_count
        FOR NO KEY UPDATE OF h SKIP LOCKED
    );
    v_walked :=
        pg_stat_get_xact_tuples_returned('chokaq.ix_jobs_hot_priority_due_at_utc_arrival'::regclass) - v_walked;

    IF v_ids <> '{}' AND (v_until IS NOT NULL OR v_walked > 1000) THEN
        SELECT set_config(
            'chokaq.walked_to',
            concat_ws(
                ' ', h.priority, to_json(h.due_at_utc) #>> '{}', h.arrival,
                to_json(COALESCE(v_until, v_now + v_walked * interval '5 microseconds')) #>> '{}'
            ),
            false
        )
        INTO v_mark
        FROM chokaq.jobs_hot AS h
        WHERE h.id = v_ids[1];
    END IF;

    RETURN v_ids;
END;
$$;

REVOKE ALL ON FUNCTION chokaq.lock_next_jobs(integer) FROM PUBLIC;
