/*
chokaq.purge_archive_batch: delete one batch of jobs that finished strictly before an instant from the Archive

Twin         mssql/usp_PurgeArchiveBatch.sql
Result       one row: deleted_count, skipped_count (held by others), has_more, last_finished_at_utc, last_job_id:
             the key to go on from, so that no batch walks over the rows that the one before deleted
Errors       QC001
Transaction  joining
Locks        jobs_archive (what others hold is skipped, but for what they take in that very moment), history
Granted to   chokaq_admin
Example      SELECT * FROM chokaq.purge_archive_batch(clock_timestamp() - interval '90 days');
*/
CREATE OR REPLACE FUNCTION chokaq.purge_archive_batch(
    p_older_than_utc timestamptz,
    p_cleanup_batch_size integer DEFAULT 1000,
    p_purged_by text DEFAULT NULL,
    p_after_finished_at_utc timestamptz DEFAULT NULL,
    p_after_job_id text DEFAULT NULL
)
RETURNS TABLE (
    deleted_count integer,
    skipped_count integer,
    has_more boolean,
    last_finished_at_utc timestamptz,
    last_job_id text
)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
/* The index is the order of the purge; a sort of all that qualifies, or a plan for each batch, is never better. */
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $$
DECLARE
    v_are_free boolean;
    v_late integer;
    v_places tid[];
BEGIN
    IF p_older_than_utc IS NULL OR NOT isfinite(p_older_than_utc) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_older_than_utc must be a finite time.';
    ELSIF p_cleanup_batch_size IS NULL OR p_cleanup_batch_size NOT BETWEEN 1 AND 4000 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_cleanup_batch_size must be 1 to 4000.';
    ELSIF p_purged_by IS NOT NULL AND NOT chokaq.is_name(p_purged_by, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_purged_by must be NULL or 1 to 100 characters without white space at either end.';
    ELSIF NOT chokaq.is_within(p_after_job_id, 50) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_after_job_id must be NULL or at most 50 characters.';
    END IF;

    LOOP
        SELECT array_agg(w.place), bool_and(w.is_free)
        INTO v_places, v_are_free
        FROM (
            SELECT a.ctid AS place, a.xmax = 0 AS is_free
            FROM chokaq.jobs_archive AS a
            WHERE a.finished_at_utc < p_older_than_utc
            AND (a.finished_at_utc, a.id) > (COALESCE(p_after_finished_at_utc, '-infinity'), COALESCE(p_after_job_id, ''))
            ORDER BY a.finished_at_utc, a.id
            LIMIT p_cleanup_batch_size
        ) AS w;

        EXIT WHEN v_places IS NULL;

        SELECT a.finished_at_utc, a.id
        INTO last_finished_at_utc, last_job_id
        FROM chokaq.jobs_archive AS a
        WHERE a.ctid = v_places[cardinality(v_places)];

        /* If not, a rival deleted it just now: look again. */
        EXIT WHEN FOUND;
    END LOOP;

    deleted_count := 0;
    skipped_count := 0;
    has_more := COALESCE(cardinality(v_places) = p_cleanup_batch_size, false) AND EXISTS (
        SELECT 1
        FROM chokaq.jobs_archive AS a
        WHERE a.finished_at_utc < p_older_than_utc
        AND (a.finished_at_utc, a.id) > (last_finished_at_utc, last_job_id)
        ORDER BY a.finished_at_utc, a.id
        LIMIT 1
    );

    /*
    Within one statement of the caller no place can be given to another row. And a row that nobody has touched since it
    was written needs no lock before its deletion; that spares half the work.
    */
    IF v_are_free THEN
        DELETE FROM chokaq.jobs_archive AS a
        WHERE a.ctid = ANY (v_places) AND a.finished_at_utc < p_older_than_utc;

        GET DIAGNOSTICS deleted_count = ROW_COUNT;
    END IF;

    IF deleted_count < cardinality(v_places) THEN
        DELETE FROM chokaq.jobs_archive AS a
        WHERE a.ctid = ANY (ARRAY(
            SELECT l.ctid
            FROM chokaq.jobs_archive AS l
            WHERE l.ctid = ANY (v_places) AND l.finished_at_utc < p_older_than_utc
            FOR UPDATE SKIP LOCKED
        ));

        GET DIAGNOSTICS v_late = ROW_COUNT;
        deleted_count := deleted_count + v_late;
    END IF;

    IF deleted_count < cardinality(v_places) THEN
        SELECT count(*)
        INTO skipped_count
        FROM chokaq.jobs_archive AS a
        WHERE a.ctid = ANY (v_places) AND a.finished_at_utc < p_older_than_utc;
    END IF;

    IF deleted_count > 0 THEN
        INSERT INTO chokaq.operator_history (action, actor, job_count)
        VALUES ('archive_purged', p_purged_by, deleted_count);
    END IF;

    RETURN NEXT;
END;
$$;

COMMENT ON FUNCTION chokaq.purge_archive_batch(timestamptz, integer, text, timestamptz, text)
IS 'Delete one batch of jobs that finished strictly before an instant from the Archive';

REVOKE ALL ON FUNCTION chokaq.purge_archive_batch(timestamptz, integer, text, timestamptz, text) FROM PUBLIC;
