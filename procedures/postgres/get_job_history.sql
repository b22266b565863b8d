/*
chokaq.get_job_history: what operators did to a job, oldest first

Twin         mssql/usp_GetJobHistory.sql
Result       a row per act: who, when, what the DLQ knew, and the old values of what was changed or dropped
Errors       QC001
Transaction  reading
Granted to   chokaq_reader
Example      SELECT * FROM chokaq.get_job_history('a1');
*/
CREATE OR REPLACE FUNCTION chokaq.get_job_history(p_job_id text)
RETURNS TABLE (
    history_id bigint,
    at_utc timestamptz,
    action text,
    job_id text,
    queue text,
    type text,
    actor text,
    login text,
    batch_id text,
    failure_reason smallint,
    failure_reason_name text,
    error_details text,
    attempt_count integer,
    failed_at_utc timestamptz,
    old_payload text,
    old_tags text,
    old_priority integer,
    old_idempotency_key text
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
        o.history_id, o.at_utc, o.action, o.job_id, o.queue, o.type, o.actor, o.login, o.batch_id::text,
        o.failure_reason, r.name, o.error_details, o.attempt_count, o.failed_at_utc, o.old_payload, o.old_tags,
        o.old_priority, o.old_idempotency_key
    FROM chokaq.operator_history AS o
    LEFT JOIN chokaq.failure_reasons AS r ON r.failure_reason = o.failure_reason
    WHERE o.job_id = p_job_id
    ORDER BY o.history_id;
END;
$$;

COMMENT ON FUNCTION chokaq.get_job_history(text) IS 'What operators did to a job, oldest first';

REVOKE ALL ON FUNCTION chokaq.get_job_history(text) FROM PUBLIC;
