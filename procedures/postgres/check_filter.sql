/*
chokaq.check_filter: refuse the arguments of a filter of the DLQ that are not allowed

Twin         mssql/usp_CheckFilter.sql
Errors       QC001; QC003 when p_is_required and nothing is given
Transaction  reading
*/
CREATE OR REPLACE FUNCTION chokaq.check_filter(
    p_queue text,
    p_type text,
    p_failure_reason integer,
    p_from_utc timestamptz,
    p_to_utc timestamptz,
    p_search text,
    p_is_required boolean
)
RETURNS void
LANGUAGE plpgsql
IMMUTABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_queue IS NOT NULL AND NOT chokaq.is_name(p_queue, 255) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_queue must be NULL or 1 to 255 characters without white space at either end.';
    ELSIF p_type IS NOT NULL AND NOT chokaq.is_name(p_type, 255) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_type must be NULL or 1 to 255 characters without white space at either end.';
    ELSIF p_failure_reason NOT BETWEEN 0 AND 11 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_failure_reason must be NULL or 0 to 11 (see chokaq.failure_reasons).';
    /* An endless range is none: it would let a filter through that means everything. */
    ELSIF NOT isfinite(p_from_utc) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_from_utc must be NULL or a finite time.';
    ELSIF NOT isfinite(p_to_utc) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_to_utc must be NULL or a finite time.';
    ELSIF p_search = '' OR NOT chokaq.is_within(p_search, 4000) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_search must be NULL or 1 to 4000 characters.';
    ELSIF p_is_required
        AND num_nonnulls(p_queue, p_type, p_failure_reason, p_from_utc, p_to_utc, p_search) = 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC003',
            MESSAGE = 'At least one of p_queue, p_type, p_failure_reason, p_from_utc, p_to_utc and p_search must be given.';
    END IF;
END;
$$;

REVOKE ALL ON FUNCTION
chokaq.check_filter(text, text, integer, timestamptz, timestamptz, text, boolean)
FROM PUBLIC;
