/*
chokaq.checked_ids: a set of job ids, each once, in the order of first mention

Twin         mssql/usp_CheckJobIds.sql
Result       text[] COLLATE "C"
Errors       QC001
*/
CREATE OR REPLACE FUNCTION chokaq.checked_ids(p_job_ids text[], p_max integer)
RETURNS text[]
LANGUAGE plpgsql
IMMUTABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_ids text[];
BEGIN
    IF p_job_ids IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_job_ids must be an array of job ids.';
    ELSIF EXISTS (
        SELECT 1
        FROM unnest(p_job_ids) AS i (id)
        /* The first test is quick, and right for nearly every id. */
        WHERE (octet_length(i.id) <= 50 AND i.id ~ '^[!-~]+$') IS NOT TRUE AND NOT chokaq.is_name(i.id, 50)
    ) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_job_ids must hold ids of 1 to 50 characters without white space at either end.';
    END IF;

    v_ids := ARRAY(
        SELECT i.id COLLATE "C"
        FROM unnest(p_job_ids) WITH ORDINALITY AS i (id, place)
        GROUP BY 1
        ORDER BY min(i.place)
    );

    IF cardinality(v_ids) > p_max THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = format('p_job_ids must hold at most %s ids.', p_max);
    END IF;

    RETURN v_ids;
END;
$$;

REVOKE ALL ON FUNCTION chokaq.checked_ids(text[], integer) FROM PUBLIC;
