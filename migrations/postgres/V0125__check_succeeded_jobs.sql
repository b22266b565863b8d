/*
chokaq.check_succeeded_jobs: refuse p_jobs of archive_succeeded_jobs when an element of it is not what it must be

Twin         none: part of usp_ArchiveSucceededJobs
Errors       QC001, naming the first such element, its field and what is allowed
*/
CREATE OR REPLACE FUNCTION chokaq.check_succeeded_jobs(p_jobs jsonb)
RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_job jsonb;
    v_ordinal bigint;
    v_problem text;
BEGIN
    FOR v_job, v_ordinal IN
        SELECT e.job, e.ordinal
        FROM jsonb_array_elements(p_jobs) WITH ORDINALITY AS e (job, ordinal)
        ORDER BY e.ordinal
    LOOP
        IF jsonb_typeof(v_job) <> 'object' THEN
            v_problem := 'must be an object.';
        ELSE
            SELECT CASE
                WHEN f.name = 'jobId'
                    THEN CASE WHEN jsonb_typeof(f.value) NOT IN ('string', 'null') THEN f.name || ' must be a string.' END
                WHEN f.name IN ('attempt', 'resurrectCount')
                    THEN CASE WHEN jsonb_typeof(f.value) NOT IN ('number', 'null') THEN f.name || ' must be an integer.' END
                WHEN f.name = 'durationMs'
                    THEN CASE WHEN jsonb_typeof(f.value) NOT IN ('number', 'null') THEN f.name || ' must be a number.' END
                ELSE left(f.name, 100) || ' is not a field of a succeeded job.'
            END
            INTO v_problem
            FROM jsonb_each(v_job) AS f (name, value)
            ORDER BY 1 NULLS LAST
            LIMIT 1;

            v_problem := COALESCE(
                v_problem,
                CASE
                    WHEN NOT chokaq.is_name(v_job ->> 'jobId', 50)
                        THEN 'jobId must be 1 to 50 characters without white space at either end.'
                    WHEN v_job ->> 'attempt' !~ '^[0-9]{1,10}$'
                        OR (v_job ->> 'attempt')::numeric NOT BETWEEN 1 AND 2147483647
                        THEN 'attempt must be 1 or more.'
                    WHEN v_job ->> 'resurrectCount' !~ '^[0-9]{1,10}$'
                        OR (v_job ->> 'resurrectCount')::numeric > 2147483647
                        THEN 'resurrectCount must be 0 or more.'
                END
            );
        END IF;

        IF v_problem IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = format('p_jobs element %s: %s', v_ordinal, v_problem);
        END IF;
    END LOOP;
END;
$$;

REVOKE ALL ON FUNCTION chokaq.check_succeeded_jobs(jsonb) FROM PUBLIC;
