/*
chokaq.has_ended: true when a job of this id is in the Archive or the DLQ

Twin         none: two EXISTS in T-SQL
Result       boolean
Transaction  joining
Locks        none under READ COMMITTED; above it one row that never was, in each of the two tables
*/
CREATE OR REPLACE FUNCTION chokaq.has_ended(p_job_id text)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        /*
        A snapshot taken before the job ended does not show the row. A unique index does: an insert that
        meets a row its snapshot cannot see is a serialization failure, which the caller may retry.
        */
        INSERT INTO chokaq.jobs_archive (
            id, queue, type, priority, attempt_count, finished_at_utc, created_at_utc, resurrect_count, revision
        )
        VALUES (p_job_id, '', '', 0, 0, clock_timestamp(), clock_timestamp(), 0, 0)
        ON CONFLICT DO NOTHING;

        IF NOT FOUND THEN
            RETURN true;
        END IF;

        DELETE FROM chokaq.jobs_archive AS a WHERE a.id = p_job_id;

        INSERT INTO chokaq.jobs_dlq (
            id, queue, type, priority, attempt_count, failure_reason, failed_at_utc, created_at_utc,
            last_updated_utc, resurrect_count, revision
        )
        VALUES (
            p_job_id, '', '', 0, 0, 11, clock_timestamp(), clock_timestamp(), clock_timestamp(), 0, 0
        )
        ON CONFLICT DO NOTHING;

        IF NOT FOUND THEN
            RETURN true;
        END IF;

        DELETE FROM chokaq.jobs_dlq AS d WHERE d.id = p_job_id;
        RETURN false;
    END IF;

    RETURN EXISTS (SELECT 1 FROM chokaq.jobs_archive AS a WHERE a.id = p_job_id)
        OR EXISTS (SELECT 1 FROM chokaq.jobs_dlq AS d WHERE d.id = p_job_id);
END;
$$;

REVOKE ALL ON FUNCTION chokaq.has_ended(text) FROM PUBLIC;
