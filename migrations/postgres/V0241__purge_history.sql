/*
chokaq.purge_history: delete the operator history and the metric buckets from before an instant, batch by batch

Twin         mssql/usp_PurgeHistory.sql
Result       one row: deleted_count (history), deleted_bucket_count, batch_count
Errors       QC001, 2D000
Transaction  looping: commits each batch of purge_history_batch
Locks        metric_buckets, operator_history
Granted to   chokaq_admin
Example      CALL chokaq.purge_history(clock_timestamp() - interval '1 year');
*/
CREATE OR REPLACE PROCEDURE chokaq.purge_history(
    p_older_than_utc timestamptz,
    p_cleanup_batch_size integer DEFAULT 1000,
    p_purged_by text DEFAULT NULL,
    INOUT deleted_count bigint DEFAULT NULL,
    INOUT deleted_bucket_count bigint DEFAULT NULL,
    INOUT batch_count integer DEFAULT NULL
)
LANGUAGE plpgsql
AS $$
DECLARE
    v_buckets integer;
    v_deleted integer;
    v_has_more boolean;
    v_last_at pg_catalog.timestamptz;
    v_last_history_id bigint;
    v_limit pg_catalog.timestamptz := p_older_than_utc;
BEGIN
    COMMIT;
    /* The caller's rights and, because it commits, no SET of its own: each transaction says where names are looked up. */
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

    /* Fixed here: the rows that each batch writes about itself come after it. */
    IF isfinite(p_older_than_utc) THEN
        v_limit := least(p_older_than_utc, clock_timestamp());
    END IF;

    deleted_count := 0;
    deleted_bucket_count := 0;
    batch_count := 0;

    LOOP
        SELECT b.deleted_count, b.deleted_bucket_count, b.has_more, b.last_at_utc, b.last_history_id
        INTO v_deleted, v_buckets, v_has_more, v_last_at, v_last_history_id
        FROM chokaq.purge_history_batch(
            v_limit, p_cleanup_batch_size, p_purged_by, v_last_at, v_last_history_id
        ) AS b;
        COMMIT;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

        deleted_count := deleted_count + v_deleted;
        deleted_bucket_count := deleted_bucket_count + v_buckets;
        batch_count := batch_count + (v_deleted + v_buckets > 0)::integer;

        EXIT WHEN NOT v_has_more;
    END LOOP;

    COMMIT;
END;
$$;

COMMENT ON PROCEDURE chokaq.purge_history(timestamptz, integer, text, bigint, bigint, integer)
IS 'Delete the operator history and the metric buckets from before an instant, batch by batch';

REVOKE ALL ON PROCEDURE chokaq.purge_history(timestamptz, integer, text, bigint, bigint, integer) FROM PUBLIC;
