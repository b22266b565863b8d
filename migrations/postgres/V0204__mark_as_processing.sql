/*
chokaq.mark_as_processing: say that the worker now runs the job it fetched; this counts the attempt

Twin         mssql/usp_MarkAsProcessing.sql
Result       one row: outcome, attempt_count (the fence that every finaliser of this attempt gives back)
Outcomes     started | already_started | not_found | not_owner | not_fetched
Errors       QC001
Transaction  joining
Locks        jobs_hot
Granted to   chokaq_worker
Example      SELECT * FROM chokaq.mark_as_processing('a1', 'worker-1');
*/
CREATE OR REPLACE FUNCTION chokaq.mark_as_processing(p_job_id text, p_worker_id text)
RETURNS TABLE (outcome text, attempt_count integer)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    IF NOT chokaq.is_name(p_job_id, 50) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_job_id must be 1 to 50 characters without white space at either end.';
    ELSIF NOT chokaq.is_name(p_worker_id, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_worker_id must be 1 to 100 characters without white space at either end.';
    END IF;

    UPDATE chokaq.jobs_hot AS h
    SET
        status = 2,
        attempt_count = h.attempt_count + 1,
        started_at_utc = v_now,
        heartbeat_utc = v_now,
        last_updated_utc = v_now
    WHERE h.id = p_job_id AND h.worker_id = p_worker_id AND h.status = 1
    RETURNING 'started', h.attempt_count
    INTO outcome, attempt_count;

    IF NOT FOUND THEN
        SELECT
            CASE
                WHEN h.worker_id IS NULL THEN 'not_fetched'
                WHEN h.worker_id <> p_worker_id THEN 'not_owner'
                WHEN h.status = 2 THEN 'already_started'
                ELSE 'not_fetched'
            END,
            h.attempt_count
        INTO outcome, attempt_count
        FROM chokaq.jobs_hot AS h
        WHERE h.id = p_job_id;

        outcome := COALESCE(outcome, 'not_found');
    END IF;

    RETURN NEXT;
END;
$$;

COMMENT ON FUNCTION chokaq.mark_as_processing(text, text) IS 'Say that the worker now runs the job it fetched';

REVOKE ALL ON FUNCTION chokaq.mark_as_processing(text, text) FROM PUBLIC;
