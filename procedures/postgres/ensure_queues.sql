/*
chokaq.ensure_queues: give every queue of a list its row, with the default policy

Twin         mssql/usp_EnsureQueue.sql
Transaction  joining
Locks        queues, queue_claims, queue_totals
*/
CREATE OR REPLACE FUNCTION chokaq.ensure_queues(p_queues text[])
RETURNS void
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1
        FROM unnest(p_queues) AS n (queue)
        WHERE NOT EXISTS (SELECT 1 FROM chokaq.queue_totals AS t WHERE t.queue = n.queue COLLATE "C")
    ) THEN
        RETURN;
    END IF;

    INSERT INTO chokaq.queues (queue)
    SELECT DISTINCT n.queue COLLATE "C" AS queue
    FROM unnest(p_queues) AS n (queue)
    ORDER BY queue
    ON CONFLICT (queue) DO NOTHING;

    INSERT INTO chokaq.queue_claims (queue)
    SELECT DISTINCT n.queue COLLATE "C" AS queue
    FROM unnest(p_queues) AS n (queue)
    ORDER BY queue
    ON CONFLICT (queue) DO NOTHING;

    INSERT INTO chokaq.queue_totals (queue)
    SELECT DISTINCT n.queue COLLATE "C" AS queue
    FROM unnest(p_queues) AS n (queue)
    ORDER BY queue
    ON CONFLICT (queue) DO NOTHING;
END;
$$;

REVOKE ALL ON FUNCTION chokaq.ensure_queues(text[]) FROM PUBLIC;
