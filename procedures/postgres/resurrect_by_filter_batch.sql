/*
chokaq.resurrect_by_filter_batch: put one batch of the jobs that a filter leaves back into their queues, oldest first

Twin         mssql/usp_ResurrectByFilterBatch.sql
Result       one row: matched_count, resurrected_count, conflict_count (the id is in Hot as well), skipped_count (held by
             others), has_more, last_failed_at_utc, last_job_id: the key to go on from; a preview says matched_count only
Errors       QC001, QC003
Transaction  joining
Locks        jobs_dlq (what others hold is skipped), jobs_hot, counters, history
Granted to   chokaq_operator
Example      SELECT * FROM chokaq.resurrect_by_filter_batch('mail', p_resurrected_by => 'ann', p_what_if => false);
*/
CREATE OR REPLACE FUNCTION chokaq.resurrect_by_filter_batch(
    p_queue text DEFAULT NULL,
    p_type text DEFAULT NULL,
    p_failure_reason integer DEFAULT NULL,
    p_from_utc timestamptz DEFAULT NULL,
    p_to_utc timestamptz DEFAULT NULL,
    p_search text DEFAULT NULL,
    p_batch_size integer DEFAULT 1000,
    p_resurrected_by text DEFAULT NULL,
    p_what_if boolean DEFAULT true,
    p_after_failed_at_utc timestamptz DEFAULT NULL,
    p_after_job_id text DEFAULT NULL
)
RETURNS TABLE (
    matched_count integer,
    resurrected_count integer,
    conflict_count integer,
    skipped_count integer,
    has_more boolean,
    last_failed_at_utc timestamptz,
    last_job_id text
)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_match record;
    v_mine text[];
BEGIN
    PERFORM chokaq.check_filter(p_queue, p_type, p_failure_reason, p_from_utc, p_to_utc, p_search, true);

    IF p_batch_size IS NULL OR p_batch_size NOT BETWEEN 1 AND 4000 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_batch_size must be 1 to 4000.';
    ELSIF NOT chokaq.is_name(p_resurrected_by, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_resurrected_by must be 1 to 100 characters without white space at either end.';
    ELSIF p_what_if IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_what_if must be true or false.';
    ELSIF p_after_job_id IS NOT NULL AND p_after_failed_at_utc IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_after_failed_at_utc must be given with p_after_job_id.';
    ELSIF NOT chokaq.is_within(p_after_job_id, 50) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_after_job_id must be NULL or at most 50 characters.';
    END IF;

    SELECT
        m.ids[:p_batch_size] AS ids,
        m.revisions[:p_batch_size] AS revisions,
        m.failed_ats[:p_batch_size] AS failed_ats,
        COALESCE(cardinality(m.ids) > p_batch_size, false) AS has_more
    INTO v_match
    FROM chokaq.match_dlq(
        p_queue, p_type, p_failure_reason, p_from_utc, p_to_utc, p_search, p_after_failed_at_utc, p_after_job_id,
        p_batch_size + 1
    ) AS m;

    matched_count := COALESCE(cardinality(v_match.ids), 0);
    has_more := v_match.has_more;
    last_failed_at_utc := v_match.failed_ats[matched_count];
    last_job_id := v_match.ids[matched_count];
    resurrected_count := 0;
    conflict_count := 0;
    skipped_count := 0;

    IF NOT p_what_if AND matched_count > 0 THEN
        /* The revision says that the row is still what the filter saw: nobody edited it, or ran it and failed, since. */
        v_mine := ARRAY(
            SELECT d.id
            FROM unnest(v_match.ids, v_match.revisions) WITH ORDINALITY AS m (id, revision, place)
            INNER JOIN chokaq.jobs_dlq AS d ON d.id = m.id COLLATE "C" AND d.revision = m.revision
            WHERE d.id = ANY (v_match.ids)
            ORDER BY m.place
            FOR UPDATE OF d SKIP LOCKED
        );
        resurrected_count := COALESCE(cardinality(chokaq.resurrect_rows(v_mine, p_resurrected_by)), 0);
        conflict_count := cardinality(v_mine) - resurrected_count;

        SELECT count(*) - conflict_count
        INTO skipped_count
        FROM unnest(v_match.ids, v_match.revisions) AS m (id, revision)
        INNER JOIN chokaq.jobs_dlq AS d ON d.id = m.id COLLATE "C" AND d.revision = m.revision
        WHERE d.id = ANY (v_match.ids);
    END IF;

    RETURN NEXT;
END;
$$;

COMMENT ON FUNCTION
chokaq.resurrect_by_filter_batch(
    text, text, integer, timestamptz, timestamptz, text, integer, text, boolean, timestamptz, text
)
IS 'Put one batch of the jobs that a filter leaves back into their queues, oldest first';

REVOKE ALL ON FUNCTION
chokaq.resurrect_by_filter_batch(
    text, text, integer, timestamptz, timestamptz, text, integer, text, boolean, timestamptz, text
)
FROM PUBLIC;
