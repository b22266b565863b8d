/*
chokaq.archive_zombies: move running jobs whose heartbeat ran out to the DLQ, as Zombie

Twin         mssql/usp_ArchiveZombies.sql
Result       one row: moved_count, batch_count, skipped_count (not taken in three passes: held by others, or an id
             that is in the DLQ or the Archive already)
Errors       QC001, 2D000
Transaction  looping: commits each batch of archive_zombies_batch
Locks        jobs_hot, jobs_dlq, counters
Granted to   chokaq_worker
Example      CALL chokaq.archive_zombies();
*/
CREATE OR REPLACE PROCEDURE chokaq.archive_zombies(
    p_timeout_seconds integer DEFAULT NULL,
    p_batch_size integer DEFAULT 1000,
    INOUT moved_count bigint DEFAULT NULL,
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

    moved_count := 0;
    batch_count := 0;

    FOR v_pass IN 1..3 LOOP
        skipped_count := 0;
        v_last_queue := NULL;
        v_last_job_id := NULL;

        LOOP
            SELECT b.moved_count, b.skipped_count, b.has_more, b.last_queue, b.last_job_id
            INTO v_taken, v_skipped, v_has_more, v_last_queue, v_last_job_id
            FROM chokaq.archive_zombies_batch(p_timeout_seconds, p_batch_size, v_last_queue, v_last_job_id) AS b;
            COMMIT;
            PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

            moved_count := moved_count + v_taken;
            skipped_count := skipped_count + v_skipped;
            batch_count := batch_count + (v_taken > 0)::integer;
            EXIT WHEN NOT v_has_more;
        END LOOP;

        EXIT WHEN skipped_count = 0;
    END LOOP;

    COMMIT;
END;
$$;

COMMENT ON PROCEDURE chokaq.archive_zombies(integer, integer, bigint, integer, integer)
IS 'Move running jobs whose heartbeat ran out to the DLQ, as Zombie';

REVOKE ALL ON PROCEDURE chokaq.archive_zombies(integer, integer, bigint, integer, integer) FROM PUBLIC;
