/*
chokaq.purge_archive: delete the jobs that finished strictly before an instant from the Archive, batch by batch

Twin         mssql/usp_PurgeArchive.sql
Result       one row: deleted_count, batch_count, skipped_count (still held by others after three passes), has_more
             (true when p_max_batches ended it first)
Errors       QC001, 2D000
Transaction  looping: commits each batch of purge_archive_batch, and while workers hold jobs rests after each for four times
             the time that it took
Locks        jobs_archive, history
Granted to   chokaq_admin
Example      CALL chokaq.purge_archive(clock_timestamp() - interval '90 days');
*/
CREATE OR REPLACE PROCEDURE chokaq.purge_archive(
    p_older_than_utc timestamptz,
    p_cleanup_batch_size integer DEFAULT 1000,
    p_max_batches integer DEFAULT NULL,
    p_purged_by text DEFAULT NULL,
    INOUT deleted_count bigint DEFAULT NULL,
    INOUT batch_count integer DEFAULT NULL,
    INOUT skipped_count integer DEFAULT NULL,
    INOUT has_more boolean DEFAULT NULL
)
LANGUAGE plpgsql
AS $$
DECLARE
    v_began pg_catalog.timestamptz;
    v_deleted integer;
    v_last_finished pg_catalog.timestamptz;
    v_last_job_id pg_catalog.text;
    v_skipped integer;
BEGIN
    COMMIT;
    /* The caller's rights and, because it commits, no SET of its own: each transaction says where names are looked up. */
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

    IF p_max_batches < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_max_batches must be NULL or 1 or more.';
    END IF;

    deleted_count := 0;
    batch_count := 0;

    FOR v_pass IN 1..3 LOOP
        skipped_count := 0;
        v_last_finished := NULL;
        v_last_job_id := NULL;

        LOOP
            v_began := clock_timestamp();

            SELECT b.deleted_count, b.skipped_count, b.has_more, b.last_finished_at_utc, b.last_job_id
            INTO v_deleted, v_skipped, has_more, v_last_finished, v_last_job_id
            FROM chokaq.purge_archive_batch(
                p_older_than_utc, p_cleanup_batch_size, p_purged_by, v_last_finished, v_last_job_id
            ) AS b;
            COMMIT;
            PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

            deleted_count := deleted_count + v_deleted;
            skipped_count := skipped_count + v_skipped;
            batch_count := batch_count + (v_deleted > 0)::integer;

            EXIT WHEN NOT has_more OR batch_count >= p_max_batches;

            /* The rows have waited for months; the workers should not notice that they go. */
            IF chokaq.is_busy() THEN
                PERFORM pg_sleep_for(4 * (clock_timestamp() - v_began));
                COMMIT;
                PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
            END IF;
        END LOOP;

        EXIT WHEN has_more OR skipped_count = 0 OR batch_count >= p_max_batches;
    END LOOP;

    COMMIT;
END;
$$;

COMMENT ON PROCEDURE chokaq.purge_archive(timestamptz, integer, integer, text, bigint, integer, integer, boolean)
IS 'Delete the jobs that finished strictly before an instant from the Archive, batch by batch';

REVOKE ALL ON PROCEDURE chokaq.purge_archive(timestamptz, integer, integer, text, bigint, integer, integer, boolean)
FROM PUBLIC;
