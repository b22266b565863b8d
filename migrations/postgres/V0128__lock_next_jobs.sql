/*
chokaq.lock_next_jobs: lock the next claimable jobs over all queues, whatever their number

Twin         none: part of usp_FetchNextBatch
Result       tid[]: up to p_count rows in the order of the claim; none while a queue that is closed or has a limit holds due
             jobs, because its jobs are not to be taken as they come
Transaction  joining
Locks        jobs_hot; what others hold is skipped
*/
CREATE OR REPLACE FUNCTION chokaq.lock_next_jobs(p_count integer)
RETURNS tid[]
LANGUAGE plpgsql
/* With the rights and the settings of fetch_next_batch, which alone calls it. */
AS $$
DECLARE
    v_arrival bigint;
    v_due timestamptz;
    v_mark text[];
    v_now timestamptz := clock_timestamp();
    v_priority integer;
    v_rows tid[] := '{}';
    v_until timestamptz;
    v_walked bigint;
BEGIN
    /*
    In the order of the index, which leaves no other plan, however small the table was when it was made. The statements
    that lock ask once more for the closed and the limited queues: a job of theirs may have come since.
    */
    IF EXISTS (
        SELECT 1
        FROM chokaq.queues AS q
        CROSS JOIN LATERAL (
            SELECT h.queue
            FROM chokaq.jobs_hot AS h
            WHERE h.queue = q.queue AND h.worker_id IS NULL AND h.is_due
            ORDER BY h.queue, h.priority DESC, h.due_at_utc, h.arrival
            LIMIT 1
        ) AS d
        WHERE q.is_paused OR NOT q.is_active OR q.max_workers IS NOT NULL
    ) THEN
        RETURN v_rows;
    END IF;

    v_walked := pg_stat_get_xact_tuples_returned('chokaq.ix_jobs_hot_priority_due_at_utc_arrival'::regclass);

    /*
    While an old snapshot is open somewhere, rows that were claimed stay in front of the index, and each fetch would walk
    over them. So a session that had to walk far goes on from there, for a moment that is short against the walk.
    */
    v_mark := regexp_match(
        NULLIF(current_setting('chokaq.walked_to', true), ''),
        '^(-?[0-9]{1,10}) ([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+[+-][0-9:]+) ([0-9]{1,18}) ([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+[+-][0-9:]+)$'
    );
    v_until := v_mark[4];

    IF v_now BETWEEN v_until - interval '1 minute' AND v_until THEN
        v_priority := v_mark[1];
        v_due := v_mark[2];
        v_arrival := v_mark[3];
        /*
        The index asks for arrival > 0. Said as plainly it would be taken for where to begin in place of v_arrival, and all
        that fell due at v_due be walked over again.
        */
        v_rows := ARRAY(
            SELECT h.ctid
            FROM chokaq.jobs_hot AS h
            WHERE h.worker_id IS NULL AND h.is_due AND (h.arrival > 0 OR h.arrival >= 1) AND h.queue <> ALL (ARRAY(
                SELECT q.queue FROM chokaq.queues AS q WHERE q.is_paused OR NOT q.is_active OR q.max_workers IS NOT NULL
            ))
            AND h.priority = v_priority AND (h.due_at_utc, h.arrival) >= (v_due, v_arrival)
            ORDER BY h.priority DESC, h.due_at_utc, h.arrival
            LIMIT p_count
            FOR NO KEY UPDATE SKIP LOCKED
        );
        v_rows := v_rows || ARRAY(
            SELECT h.ctid
            FROM chokaq.jobs_hot AS h
            WHERE h.worker_id IS NULL AND h.is_due AND h.arrival > 0 AND h.queue <> ALL (ARRAY(
                SELECT q.queue FROM chokaq.queues AS q WHERE q.is_paused OR NOT q.is_active OR q.max_workers IS NOT NULL
            ))
            AND h.priority < v_priority
            ORDER BY h.priority DESC, h.due_at_utc, h.arrival
            LIMIT p_count - cardinality(v_rows)
            FOR NO KEY UPDATE SKIP LOCKED
        );
    ELSE
        v_until := NULL;
        v_rows := ARRAY(
            SELECT h.ctid
            FROM chokaq.jobs_hot AS h
            WHERE h.worker_id IS NULL AND h.is_due AND h.arrival > 0 AND h.queue <> ALL (ARRAY(
                SELECT q.queue FROM chokaq.queues AS q WHERE q.is_paused OR NOT q.is_active OR q.max_workers IS NOT NULL
            ))
            ORDER BY h.priority DESC, h.due_at_utc, h.arrival
            LIMIT p_count
            FOR NO KEY UPDATE SKIP LOCKED
        );
    END IF;

    v_walked :=
        pg_stat_get_xact_tuples_returned('chokaq.ix_jobs_hot_priority_due_at_utc_arrival'::regclass) - v_walked;

    IF v_rows <> '{}' AND (v_until IS NOT NULL OR v_walked > 1000 + p_count) THEN
        PERFORM set_config(
            'chokaq.walked_to',
            concat_ws(
                ' ',
                h.priority,
                to_json(h.due_at_utc) #>> '{}',
                h.arrival,
                to_json(
                    COALESCE(v_until, v_now + least(v_walked * interval '5 microseconds', interval '1 minute'))
                ) #>> '{}'
            ),
            false
        )
        FROM chokaq.jobs_hot AS h
        WHERE h.ctid = v_rows[1];
    END IF;

    RETURN v_rows;
END;
$$;

REVOKE ALL ON FUNCTION chokaq.lock_next_jobs(integer) FROM PUBLIC;
