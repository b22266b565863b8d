/*
chokaq.check_edit: refuse the arguments of an edit that are not allowed

Twin         mssql/usp_CheckEdit.sql
Errors       QC001, QC004
*/
CREATE OR REPLACE FUNCTION chokaq.check_edit(
    p_job_id text,
    p_payload text,
    p_tags text,
    p_modified_by text,
    p_clear_payload boolean,
    p_clear_tags boolean,
    p_allow_invalid_json boolean,
    p_has_more boolean
)
RETURNS void
LANGUAGE plpgsql
IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT chokaq.is_name(p_job_id, 50) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_job_id must be 1 to 50 characters without white space at either end.';
    ELSIF NOT chokaq.is_within(p_tags, 1000) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_tags must be NULL or at most 1000 characters.';
    ELSIF NOT chokaq.is_name(p_modified_by, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_modified_by must be 1 to 100 characters without white space at either end.';
    ELSIF p_clear_payload IS NULL OR p_clear_payload AND p_payload IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_clear_payload must be true or false, and false when p_payload is given.';
    ELSIF p_clear_tags IS NULL OR p_clear_tags AND p_tags IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_clear_tags must be true or false, and false when p_tags is given.';
    ELSIF p_allow_invalid_json IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_allow_invalid_json must be true or false.';
    ELSIF p_payload IS NULL AND p_tags IS NULL AND NOT p_clear_payload AND NOT p_clear_tags AND NOT p_has_more THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_payload must be given where nothing else is to change.';
    END IF;

    IF NOT p_allow_invalid_json THEN
        PERFORM chokaq.check_json(p_payload, 'p_payload');
    END IF;
END;
$$;

REVOKE ALL ON FUNCTION
chokaq.check_edit(text, text, text, text, boolean, boolean, boolean, boolean)
FROM PUBLIC;
