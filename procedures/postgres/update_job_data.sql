/*
chokaq.update_job_data: change payload, tags or priority of a job that no worker has fetched

Twin         mssql/usp_UpdateJobData.sql
Result       one row: outcome, revision
Outcomes     updated | not_found | not_pending | changed (it is no longer at p_expected_revision)
Errors       QC001, QC004
Transaction  joining
Locks        jobs_hot, history
Granted to   chokaq_operator
Example      SELECT * FROM chokaq.update_job_data('a1', p_priority => 30, p_modified_by => 'ann');
*/
CREATE OR REPLACE FUNCTION chokaq.update_job_data(
    p_job_id text,
    p_payload text DEFAULT NULL,
    p_tags text DEFAULT NULL,
    p_modified_by text DEFAULT NULL,
    p_clear_payload boolean DEFAULT false,
    p_clear_tags boolean DEFAULT false,
    p_allow_invalid_json boolean DEFAULT false,
    p_expected_revision bigint DEFAULT NULL,
    p_priority integer DEFAULT NULL
)
RETURNS TABLE (outcome text, revision bigint)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_job record;
    v_payload text;
    v_priority integer;
    v_tags text;
BEGIN
    PERFORM chokaq.check_edit(
        p_job_id, p_payload, p_tags, p_modified_by, p_clear_payload, p_clear_tags, p_allow_invalid_json,
        p_priority IS NOT NULL
    );

    SELECT h.queue, h.type, h.payload, h.tags, h.priority, h.status, h.revision
    INTO v_job
    FROM chokaq.jobs_hot AS h
    WHERE h.id = p_job_id
    FOR NO KEY UPDATE;

    IF NOT FOUND THEN
        outcome := 'not_found';
    ELSIF v_job.status <> 0 THEN
        outcome := 'not_pending';
        revision := v_job.revision;
    ELSIF v_job.revision <> p_expected_revision THEN
        outcome := 'changed';
        revision := v_job.revision;
    ELSE
        outcome := 'updated';
        revision := nextval('chokaq.job_numbers');
        v_payload := CASE WHEN NOT p_clear_payload THEN COALESCE(p_payload, v_job.payload) END;
        v_priority := COALESCE(p_priority, v_job.priority);
        v_tags := CASE WHEN NOT p_clear_tags THEN COALESCE(p_tags, v_job.tags) END;

        UPDATE chokaq.jobs_hot AS h
        SET
            payload = v_payload,
            tags = v_tags,
            priority = v_priority,
            revision = update_job_data.revision,
            last_updated_utc = clock_timestamp(),
            last_modified_by = p_modified_by
        WHERE h.id = p_job_id;

        INSERT INTO chokaq.operator_history (action, job_id, queue, type, actor, old_payload, old_tags, old_priority)
        VALUES (
            'edited', p_job_id, v_job.queue, v_job.type, p_modified_by,
            CASE WHEN v_payload IS DISTINCT FROM v_job.payload THEN v_job.payload END,
            CASE WHEN v_tags IS DISTINCT FROM v_job.tags THEN v_job.tags END,
            CASE WHEN v_priority <> v_job.priority THEN v_job.priority END
        );
    END IF;

    RETURN NEXT;
END;
$$;

COMMENT ON FUNCTION
chokaq.update_job_data(text, text, text, text, boolean, boolean, boolean, bigint, integer)
IS 'Change payload, tags or priority of a job that no worker has fetched';

REVOKE ALL ON FUNCTION
chokaq.update_job_data(text, text, text, text, boolean, boolean, boolean, bigint, integer)
FROM PUBLIC;
