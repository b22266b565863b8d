/*
chokaq.get_job: one job, wherever it is

Twin         mssql/usp_GetJob.sql
Result       0 or 1 row: pillar (Hot, Archive or DLQ) and the columns of all three
Errors       QC001
Transaction  reading
Granted to   chokaq_reader
Example      SELECT * FROM chokaq.get_job('a1');
*/
CREATE OR REPLACE FUNCTION chokaq.get_job(p_job_id text)
RETURNS TABLE (
    pillar text,
    job_id text,
    queue text,
    type text,
    payload text,
    tags text,
    idempotency_key text,
    priority integer,
    status smallint,
    attempt_count integer,
    worker_id text,
    scheduled_at_utc timestamptz,
    due_at_utc timestamptz,
    fetched_at_utc timestamptz,
    started_at_utc timestamptz,
    heartbeat_utc timestamptz,
    finished_at_utc timestamptz,
    duration_ms double precision,
    failed_at_utc timestamptz,
    failure_reason smallint,
    error_details text,
    created_at_utc timestamptz,
    created_by text,
    last_updated_utc timestamptz,
    last_modified_by text,
    resurrect_count integer,
    revision bigint
)
LANGUAGE plpgsql
STABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT chokaq.is_name(p_job_id, 50) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_job_id must be 1 to 50 characters without white space at either end.';
    END IF;

    RETURN QUERY
    SELECT
        'Hot', h.id, h.queue, h.type, h.payload, h.tags, h.idempotency_key, h.priority, h.status, h.attempt_count,
        h.worker_id, h.scheduled_at_utc, h.due_at_utc, h.fetched_at_utc, h.started_at_utc, h.heartbeat_utc,
        NULL::timestamptz, NULL::double precision, NULL::timestamptz, NULL::smallint, h.error_details,
        h.created_at_utc, h.created_by, h.last_updated_utc, h.last_modified_by, h.resurrect_count, h.revision
    FROM chokaq.jobs_hot AS h
    WHERE h.id = p_job_id
    UNION ALL
    SELECT
        'Archive', a.id, a.queue, a.type, a.payload, a.tags, a.idempotency_key, a.priority, NULL, a.attempt_count,
        a.worker_id, a.scheduled_at_utc, NULL, NULL, a.started_at_utc, NULL,
        a.finished_at_utc, a.duration_ms, NULL, NULL, NULL,
        a.created_at_utc, a.created_by, a.finished_at_utc, a.last_modified_by, a.resurrect_count, a.revision
    FROM chokaq.jobs_archive AS a
    WHERE a.id = p_job_id
    UNION ALL
    SELECT
        'DLQ', d.id, d.queue, d.type, d.payload, d.tags, d.idempotency_key, d.priority, NULL, d.attempt_count,
        d.worker_id, d.scheduled_at_utc, NULL, NULL, d.started_at_utc, d.heartbeat_utc,
        NULL, NULL, d.failed_at_utc, d.failure_reason, d.error_details,
        d.created_at_utc, d.created_by, d.last_updated_utc, d.last_modified_by, d.resurrect_count, d.revision
    FROM chokaq.jobs_dlq AS d
    WHERE d.id = p_job_id;
END;
$$;

COMMENT ON FUNCTION chokaq.get_job(text) IS 'One job, wherever it is';

REVOKE ALL ON FUNCTION chokaq.get_job(text) FROM PUBLIC;
