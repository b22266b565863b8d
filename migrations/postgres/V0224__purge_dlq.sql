/*
chokaq.purge_dlq: delete any number of jobs of the DLQ for good, batch by batch

Twin         mssql/usp_PurgeDLQ.sql
Result       one row: requested_count (each id once), purged_count, not_found_count, batch_count
Errors       QC001, 2D000
Transaction  looping: commits each batch of purge_dlq_jobs
Locks        jobs_dlq, counters, history
Granted to   chokaq_admin
Example      CALL chokaq.purge_dlq(ARRAY['a1', 'a2'], 'ann');
*/
CREATE OR REPLACE PROCEDURE chokaq.purge_dlq(
    p_job_ids text[],
    p_purged_by text,
    p_cleanup_batch_size integer DEFAULT 1000,
    INOUT requested_count integer DEFAULT NULL,
    INOUT purged_count integer DEFAULT NULL,
    INOUT not_found_count integer DEFAULT NULL,
    INOUT batch_count integer DEFAULT NULL
)
LANGUAGE plpgsql
AS $$
DECLARE
    v_ids pg_catalog.text[];
    v_not_found integer;
    v_purged integer;
BEGIN
    COMMIT;
    /* The caller's rights and, because it commits, no SET of its own: each transaction says where names are looked up. */
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

    IF p_cleanup_batch_size IS NULL OR p_cleanup_batch_size NOT BETWEEN 1 AND 4000 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_cleanup_batch_size must be 1 to 4000.';
    END IF;

    v_ids := chokaq.checked_ids(p_job_ids, NULL);
    requested_count := cardinality(v_ids);
    purged_count := 0;
    not_found_count := 0;
    batch_count := 0;

    IF requested_count = 0 THEN
        /* Nothing to loop over; the name is checked all the same. */
        PERFORM chokaq.purge_dlq_jobs(v_ids, p_purged_by);
    END IF;

    FOR v_from IN 1..requested_count BY p_cleanup_batch_size LOOP
        SELECT
            count(*) FILTER (WHERE r.outcome = 'purged'),
            count(*) FILTER (WHERE r.outcome = 'not_found')
        INTO v_purged, v_not_found
        FROM chokaq.purge_dlq_jobs(v_ids[v_from:v_from + p_cleanup_batch_size - 1], p_purged_by) AS r;
        COMMIT;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

        purged_count := purged_count + v_purged;
        not_found_count := not_found_count + v_not_found;
        batch_count := batch_count + 1;
    END LOOP;

    COMMIT;
END;
$$;

COMMENT ON PROCEDURE
chokaq.purge_dlq(text[], text, integer, integer, integer, integer, integer)
IS 'Delete any number of jobs of the DLQ for good, batch by batch';

REVOKE ALL ON PROCEDURE
chokaq.purge_dlq(text[], text, integer, integer, integer, integer, integer)
FROM PUBLIC;
