/* PurgedTotal counts jobs purged from the DLQ; a purge of the Archive leaves every total as it was. */
CREATE VIEW chokaq.stats_summary AS
SELECT
    s.queue,
    sum(s.succeeded)::bigint AS succeeded_total,
    (sum(s.dead_lettered) - sum(s.resurrected) - sum(s.purged))::bigint AS failed_total,
    sum(s.retried)::bigint AS retried_total,
    max(s.last_activity_utc) AS last_activity_utc,
    sum(s.enqueued)::bigint AS enqueued_total,
    sum(s.dead_lettered)::bigint AS dead_lettered_total,
    sum(s.resurrected)::bigint AS resurrected_total,
    sum(s.purged)::bigint AS purged_total
FROM (
    SELECT
        t.queue, t.enqueued, t.succeeded, t.retried, t.dead_lettered, t.resurrected, t.purged, t.last_activity_utc
    FROM chokaq.queue_totals AS t
    UNION ALL
    SELECT
        d.queue, d.enqueued, d.succeeded, d.retried, d.dead_lettered, d.resurrected, d.purged, d.at_utc
    FROM chokaq.counter_deltas AS d
) AS s
GROUP BY s.queue;
