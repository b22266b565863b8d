/*
chokaq.explain_miss: why a finaliser found no job under this worker and attempt

Twin         mssql/fn_ExplainMiss.sql
Result       not_found | not_owner | not_processing | stale_attempt, or already_archived (p_pillar 'Archive') and
             already_moved (p_pillar 'DLQ', which takes a job in any status), or NULL when nothing is in the way any more
Locks        none
*/
CREATE OR REPLACE FUNCTION chokaq.explain_miss(
    p_job_id text,
    p_worker_id text,
    p_attempt integer,
    p_resurrect_count integer,
    p_pillar text
)
RETURNS text
LANGUAGE plpgsql
VOLATILE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_outcome text;
BEGIN
    SELECT CASE
        WHEN h.worker_id <> p_worker_id THEN 'not_owner'
        WHEN h.status <> 2 AND p_pillar IS DISTINCT FROM 'DLQ' THEN 'not_processing'
        WHEN h.worker_id IS NULL AND p_worker_id IS NOT NULL THEN 'not_owner'
        WHEN h.attempt_count <> p_attempt OR h.resurrect_count <> p_resurrect_count THEN 'stale_attempt'
    END
    INTO v_outcome
    FROM chokaq.jobs_hot AS h
    WHERE h.id = p_job_id;

    IF FOUND THEN
        RETURN v_outcome;
    END IF;

    /* Only a repeat by the same owner is told that it was done: whoever asks under another name or attempt did not do it. */
    SELECT CASE
        WHEN p_worker_id IS NOT NULL AND e.worker_id IS DISTINCT FROM p_worker_id THEN 'not_owner'
        WHEN e.attempt_count <> p_attempt OR e.resurrect_count <> p_resurrect_count THEN 'stale_attempt'
        ELSE e.outcome
    END
    INTO v_outcome
    FROM (
        SELECT a.worker_id, a.attempt_count, a.resurrect_count, 'already_archived' AS outcome
        FROM chokaq.jobs_archive AS a
        WHERE a.id = p_job_id AND p_pillar = 'Archive'
        UNION ALL
        SELECT d.worker_id, d.attempt_count, d.resurrect_count, 'already_moved'
        FROM chokaq.jobs_dlq AS d
        WHERE d.id = p_job_id AND p_pillar = 'DLQ'
    ) AS e;

    RETURN COALESCE(v_outcome, 'not_found');
END;
$$;

REVOKE ALL ON FUNCTION chokaq.explain_miss(text, text, integer, integer, text) FROM PUBLIC;
