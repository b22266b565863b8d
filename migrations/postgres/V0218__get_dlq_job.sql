/*
chokaq.get_dlq_job: one job of the DLQ with everything that is known about its failure

Twin         mssql/usp_GetDLQJob.sql
Result       0 or 1 row: the whole row
Errors       QC001
Transaction  reading
Granted to   chokaq_reader
Example      SELECT * FROM chokaq.get_dlq_job('a1');
*/
CREATE OR REPLACE FUNCTION chokaq.get_dlq_job(p_job_id text)
RETURNS TABLE (
    job_id text,
    queue text,
    type text,
    payload text,
    tags text,
    idempotency_key text,
    priority integer,
    attempt_count integer,
    worker_id text,
    failure_reason smallint,
    failure_reason_name text,
    error_details text,
    failed_at_utc timestamptz,
    scheduled_at_utc timestamptz,
    started_at_utc timestamptz,
    heartbeat_utc timestamptz,
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
        d.id, d.queue, d.type, d.payload, d.tags, d.idempotency_key, d.priority, d.attempt_count, d.worker_id,
        d.failure_reason, r.name, d.error_details, d.failed_at_utc, d.scheduled_at_utc, d.started_at_utc,
        d.heartbeat_utc, d.created_at_utc, d.created_by, d.last_updated_utc, d.last_modified_by, d.resurrect_count,
        d.revision
    FROM chokaq.jobs_dlq AS d
    LEFT JOIN chokaq.failure_reasons AS r ON r.failure_reason = d.failure_reason
    WHERE d.id = p_job_id;
END;
$$;

COMMENT ON FUNCTION chokaq.get_dlq_job(text)
IS 'One job of the DLQ with everything that is known about its failure';

REVOKE ALL ON FUNCTION chokaq.get_dlq_job(text) FROM PUBLIC;
