/*
chokaq.purge_dlq_by_filter: delete the jobs of the DLQ that a filter leaves for good, oldest first, batch by batch

Twin         mssql/usp_PurgeDLQByFilter.sql
Result       one row: matched_count (at most p_max_jobs), purged_count, batch_count, skipped_count (still held by others
             after three passes), has_more (p_max_jobs ended it)
Errors       QC001, QC003, 2D000
Transaction  looping: commits each batch of purge_dlq_by_filter_batch; a preview unless p_what_if is false
Locks        jobs_dlq, counters, history
Granted to   chokaq_admin
Example      CALL chokaq.purge_dlq_by_filter('mail', p_purged_by => 'ann', p_what_if => false);
*/
CREATE OR REPLACE PROCEDURE chokaq.purge_dlq_by_filter(
    p_queue text DEFAULT NULL,
    p_type text DEFAULT NULL,
    p_failure_reason integer DEFAULT NULL,
    p_from_utc timestamptz DEFAULT NULL,
    p_to_utc timestamptz DEFAULT NULL,
    p_search text DEFAULT NULL,
    p_max_jobs integer DEFAULT 1000,
    p_purged_by text DEFAULT NULL,
    p_what_if boolean DEFAULT true,
    p_cleanup_batch_size integer DEFAULT 1000,
    INOUT matched_count integer DEFAULT NULL,
    INOUT purged_count integer DEFAULT NULL,
    INOUT batch_count integer DEFAULT NULL,
    INOUT skipped_count integer DEFAULT NULL,
    INOUT has_more boolean DEFAULT NULL
)
LANGUAGE plpgsql
AS $$
DECLARE
    v_last_failed pg_catalog.timestamptz;
    v_last_job_id pg_catalog.text;
    v_left integer;
    v_matched integer;
    v_purged integer;
    v_skipped integer;
    v_to pg_catalog.timestamptz := p_to_utc;
BEGIN
    COMMIT;
    /* The caller's rights and, because it commits, no SET of its own: each transaction says where names are looked up. */
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

    IF p_max_jobs IS NULL OR p_max_jobs < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_max_jobs must be 1 or more.';
    ELSIF p_cleanup_batch_size IS NULL OR p_cleanup_batch_size NOT BETWEEN 1 AND 4000 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_cleanup_batch_size must be 1 to 4000.';
    END IF;

    /* Only what had failed when it was called: nobody has seen what comes later. An empty filter stays empty. */
    IF num_nonnulls(p_queue, p_type, p_failure_reason, p_from_utc, p_to_utc, p_search) > 0
    AND NOT p_what_if
    AND isfinite(p_to_utc) IS NOT FALSE THEN
        v_to := least(p_to_utc, clock_timestamp() + interval '1 microsecond');
    END IF;

    purged_count := 0;
    batch_count := 0;

    FOR v_pass IN 1..3 LOOP
        v_last_failed := NULL;
        v_last_job_id := NULL;
        v_left := p_max_jobs - purged_count;
        matched_count := 0;
        skipped_count := 0;

        LOOP
            SELECT
                b.matched_count, b.purged_count, b.skipped_count, b.has_more, b.last_failed_at_utc, b.last_job_id
            INTO v_matched, v_purged, v_skipped, has_more, v_last_failed, v_last_job_id
            FROM chokaq.purge_dlq_by_filter_batch(
                p_queue, p_type, p_failure_reason, p_from_utc, v_to, p_search, least(p_cleanup_batch_size, v_left),
                p_purged_by, p_what_if, v_last_failed, v_last_job_id
            ) AS b;
            COMMIT;
            PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

            v_left := v_left - v_matched;
            matched_count := matched_count + v_matched;
            purged_count := purged_count + v_purged;
            skipped_count := skipped_count + v_skipped;
            batch_count := batch_count + (v_purged > 0)::integer;

            EXIT WHEN NOT has_more OR v_left = 0;
        END LOOP;

        EXIT WHEN skipped_count = 0 OR has_more;
    END LOOP;

    IF NOT p_what_if THEN
        matched_count := purged_count + skipped_count;
    END IF;

    COMMIT;
END;
$$;

COMMENT ON PROCEDURE
chokaq.purge_dlq_by_filter(
    text, text, integer, timestamptz, timestamptz, text, integer, text, boolean, integer,
    integer, integer, integer, integer, boolean
)
IS 'Delete the jobs of the DLQ that a filter leaves for good, oldest first, batch by batch';

REVOKE ALL ON PROCEDURE
chokaq.purge_dlq_by_filter(
    text, text, integer, timestamptz, timestamptz, text, integer, text, boolean, integer,
    integer, integer, integer, integer, boolean
)
FROM PUBLIC;
