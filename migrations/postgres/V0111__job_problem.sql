/*
chokaq.job_problem: what is wrong with one element of p_jobs of enqueue_many; NULL when nothing is

Twin         none: part of usp_EnqueueMany
Result       text, naming the field and what is allowed
*/
CREATE OR REPLACE FUNCTION chokaq.job_problem(p_job jsonb)
RETURNS text
LANGUAGE plpgsql
STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_field text;
BEGIN
    IF jsonb_typeof(p_job) <> 'object' THEN
        RETURN 'must be an object.';
    END IF;

    SELECT CASE
        WHEN f.name IN ('queue', 'type', 'payload', 'jobId', 'tags', 'idempotencyKey', 'createdBy', 'scheduledAtUtc')
            THEN CASE WHEN jsonb_typeof(f.value) NOT IN ('string', 'null') THEN f.name || ' must be a string.' END
        WHEN f.name IN ('priority', 'delaySeconds')
            THEN CASE WHEN jsonb_typeof(f.value) NOT IN ('number', 'null') THEN f.name || ' must be an integer.' END
        ELSE left(f.name, 100) || ' is not a field of a job.'
    END
    INTO v_field
    FROM jsonb_each(p_job) AS f (name, value)
    ORDER BY 1 NULLS LAST
    LIMIT 1;

    IF v_field IS NOT NULL THEN
        RETURN v_field;
    ELSIF NOT chokaq.is_name(p_job ->> 'queue', 255) THEN
        RETURN 'queue must be 1 to 255 characters without white space at either end.';
    ELSIF NOT chokaq.is_name(p_job ->> 'type', 255) THEN
        RETURN 'type must be 1 to 255 characters without white space at either end.';
    ELSIF p_job ->> 'jobId' IS NOT NULL AND NOT chokaq.is_name(p_job ->> 'jobId', 50) THEN
        RETURN 'jobId must be 1 to 50 characters without white space at either end.';
    ELSIF NOT chokaq.is_within(p_job ->> 'tags', 1000) THEN
        RETURN 'tags must be at most 1000 characters.';
    ELSIF p_job ->> 'idempotencyKey' IS NOT NULL AND NOT chokaq.is_name(p_job ->> 'idempotencyKey', 255) THEN
        RETURN 'idempotencyKey must be 1 to 255 characters without white space at either end.';
    ELSIF p_job ->> 'createdBy' IS NOT NULL AND NOT chokaq.is_name(p_job ->> 'createdBy', 100) THEN
        RETURN 'createdBy must be 1 to 100 characters without white space at either end.';
    ELSIF p_job ->> 'priority' !~ '^-?[0-9]{1,10}$'
        OR (p_job ->> 'priority')::numeric NOT BETWEEN -2147483648 AND 2147483647 THEN
        RETURN 'priority must be an integer.';
    ELSIF p_job ->> 'delaySeconds' !~ '^[0-9]{1,10}$'
        OR (p_job ->> 'delaySeconds')::numeric > 2147483647 THEN
        RETURN 'delaySeconds must be 0 or more seconds.';
    ELSIF p_job ->> 'scheduledAtUtc' IS NOT NULL THEN
        IF (p_job ->> 'delaySeconds')::numeric > 0 THEN
            RETURN 'delaySeconds must be 0 when scheduledAtUtc is given.';
        ELSIF p_job ->> 'scheduledAtUtc' !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,7})?Z$' THEN
            RETURN 'scheduledAtUtc must be a time in UTC such as 2026-01-31T08:00:00Z.';
        END IF;

        BEGIN
            /* After the cast, which rounds the seventh digit of a second. */
            IF (p_job ->> 'scheduledAtUtc')::timestamptz >= '10000-01-01T00:00:00Z' THEN
                RETURN 'scheduledAtUtc must be a time of the years 1 to 9999.';
            END IF;
        EXCEPTION WHEN data_exception THEN
            RETURN 'scheduledAtUtc must be a time in UTC such as 2026-01-31T08:00:00Z.';
        END;
    END IF;

    RETURN NULL;
END;
$$;

REVOKE ALL ON FUNCTION chokaq.job_problem(jsonb) FROM PUBLIC;
