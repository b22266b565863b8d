/*
chokaq.list_dlq: the jobs of the DLQ that a filter leaves, newest first, page by page

Twin         mssql/usp_ListDLQ.sql
Result       a row per job: all but payload and error_details in full; payload_preview and error_preview (200 characters),
             payload_length (UTF-16 code units)
Errors       QC001
Transaction  reading
Granted to   chokaq_reader
Example      SELECT * FROM chokaq.list_dlq(p_queue => 'mail', p_search => 'subject');
*/
CREATE OR REPLACE FUNCTION chokaq.list_dlq(
    p_queue text DEFAULT NULL,
    p_type text DEFAULT NULL,
    p_failure_reason integer DEFAULT NULL,
    p_from_utc timestamptz DEFAULT NULL,
    p_to_utc timestamptz DEFAULT NULL,
    p_search text DEFAULT NULL,
    p_limit integer DEFAULT 100,
    p_before_failed_at_utc timestamptz DEFAULT NULL,
    p_before_job_id text DEFAULT NULL
)
RETURNS TABLE (
    job_id text,
    queue text,
    type text,
    tags text,
    idempotency_key text,
    priority integer,
    attempt_count integer,
    worker_id text,
    failure_reason smallint,
    failure_reason_name text,
    failed_at_utc timestamptz,
    scheduled_at_utc timestamptz,
    started_at_utc timestamptz,
    heartbeat_utc timestamptz,
    created_at_utc timestamptz,
    created_by text,
    last_updated_utc timestamptz,
    last_modified_by text,
    resurrect_count integer,
    revision bigint,
    payload_preview text,
    error_preview text,
    payload_length integer
)
LANGUAGE plpgsql
STABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
/* A plan for the filters that are given: each has its own index. */
SET plan_cache_mode = force_custom_plan
/* Else a filter that many rows pass is read from the index on the time alone, over all rows that do not pass. */
SET random_page_cost = 1
AS $$
BEGIN
    PERFORM chokaq.check_filter(p_queue, p_type, p_failure_reason, p_from_utc, p_to_utc, p_search, false);

    IF p_limit IS NULL OR p_limit NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_limit must be 1 to 1000.';
    ELSIF p_before_job_id IS NOT NULL AND p_before_failed_at_utc IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_before_failed_at_utc must be given with p_before_job_id.';
    ELSIF NOT chokaq.is_within(p_before_job_id, 50) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_before_job_id must be NULL or at most 50 characters.';
    END IF;

    RETURN QUERY
    SELECT
        d.id, d.queue, d.type, d.tags, d.idempotency_key, d.priority, d.attempt_count, d.worker_id, d.failure_reason,
        r.name, d.failed_at_utc, d.scheduled_at_utc, d.started_at_utc, d.heartbeat_utc, d.created_at_utc,
        d.created_by, d.last_updated_utc, d.last_modified_by, d.resurrect_count, d.revision,
        left(d.payload, 200), left(d.error_details, 200), chokaq.utf16_length(d.payload)
    FROM chokaq.jobs_dlq AS d
    LEFT JOIN chokaq.failure_reasons AS r ON r.failure_reason = d.failure_reason
    WHERE (p_queue IS NULL OR d.queue = p_queue)
    AND (p_type IS NULL OR d.type = p_type)
    AND (p_failure_reason IS NULL OR d.failure_reason = p_failure_reason)
    AND (p_from_utc IS NULL OR d.failed_at_utc >= p_from_utc)
    AND (p_to_utc IS NULL OR d.failed_at_utc < p_to_utc)
    AND (
        p_before_failed_at_utc IS NULL
        OR (d.failed_at_utc, d.id) < (p_before_failed_at_utc, COALESCE(p_before_job_id, ''))
    )
    AND (
        p_search IS NULL
        OR strpos(d.id, p_search) > 0
        OR strpos(d.type, p_search) > 0
        OR strpos(d.tags, p_search) > 0
        OR strpos(d.error_details, p_search) > 0
        OR strpos(d.payload, p_search) > 0
    )
    ORDER BY d.failed_at_utc DESC, d.id DESC
    LIMIT p_limit;
END;
$$;

COMMENT ON FUNCTION
chokaq.list_dlq(text, text, integer, timestamptz, timestamptz, text, integer, timestamptz, text)
IS 'The jobs of the DLQ that a filter leaves, newest first, page by page';

REVOKE ALL ON FUNCTION
chokaq.list_dlq(text, text, integer, timestamptz, timestamptz, text, integer, timestamptz, text)
FROM PUBLIC;
