/*
chokaq.release_job: give a fetched job back to its queue, at its old place

Twin         mssql/usp_ReleaseJob.sql
Result       one row: outcome, job_id
Outcomes     released | not_found | not_owner | not_fetched
Errors       QC001
Transaction  joining
Locks        jobs_hot
Granted to   chokaq_worker
Example      SELECT * FROM chokaq.release_job('a1', 'worker-1');
*/
CREATE OR REPLACE FUNCTION chokaq.release_job(p_job_id text, p_worker_id text)
RETURNS TABLE (outcome text, job_id text)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
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
        status = 0,
        worker_id = NULL,
        fetched_at_utc = NULL,
        heartbeat_utc = NULL,
        last_updated_utc = clock_timestamp()
    WHERE h.id = p_job_id AND h.worker_id = p_worker_id AND h.status = 1;

    IF FOUND THEN
        outcome := 'released';
    ELSE
        SELECT CASE WHEN h.worker_id <> p_worker_id THEN 'not_owner' ELSE 'not_fetched' END
        INTO outcome
        FROM chokaq.jobs_hot AS h
        WHERE h.id = p_job_id;

        outcome := COALESCE(outcome, 'not_found');
    END IF;

    job_id := p_job_id;
    RETURN NEXT;
END;
$$;

COMMENT ON FUNCTION chokaq.release_job(text, text) IS 'Give a fetched job back to its queue, at its old place';

REVOKE ALL ON FUNCTION chokaq.release_job(text, text) FROM PUBLIC;
