/*
Why are these jobs in the DLQ, and who did what? Read only, and safe to paste, whole or query by query: no row lock is
waited for, and a lock on a table for five seconds only. T1 and T3 ask a procedure: chokaq_reader is enough. The other
queries read tables, which only their owner or a superuser may. T1 to T4 read an index of the DLQ, T5 to T9 few rows;
T10 and T11, at the end, read Hot and the DLQ from end to end, so give them a quiet hour when these are big.
*/
SET lock_timeout = '5s';

/* T1: what is in the DLQ, by queue, type and reason, and how much of it failed in the last hour? */
SELECT * FROM chokaq.summarize_dlq();

/* T2: which family of reasons dominates? Zombie: look at the workers (T6). Fatal: at payloads and code (T7). */
SELECT
    r.family,
    sum(d.job_count)::bigint AS job_count,
    round(100 * sum(d.job_count) / sum(sum(d.job_count)) OVER (), 1)::double precision AS percentage,
    sum(d.failed_last_hour)::bigint AS failed_last_hour
FROM chokaq.summarize_dlq() AS d
INNER JOIN chokaq.failure_reasons AS r ON r.failure_reason = d.failure_reason
GROUP BY r.family
ORDER BY job_count DESC;

/* T3: does one type of job dominate? Then it is its handler, or what the handler calls. */
SELECT
    d.queue,
    d.type,
    sum(d.job_count)::bigint AS job_count,
    round(100 * sum(d.job_count) / sum(sum(d.job_count)) OVER (), 1)::double precision AS percentage,
    sum(d.failed_last_hour)::bigint AS failed_last_hour
FROM chokaq.summarize_dlq() AS d
GROUP BY d.queue, d.type
ORDER BY job_count DESC
LIMIT 20;

/* T4: how much lies there for more than a day, and how long? */
SELECT
    d.queue,
    count(*) AS over_a_day,
    count(*) FILTER (WHERE d.failed_at_utc < statement_timestamp() - interval '7 days') AS over_a_week,
    count(*) FILTER (WHERE d.failed_at_utc < statement_timestamp() - interval '30 days') AS over_a_month,
    min(d.failed_at_utc) AS oldest_failed_at_utc
FROM chokaq.jobs_dlq AS d
WHERE d.failed_at_utc < statement_timestamp() - interval '1 day'
GROUP BY d.queue
ORDER BY oldest_failed_at_utc;

/* T5: which jobs are the oldest? */
SELECT d.id, d.queue, d.type, r.name AS failure_reason, d.failed_at_utc, left(d.error_details, 100) AS error_preview
FROM chokaq.jobs_dlq AS d
INNER JOIN chokaq.failure_reasons AS r ON r.failure_reason = d.failure_reason
ORDER BY d.failed_at_utc, d.id
LIMIT 20;

/* T6: which workers lost the zombies of the last day (the newest 1000 of each reason)? */
SELECT
    z.worker_id,
    count(*) AS job_count,
    min(z.failed_at_utc) AS first_failed_at_utc,
    max(z.failed_at_utc) AS last_failed_at_utc
FROM chokaq.failure_reasons AS r
CROSS JOIN LATERAL (
    SELECT d.worker_id, d.failed_at_utc
    FROM chokaq.jobs_dlq AS d
    WHERE d.failure_reason = r.failure_reason AND d.failed_at_utc > statement_timestamp() - interval '1 day'
    ORDER BY d.failed_at_utc DESC, d.id DESC
    LIMIT 1000
) AS z
WHERE r.family = 'Zombie'
GROUP BY z.worker_id
ORDER BY job_count DESC
LIMIT 50;

/* T7: which errors are the fatal ones (the newest 1000 of each reason)? Another family: write its name. */
SELECT
    e.type,
    r.name AS failure_reason,
    left(e.error_details, 100) AS error_begins,
    count(*) AS job_count,
    max(e.failed_at_utc) AS last_failed_at_utc,
    max(e.id) AS for_instance
FROM chokaq.failure_reasons AS r
CROSS JOIN LATERAL (
    SELECT d.id, d.type, d.error_details, d.failed_at_utc
    FROM chokaq.jobs_dlq AS d
    WHERE d.failure_reason = r.failure_reason
    ORDER BY d.failed_at_utc DESC, d.id DESC
    LIMIT 1000
) AS e
WHERE r.family = 'Fatal'
GROUP BY e.type, r.name, left(e.error_details, 100)
ORDER BY job_count DESC
LIMIT 50;

/* T8: who did what in the last day? */
SELECT
    o.action,
    o.queue,
    o.actor,
    o.login,
    count(*) AS act_count,
    sum(o.job_count) AS job_count,
    min(o.at_utc) AS first_at_utc,
    max(o.at_utc) AS last_at_utc
FROM chokaq.operator_history AS o
WHERE o.at_utc > statement_timestamp() - interval '1 day'
GROUP BY o.action, o.queue, o.actor, o.login
ORDER BY last_at_utc DESC
LIMIT 100;

/* T9: which queues were changed, and from what to what, and what was purged by age, in the last week? */
SELECT o.at_utc, o.action, o.queue, o.actor, o.login, o.job_count, o.old_settings, o.new_settings
FROM chokaq.operator_history AS o
WHERE o.at_utc > statement_timestamp() - interval '7 days'
AND o.action IN ('queue_changed', 'archive_purged', 'history_purged')
ORDER BY o.at_utc DESC, o.history_id DESC
LIMIT 100;

/* T10: do the counters equal a recount, whatever runs meanwhile? A row: no, somebody wrote past the procedures. */
SELECT
    COALESCE(s.queue, t.queue) AS queue,
    s.failed_total,
    t.dlq_count,
    s.enqueued_total - s.succeeded_total - s.failed_total - s.purged_total AS hot_by_counters,
    t.hot_count
FROM chokaq.stats_summary AS s
FULL JOIN (
    SELECT p.queue, sum(p.hot_count)::bigint AS hot_count, sum(p.dlq_count)::bigint AS dlq_count
    FROM (
        SELECT h.queue, count(*) AS hot_count, 0 AS dlq_count FROM chokaq.jobs_hot AS h GROUP BY h.queue
        UNION ALL
        SELECT d.queue, 0, count(*) FROM chokaq.jobs_dlq AS d GROUP BY d.queue
    ) AS p
    GROUP BY p.queue
) AS t ON t.queue = s.queue
WHERE COALESCE(s.failed_total, 0) <> COALESCE(t.dlq_count, 0)
OR COALESCE(s.enqueued_total - s.succeeded_total - s.failed_total - s.purged_total, 0) <> COALESCE(t.hot_count, 0);

/* T11: which jobs are in two pillars (InvariantBroken)? A row: somebody wrote past the procedures. */
SELECT h.id, h.queue, a.id IS NOT NULL AS is_in_archive, d.id IS NOT NULL AS is_in_dlq
FROM chokaq.jobs_hot AS h
LEFT JOIN chokaq.jobs_archive AS a ON a.id = h.id
LEFT JOIN chokaq.jobs_dlq AS d ON d.id = h.id
WHERE a.id IS NOT NULL OR d.id IS NOT NULL
LIMIT 100;
