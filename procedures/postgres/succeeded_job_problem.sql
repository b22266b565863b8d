/*
chokaq.succeeded_job_problem: what is wrong with one element of p_jobs of archive_succeeded_jobs; NULL when nothing is

Twin         none: part of usp_ArchiveSucceededJobs
Result       text, naming the field and what is allowed
*/
CREATE OR REPLACE FUNCTION chokaq.succeeded_job_problem(p_job jsonb)
RETURNS text
LANGUAGE plpgsql
IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_field text;
BEGIN
    IF jsonb_typeof(p_job) <> 'object' THEN
        RETURN 'must be an object.';
    END IF;

    SELECT CASE
        WHEN f.name = 'jobId'
            THEN CASE WHEN jsonb_typeof(f.value) NOT IN ('string', 'null') THEN f.name || ' must be a string.' END
        WHEN f.name IN ('attempt', 'resurrectCount')
            THEN CASE WHEN jsonb_typeof(f.value) NOT IN ('number', 'null') THEN f.name || ' must be an integer.' END
        WHEN f.name = 'durationMs'
            THEN CASE WHEN jsonb_typeof(f.value) NOT IN ('number', 'null') THEN f.name || ' must be a number.' END
        ELSE f.name || ' is not a field of a succeeded job.'
    END
    INTO v_field
    FROM jsonb_each(p_job) AS f (name, value)
    ORDER BY 1 NULLS LAST
    LIMIT 1;

    IF v_field IS NOT NULL THEN
        RETURN v_field;
    ELSIF NOT chokaq.is_name(p_job ->> 'jobId', 50) THEN
        RETURN 'jobId must be 1 to 50 characters without white space at either end.';
    ELSIF p_job ->> 'attempt' !~ '^[0-9]{1,10}$'
        OR (p_job ->> 'attempt')::numeric NOT BETWEEN 1 AND 2147483647 THEN
        RETURN 'attempt must be 1 or more.';
    ELSIF p_job ->> 'resurrectCount' !~ '^[0-9]{1,10}$'
        OR (p_job ->> 'resurrectCount')::numeric > 2147483647 THEN
        RETURN 'resurrectCount must be 0 or more.';
    END IF;

    RETURN NULL;
END;
$$;

REVOKE ALL ON FUNCTION chokaq.succeeded_job_problem(jsonb) FROM PUBLIC;
