/*
chokaq.release_worker: give all fetched jobs of a dead worker back to their queues, at their old places

Twin         mssql/usp_ReleaseWorker.sql
Result       one row: released_count, processing_count (what it was running: left to archive_zombies)
Errors       QC001
Transaction  joining
Locks        jobs_hot, in key order
Granted to   chokaq_worker
Example      SELECT * FROM chokaq.release_worker('worker-1');
*/
CREATE OR REPLACE FUNCTION chokaq.release_worker(p_worker_id text)
RETURNS TABLE (released_count integer, processing_count integer)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
/* By the partial index of what workers hold, whatever the statistics say of a table that fills and empties. */
SET enable_seqscan = off
AS $$
BEGIN
    IF NOT chokaq.is_name(p_worker_id, 100) THEN
        RAISE EXCEPTION USING ERRCODE = 'QC001',
            MESSAGE = 'p_worker_id must be 1 to 100 characters without white space at either end.';
    END IF;

    WITH held AS MATERIALIZED (
        SELECT h.id
        FROM chokaq.jobs_hot AS h
        WHERE h.worker_id = p_worker_id AND h.status = 1
        ORDER BY h.id
        FOR NO KEY UPDATE
    )
    UPDATE chokaq.jobs_hot AS h
    SET
        status = 0,
        worker_id = NULL,
        fetched_at_utc = NULL,
        heartbeat_utc = NULL,
        last_updated_utc = clock_timestamp()
    FROM held AS l
    WHERE h.id = l.id;

    GET DIAGNOSTICS released_count = ROW_COUNT;

    SELECT count(*)
    INTO processing_count
    FROM chokaq.jobs_hot AS h
    WHERE h.worker_id = p_worker_id AND h.status = 2;

    RETURN NEXT;
END;
$$;

COMMENT ON FUNCTION chokaq.release_worker(text)
IS 'Give all fetched jobs of a dead worker back to their queues, at their old places';

REVOKE ALL ON FUNCTION chokaq.release_worker(text) FROM PUBLIC;
