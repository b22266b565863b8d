/*
chokaq.summarize_dlq: what is in the DLQ, by queue, type and failure reason

Twin         mssql/usp_SummarizeDLQ.sql
Result       a row per queue, type and failure_reason, in this order: job_count, oldest_failed_at_utc,
             newest_failed_at_utc, failed_last_hour
Errors       QC001
Transaction  reading; reads one index and no job
Granted to   chokaq_reader
Example      SELECT * FROM chokaq.summarize_dlq('mail');
*/
CREATE OR REPLACE FUNCTION chokaq.summarize_dlq(p_queue text DEFAULT NULL, p_type text DEFAULT NULL)
RETURNS TABLE (
    queue text,
    type text,
    failure_reason smallint,
    failure_reason_name text,
    job_count bigint,
    oldest_failed_at_utc timestamptz,
    newest_failed_at_utc timestamptz,
    failed_last_hour bigint
)
LANGUAGE plpgsql
STABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
/* A plan for the filters that are given; the index holds all there is to read, whatever a table not vacuumed yet suggests. */
SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    v_since timestamptz := clock_timestamp() - interval '1 hour';
BEGIN
    IF p_queue IS NOT NULL AND NOT chokaq.is_name(p_queue, 255) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_queue must be NULL or 1 to 255 characters without white space at either end.';
    ELSIF p_type IS NOT NULL AND NOT chokaq.is_name(p_type, 255) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_type must be NULL or 1 to 255 characters without white space at either end.';
    END IF;

    RETURN QUERY
    SELECT
        g.queue, g.type, g.failure_reason, r.name, g.job_count, g.oldest_failed_at_utc, g.newest_failed_at_utc,
        g.failed_last_hour
    FROM (
        SELECT
            d.queue,
            d.type,
            d.failure_reason,
            count(*) AS job_count,
            min(d.failed_at_utc) AS oldest_failed_at_utc,
            max(d.failed_at_utc) AS newest_failed_at_utc,
            count(*) FILTER (WHERE d.failed_at_utc > v_since) AS failed_last_hour
        FROM chokaq.jobs_dlq AS d
        WHERE (p_queue IS NULL OR d.queue = p_queue)
        AND (p_type IS NULL OR d.type = p_type)
        GROUP BY d.queue, d.type, d.failure_reason
    ) AS g
    LEFT JOIN chokaq.failure_reasons AS r ON r.failure_reason = g.failure_reason
    ORDER BY g.queue, g.type, g.failure_reason;
END;
$$;

COMMENT ON FUNCTION chokaq.summarize_dlq(text, text) IS 'What is in the DLQ, by queue, type and failure reason';

REVOKE ALL ON FUNCTION chokaq.summarize_dlq(text, text) FROM PUBLIC;
