/*
chokaq.archive_cancelled_batch: move any number of jobs that have not started to the DLQ, as Cancelled, batch by batch

Twin         mssql/usp_ArchiveCancelledBatch.sql
Result       one row: requested_count (each id once), cancelled_count, already_cancelled_count, not_found_count,
             not_cancellable_count, conflict_count, batch_count
Errors       QC001, 2D000
Transaction  looping: commits each batch of cancel_jobs
Locks        jobs_hot, jobs_dlq, counters, history
Granted to   chokaq_operator
Example      CALL chokaq.archive_cancelled_batch(ARRAY['a1', 'a2'], 'ann', 'sent by hand');
*/
CREATE OR REPLACE PROCEDURE chokaq.archive_cancelled_batch(
    p_job_ids text[],
    p_cancelled_by text,
    p_reason text DEFAULT NULL,
    p_batch_size integer DEFAULT 1000,
    INOUT requested_count integer DEFAULT NULL,
    INOUT cancelled_count integer DEFAULT NULL,
    INOUT already_cancelled_count integer DEFAULT NULL,
    INOUT not_found_count integer DEFAULT NULL,
    INOUT not_cancellable_count integer DEFAULT NULL,
    INOUT conflict_count integer DEFAULT NULL,
    INOUT batch_count integer DEFAULT NULL
)
LANGUAGE plpgsql
AS $$
DECLARE
    v_batch record;
    v_ids pg_catalog.text[];
BEGIN
    COMMIT;
    /* The caller's rights and, because it commits, no SET of its own: each transaction says where names are looked up. */
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

    IF p_batch_size IS NULL OR p_batch_size NOT BETWEEN 1 AND 4000 THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001', MESSAGE = 'p_batch_size must be 1 to 4000.';
    END IF;

    v_ids := chokaq.checked_ids(p_job_ids, NULL);
    requested_count := cardinality(v_ids);
    cancelled_count := 0;
    already_cancelled_count := 0;
    not_found_count := 0;
    not_cancellable_count := 0;
    conflict_count := 0;
    batch_count := 0;

    IF requested_count = 0 THEN
        /* Nothing to loop over; the name is checked all the same. */
        PERFORM chokaq.cancel_jobs(v_ids, p_cancelled_by, p_reason);
    END IF;

    FOR v_from IN 1..requested_count BY p_batch_size LOOP
        SELECT
            count(*) FILTER (WHERE r.outcome = 'cancelled') AS cancelled,
            count(*) FILTER (WHERE r.outcome = 'already_cancelled') AS already_cancelled,
            count(*) FILTER (WHERE r.outcome = 'not_found') AS not_found,
            count(*) FILTER (WHERE r.outcome = 'not_cancellable') AS not_cancellable,
            count(*) FILTER (WHERE r.outcome = 'id_conflict') AS conflict
        INTO v_batch
        FROM chokaq.cancel_jobs(v_ids[v_from:v_from + p_batch_size - 1], p_cancelled_by, p_reason) AS r;
        COMMIT;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

        cancelled_count := cancelled_count + v_batch.cancelled;
        already_cancelled_count := already_cancelled_count + v_batch.already_cancelled;
        not_found_count := not_found_count + v_batch.not_found;
        not_cancellable_count := not_cancellable_count + v_batch.not_cancellable;
        conflict_count := conflict_count + v_batch.conflict;
        batch_count := batch_count + 1;
    END LOOP;

    COMMIT;
END;
$$;

COMMENT ON PROCEDURE
chokaq.archive_cancelled_batch(
    text[], text, text, integer, integer, integer, integer, integer, integer, integer, integer
)
IS 'Move any number of jobs that have not started to the DLQ, as Cancelled, batch by batch';

REVOKE ALL ON PROCEDURE
chokaq.archive_cancelled_batch(
    text[], text, text, integer, integer, integer, integer, integer, integer, integer, integer
)
FROM PUBLIC;
