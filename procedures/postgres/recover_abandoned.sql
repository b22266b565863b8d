/*
chokaq.recover_abandoned: give jobs that were fetched and never started back to their queues

Twin         mssql/usp_RecoverAbandoned.sql
Result       one row: recovered_count, batch_count, skipped_count (still held by others after three passes)
Errors       QC001, 2D000
Transaction  looping: commits each batch of recover_abandoned_batch
Locks        jobs_hot
Granted to   chokaq_worker
Example      CALL chokaq.recover_abandoned(300);
*/
CREATE OR REPLACE PROCEDURE chokaq.recover_abandoned(
    p_timeout_seconds integer DEFAULT 300,
    p_batch_size integer DEFAULT 1000,
    INOUT recovered_count bigint DEFAULT NULL,
    INOUT batch_count integer DEFAULT NULL,
    INOUT skipped_count integer DEFAULT NULL
)
LANGUAGE plpgsql
AS $$
DECLARE
    v_has_more boolean;
    v_last_job_id pg_catalog.text;
    v_last_queue pg_catalog.text;
    v_skipped integer;
    v_taken integer;
BEGIN
    COMMIT;
    /* The caller's rights and, because it commits, no SET of its own: each transaction says where names are looked up. */
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

    recovered_count := 0;
    batch_count := 0;

    FOR v_pass IN 1..3 LOOP
        skipped_count := 0;
        v_last_queue := NULL;
        v_last_job_id := NULL;

        LOOP
            SELECT b.recovered_count, b.skipped_count, b.has_more, b.last_queue, b.last_job_id
            INTO v_taken, v_skipped, v_has_more, v_last_queue, v_last_job_id
            FROM chokaq.recover_abandoned_batch(p_timeout_seconds, p_batch_size, v_last_queue, v_last_job_id) AS b;
            COMMIT;
            PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

            recovered_count := recovered_count + v_taken;
            skipped_count := skipped_count + v_skipped;
            batch_count := batch_count + (v_taken > 0)::integer;
            EXIT WHEN NOT v_has_more;
        END LOOP;

        EXIT WHEN skipped_count = 0;
    END LOOP;

    COMMIT;
END;
$$;

COMMENT ON PROCEDURE chokaq.recover_abandoned(integer, integer, bigint, integer, integer)
IS 'Give jobs that were fetched and never started back to their queues';

REVOKE ALL ON PROCEDURE chokaq.recover_abandoned(integer, integer, bigint, integer, integer) FROM PUBLIC;
