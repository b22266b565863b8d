/*
chokaq.purge_history_batch: delete one batch of the operator history and of the metric buckets from before an instant

Twin         mssql/usp_PurgeHistoryBatch.sql
Result       one row: deleted_count (history), deleted_bucket_count, has_more, last_at_utc, last_history_id: the key to go
             on from, so that no batch walks over the rows that the one before deleted
Errors       QC001
Transaction  joining
Locks        metric_buckets, operator_history (what another purge holds is left to it)
Granted to   chokaq_admin
Example      SELECT * FROM chokaq.purge_history_batch(clock_timestamp() - interval '1 year');
*/
CREATE OR REPLACE FUNCTION chokaq.purge_history_batch(
    p_older_than_utc timestamptz,
    p_cleanup_batch_size integer DEFAULT 1000,
    p_purged_by text DEFAULT NULL,
    p_after_at_utc timestamptz DEFAULT NULL,
    p_after_history_id bigint DEFAULT NULL
)
RETURNS TABLE (
    deleted_count integer,
    deleted_bucket_count integer,
    has_more boolean,
    last_at_utc timestamptz,
    last_history_id bigint
)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
/* The indexes are in the order of the purge; a scan or a sort of all that qualifies is never better for one batch. */
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
    v_ats timestamptz[];
    v_ids bigint[];
    /* The rows that a purge writes about itself are never its own to delete. */
    v_limit timestamptz := least(p_older_than_utc, clock_timestamp());
BEGIN
    IF p_older_than_utc IS NULL OR NOT isfinite(p_older_than_utc) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_older_than_utc must be a finite time.';
    ELSIF p_cleanup_batch_size IS NULL OR p_cleanup_batch_size NOT BETWEEN 1 AND 4000 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_cleanup_batch_size must be 1 to 4000.';
    ELSIF p_purged_by IS NOT NULL AND NOT chokaq.is_name(p_purged_by, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_purged_by must be NULL or 1 to 100 characters without white space at either end.';
    END IF;

    DELETE FROM chokaq.metric_buckets AS m
    WHERE m.ctid = ANY (ARRAY(
        SELECT o.ctid
        FROM chokaq.metric_buckets AS o
        WHERE o.bucket_utc < v_limit
        ORDER BY o.bucket_utc, o.queue
        LIMIT p_cleanup_batch_size
        FOR UPDATE SKIP LOCKED
    ));

    GET DIAGNOSTICS deleted_bucket_count = ROW_COUNT;

    SELECT array_agg(w.history_id), array_agg(w.at_utc)
    INTO v_ids, v_ats
    FROM (
        SELECT o.history_id, o.at_utc
        FROM chokaq.operator_history AS o
        WHERE o.at_utc < v_limit
        AND (o.at_utc, o.history_id) > (COALESCE(p_after_at_utc, '-infinity'), COALESCE(p_after_history_id, 0))
        ORDER BY o.at_utc, o.history_id
        LIMIT p_cleanup_batch_size + 1
    ) AS w;

    has_more := COALESCE(cardinality(v_ids) > p_cleanup_batch_size, false) OR deleted_bucket_count = p_cleanup_batch_size;
    v_ids := v_ids[:p_cleanup_batch_size];
    last_at_utc := COALESCE(v_ats[cardinality(v_ids)], p_after_at_utc);
    last_history_id := COALESCE(v_ids[cardinality(v_ids)], p_after_history_id);

    DELETE FROM chokaq.operator_history AS o
    WHERE o.history_id = ANY (ARRAY(
        SELECT l.history_id
        FROM chokaq.operator_history AS l
        WHERE l.history_id = ANY (v_ids)
        FOR UPDATE SKIP LOCKED
    ));

    GET DIAGNOSTICS deleted_count = ROW_COUNT;

    IF deleted_count > 0 THEN
        INSERT INTO chokaq.operator_history (action, actor, job_count)
        VALUES ('history_purged', p_purged_by, deleted_count);
    END IF;

    RETURN NEXT;
END;
$$;

COMMENT ON FUNCTION chokaq.purge_history_batch(timestamptz, integer, text, timestamptz, bigint)
IS 'Delete one batch of the operator history and of the metric buckets from before an instant';

REVOKE ALL ON FUNCTION chokaq.purge_history_batch(timestamptz, integer, text, timestamptz, bigint) FROM PUBLIC;
