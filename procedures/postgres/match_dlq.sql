/*
chokaq.match_dlq: which jobs of the DLQ a filter leaves, oldest first, from a key on

Twin         none: usp_ResurrectByFilterBatch and usp_PurgeDLQByFilterBatch hold the query, for its plan of their own
Result       arrays in order: ids, failed_ats, revisions; at most p_limit
Transaction  reading
Locks        none; whoever acts on a row demands the revision that was read here
*/
CREATE OR REPLACE FUNCTION chokaq.match_dlq(
    p_queue text,
    p_type text,
    p_failure_reason integer,
    p_from_utc timestamptz,
    p_to_utc timestamptz,
    p_search text,
    p_after_failed_at_utc timestamptz,
    p_after_job_id text,
    p_limit integer,
    OUT ids text[],
    OUT failed_ats timestamptz[],
    OUT revisions bigint[]
)
LANGUAGE plpgsql
STABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
/* A plan for the filters that are given: each has its own index, which is in the order that is asked for. */
SET plan_cache_mode = force_custom_plan
/* Else a filter that many rows pass is read from the index on the time alone, over all rows that do not pass. */
SET random_page_cost = 1
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
    SELECT array_agg(m.id), array_agg(m.failed_at_utc), array_agg(m.revision)
    INTO ids, failed_ats, revisions
    FROM (
        SELECT d.id, d.failed_at_utc, d.revision
        FROM chokaq.jobs_dlq AS d
        WHERE (p_queue IS NULL OR d.queue = p_queue)
        AND (p_type IS NULL OR d.type = p_type)
        AND (p_failure_reason IS NULL OR d.failure_reason = p_failure_reason)
        AND (p_from_utc IS NULL OR d.failed_at_utc >= p_from_utc)
        AND (p_to_utc IS NULL OR d.failed_at_utc < p_to_utc)
        AND (
            p_after_failed_at_utc IS NULL
            OR (d.failed_at_utc, d.id) > (p_after_failed_at_utc, COALESCE(p_after_job_id, ''))
        )
        AND (
            p_search IS NULL
            OR strpos(d.id, p_search) > 0
            OR strpos(d.type, p_search) > 0
            OR strpos(d.tags, p_search) > 0
            OR strpos(d.error_details, p_search) > 0
            OR strpos(d.payload, p_search) > 0
        )
        ORDER BY d.failed_at_utc, d.id
        LIMIT p_limit
    ) AS m;
END;
$$;

REVOKE ALL ON FUNCTION
chokaq.match_dlq(text, text, integer, timestamptz, timestamptz, text, timestamptz, text, integer)
FROM PUBLIC;
