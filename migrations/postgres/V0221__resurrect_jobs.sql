/*
chokaq.resurrect_jobs: put up to 4000 jobs of the DLQ back into their queues as they are, in one transaction

Twin         mssql/usp_ResurrectJobs.sql
Result       one row per id, in order: job_id, outcome
Outcomes     resurrected | not_found | id_conflict (the id is in Hot as well: only the owner's own writes can do that)
Errors       QC001
Transaction  joining
Locks        jobs_dlq in key order (waits for rows that others hold), jobs_hot, counters, history
Granted to   chokaq_operator
Example      SELECT * FROM chokaq.resurrect_jobs(ARRAY['a1', 'a2'], 'ann');
*/
CREATE OR REPLACE FUNCTION chokaq.resurrect_jobs(p_job_ids text[], p_resurrected_by text)
RETURNS TABLE (job_id text, outcome text)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_back text[];
    v_found text[];
    v_ids text[];
BEGIN
    v_ids := chokaq.checked_ids(p_job_ids, 4000);

    IF NOT chokaq.is_name(p_resurrected_by, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_resurrected_by must be 1 to 100 characters without white space at either end.';
    END IF;

    v_found := ARRAY(
        SELECT d.id
        FROM chokaq.jobs_dlq AS d
        WHERE d.id = ANY (v_ids)
        ORDER BY d.id
        FOR UPDATE
    );
    /* They come back in the order that was asked for. */
    v_back := chokaq.resurrect_rows(
        ARRAY(
            SELECT i.id
            FROM unnest(v_ids) WITH ORDINALITY AS i (id, place)
            INNER JOIN unnest(v_found) AS f (id) ON f.id = i.id
            ORDER BY i.place
        ),
        p_resurrected_by
    );

    RETURN QUERY
    SELECT
        i.id,
        CASE WHEN b.id IS NOT NULL THEN 'resurrected' WHEN f.id IS NOT NULL THEN 'id_conflict' ELSE 'not_found' END
    FROM unnest(v_ids) WITH ORDINALITY AS i (id, place)
    LEFT JOIN unnest(v_back) AS b (id) ON b.id = i.id
    LEFT JOIN unnest(v_found) AS f (id) ON f.id = i.id
    ORDER BY i.place;
END;
$$;

COMMENT ON FUNCTION chokaq.resurrect_jobs(text[], text)
IS 'Put up to 4000 jobs of the DLQ back into their queues as they are, in one transaction';

REVOKE ALL ON FUNCTION chokaq.resurrect_jobs(text[], text) FROM PUBLIC;
