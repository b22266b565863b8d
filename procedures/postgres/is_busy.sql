/*
chokaq.is_busy: whether workers hold jobs, so that cleaning up should leave them room

Twin         none: part of purge_archive
Transaction  joining
Locks        none
*/
CREATE OR REPLACE FUNCTION chokaq.is_busy()
RETURNS boolean
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
/* One step from the end of the index of held jobs, where the youngest are: what vacuum has left to do is at its other end. */
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $$
BEGIN
    RETURN EXISTS (
        SELECT 1
        FROM chokaq.jobs_hot AS h
        WHERE h.worker_id IS NOT NULL
        ORDER BY h.queue DESC, h.id DESC
        LIMIT 1
    );
END;
$$;

REVOKE ALL ON FUNCTION chokaq.is_busy() FROM PUBLIC;
