/*
chokaq.purge_dlq_jobs: delete up to 4000 jobs of the DLQ for good, in one transaction

Twin         mssql/usp_PurgeDLQJobs.sql
Result       one row per id, in order: job_id, outcome
Outcomes     purged | not_found
Errors       QC001
Transaction  joining
Locks        jobs_dlq in key order (waits for rows that others hold), counters, history
Granted to   chokaq_admin
Example      SELECT * FROM chokaq.purge_dlq_jobs(ARRAY['a1', 'a2'], 'ann');
*/
CREATE OR REPLACE FUNCTION chokaq.purge_dlq_jobs(p_job_ids text[], p_purged_by text)
RETURNS TABLE (job_id text, outcome text)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_found text[];
    v_ids text[];
BEGIN
    v_ids := chokaq.checked_ids(p_job_ids, 4000);

    IF NOT chokaq.is_name(p_purged_by, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_purged_by must be 1 to 100 characters without white space at either end.';
    END IF;

    v_found := ARRAY(
        SELECT d.id
        FROM chokaq.jobs_dlq AS d
        WHERE d.id = ANY (v_ids)
        ORDER BY d.id
        FOR UPDATE
    );

    PERFORM chokaq.purge_rows(v_found, p_purged_by);

    RETURN QUERY
    SELECT i.id, CASE WHEN f.id IS NULL THEN 'not_found' ELSE 'purged' END
    FROM unnest(v_ids) WITH ORDINALITY AS i (id, place)
    LEFT JOIN unnest(v_found) AS f (id) ON f.id = i.id
    ORDER BY i.place;
END;
$$;

COMMENT ON FUNCTION chokaq.purge_dlq_jobs(text[], text)
IS 'Delete up to 4000 jobs of the DLQ for good, in one transaction';

REVOKE ALL ON FUNCTION chokaq.purge_dlq_jobs(text[], text) FROM PUBLIC;
