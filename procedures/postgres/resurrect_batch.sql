/*
chokaq.resurrect_batch: put any number of jobs of the DLQ back into their queues as they are, batch by batch

Twin         mssql/usp_ResurrectBatch.sql
Result       one row: requested_count (each id once), resurrected_count, not_found_count, conflict_count, batch_count
Errors       QC001, 2D000
Transaction  looping: commits each batch of resurrect_jobs
Locks        jobs_dlq, jobs_hot, counters, history
Granted to   chokaq_operator
Example      CALL chokaq.resurrect_batch(ARRAY['a1', 'a2'], 'ann');
*/
CREATE OR REPLACE PROCEDURE chokaq.resurrect_batch(
    p_job_ids text[],
    p_resurrected_by text,
    p_batch_size integer DEFAULT 1000,
    INOUT requested_count integer DEFAULT NULL,
    INOUT resurrected_count integer DEFAULT NULL,
    INOUT not_found_count integer DEFAULT NULL,
    INOUT conflict_count integer DEFAULT NULL,
    INOUT batch_count integer DEFAULT NULL
)
LANGUAGE plpgsql
AS $$
DECLARE
    v_conflict integer;
    v_ids pg_catalog.text[];
    v_not_found integer;
    v_resurrected integer;
BEGIN
    COMMIT;
    /* The caller's rights and, because it commits, no SET of its own: each transaction says where names are looked up. */
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

    IF p_batch_size IS NULL OR p_batch_size NOT BETWEEN 1 AND 4000 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_batch_size must be 1 to 4000.';
    END IF;

    v_ids := chokaq.checked_ids(p_job_ids, NULL);
    requested_count := cardinality(v_ids);
    resurrected_count := 0;
    not_found_count := 0;
    conflict_count := 0;
    batch_count := 0;

    IF requested_count = 0 THEN
        /* Nothing to loop over; the name is checked all the same. */
        PERFORM chokaq.resurrect_jobs(v_ids, p_resurrected_by);
    END IF;

    FOR v_from IN 1..requested_count BY p_batch_size LOOP
        SELECT
            count(*) FILTER (WHERE r.outcome = 'resurrected'),
            count(*) FILTER (WHERE r.outcome = 'not_found'),
            count(*) FILTER (WHERE r.outcome = 'id_conflict')
        INTO v_resurrected, v_not_found, v_conflict
        FROM chokaq.resurrect_jobs(v_ids[v_from:v_from + p_batch_size - 1], p_resurrected_by) AS r;
        COMMIT;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

        resurrected_count := resurrected_count + v_resurrected;
        not_found_count := not_found_count + v_not_found;
        conflict_count := conflict_count + v_conflict;
        batch_count := batch_count + 1;
    END LOOP;

    COMMIT;
END;
$$;

COMMENT ON PROCEDURE
chokaq.resurrect_batch(text[], text, integer, integer, integer, integer, integer, integer)
IS 'Put any number of jobs of the DLQ back into their queues as they are, batch by batch';

REVOKE ALL ON PROCEDURE
chokaq.resurrect_batch(text[], text, integer, integer, integer, integer, integer, integer)
FROM PUBLIC;
