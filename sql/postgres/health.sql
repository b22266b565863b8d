/*
How are the queues? Read only, and safe to paste, whole or query by query: the reads are bounded and go through
indexes, no row lock is waited for, and a lock on a table for five seconds only. Where a procedure answers, it is
called: chokaq_reader is enough for that. The other queries read tables, which only their owner or a superuser may.
*/
SET lock_timeout = '5s';

/* H1: what waits in each queue, how late is it, how fast do jobs end, how much has failed? */
SELECT * FROM chokaq.get_health();

/* H2: which queues have work that is due and take none of it: paused, closed, or full? Who set that, and when? */
SELECT
    q.queue,
    CASE WHEN q.is_paused THEN 'paused' WHEN NOT q.is_active THEN 'closed' ELSE 'full' END AS why,
    due.due_at_utc AS next_due_at_utc,
    COALESCE(held.held_count, 0) AS held_count,
    q.max_workers,
    q.last_modified_by,
    q.last_updated_utc
FROM chokaq.queues AS q
CROSS JOIN LATERAL (
    SELECT min(w.due_at_utc) AS due_at_utc
    FROM (
        (
            SELECT h.due_at_utc
            FROM chokaq.jobs_hot AS h
            WHERE h.queue = q.queue AND h.worker_id IS NULL AND h.is_due
            ORDER BY h.priority DESC, h.due_at_utc, h.arrival
            LIMIT 1
        )
        UNION ALL
        (
            SELECT h.due_at_utc
            FROM chokaq.jobs_hot AS h
            WHERE h.queue = q.queue AND h.worker_id IS NULL AND NOT h.is_due AND h.due_at_utc <= statement_timestamp()
            ORDER BY h.due_at_utc
            LIMIT 1
        )
    ) AS w
) AS due
LEFT JOIN (
    SELECT h.queue, count(*) AS held_count
    FROM chokaq.jobs_hot AS h
    WHERE h.worker_id IS NOT NULL
    GROUP BY h.queue
) AS held ON held.queue = q.queue
WHERE due.due_at_utc IS NOT NULL
AND (q.is_paused OR NOT q.is_active OR COALESCE(held.held_count, 0) >= q.max_workers)
ORDER BY due.due_at_utc;

/* H3: which job of each queue has been due the longest (of the first 10,000 in claim order)? The 20 longest waits. */
SELECT
    q.queue,
    o.id,
    o.priority,
    o.due_at_utc,
    date_part('epoch', statement_timestamp() - o.due_at_utc)::bigint AS has_waited_seconds
FROM chokaq.queues AS q
CROSS JOIN LATERAL (
    SELECT w.id, w.priority, w.due_at_utc
    FROM (
        (
            SELECT h.id, h.priority, h.due_at_utc
            FROM chokaq.jobs_hot AS h
            WHERE h.queue = q.queue AND h.worker_id IS NULL AND h.is_due
            ORDER BY h.priority DESC, h.due_at_utc, h.arrival
            LIMIT 10000
        )
        UNION ALL
        (
            SELECT h.id, h.priority, h.due_at_utc
            FROM chokaq.jobs_hot AS h
            WHERE h.queue = q.queue AND h.worker_id IS NULL AND NOT h.is_due AND h.due_at_utc <= statement_timestamp()
            ORDER BY h.due_at_utc
            LIMIT 1
        )
    ) AS w
    ORDER BY w.due_at_utc
    LIMIT 1
) AS o
ORDER BY o.due_at_utc
LIMIT 20;

/* H4: which workers hold jobs, and when did each last say that it lives? */
SELECT
    h.worker_id,
    count(*) FILTER (WHERE h.status = 1) AS fetched_count,
    count(*) FILTER (WHERE h.status = 2) AS processing_count,
    max(h.heartbeat_utc) AS last_heartbeat_utc,
    date_part('epoch', statement_timestamp() - max(h.heartbeat_utc))::bigint AS silent_for_seconds
FROM chokaq.jobs_hot AS h
WHERE h.worker_id IS NOT NULL
GROUP BY h.worker_id
ORDER BY last_heartbeat_utc
LIMIT 50;

/* H5: which jobs are stuck: held, and silent for longer than the sweeps allow? Rows that stay: no sweep runs. */
SELECT
    h.id,
    h.queue,
    h.worker_id,
    CASE h.status WHEN 1 THEN 'Fetched' ELSE 'Processing' END AS status,
    h.started_at_utc,
    h.heartbeat_utc,
    date_part('epoch', statement_timestamp() - h.heartbeat_utc)::bigint AS silent_for_seconds
FROM chokaq.jobs_hot AS h
INNER JOIN chokaq.queues AS q ON q.queue = h.queue
WHERE h.worker_id IS NOT NULL
AND h.heartbeat_utc < statement_timestamp()
    - make_interval(secs => CASE h.status WHEN 1 THEN 300 ELSE COALESCE(q.zombie_timeout_seconds, 600) END)
ORDER BY h.heartbeat_utc
LIMIT 50;

/* H6: which jobs that live run the longest? */
SELECT h.id, h.queue, h.type, h.worker_id, h.attempt_count, h.started_at_utc, h.heartbeat_utc
FROM chokaq.jobs_hot AS h
WHERE h.worker_id IS NOT NULL AND h.status = 2
ORDER BY h.started_at_utc
LIMIT 20;

/* H7: is the rate into the DLQ rising, and since when? In steps of ten minutes, of the last three hours. */
SELECT
    date_bin('10 minutes', r.at_utc, '2000-01-01T00:00:00Z') AS from_utc,
    r.queue,
    sum(r.succeeded)::bigint AS succeeded,
    sum(r.retried)::bigint AS retried,
    sum(r.dead_lettered)::bigint AS dead_lettered
FROM (
    SELECT m.bucket_utc AS at_utc, m.queue, m.succeeded, m.retried, m.dead_lettered
    FROM chokaq.metric_buckets AS m
    WHERE m.bucket_utc >= statement_timestamp() - interval '3 hours'
    UNION ALL
    SELECT d.at_utc, d.queue, d.succeeded, d.retried, d.dead_lettered
    FROM chokaq.counter_deltas AS d
    WHERE d.at_utc >= statement_timestamp() - interval '3 hours'
) AS r
GROUP BY 1, r.queue
HAVING sum(r.succeeded + r.retried + r.dead_lettered) > 0
ORDER BY 1 DESC, r.queue
LIMIT 200;

/* H8: does the fold keep up? Beyond some ten thousand rows, call chokaq.fold_counters. */
SELECT count(*) AS unfolded_count, min(d.at_utc) AS oldest_at_utc FROM chokaq.counter_deltas AS d;
