/*
chokaq.update_dlq_job_data: change payload or tags of a job in the DLQ, where it stays

Twin         mssql/usp_UpdateDLQJobData.sql
Result       one row: outcome, revision
Outcomes     updated | not_found | changed (it is no longer at p_expected_revision)
Errors       QC001, QC004
Transaction  joining
Locks        jobs_dlq, history
Granted to   chokaq_operator
Example      SELECT * FROM chokaq.update_dlq_job_data('a1', '{"to": "ann@example.com"}', p_modified_by => 'ann');
*/
CREATE OR REPLACE FUNCTION chokaq.update_dlq_job_data(
    p_job_id text,
    p_payload text DEFAULT NULL,
    p_tags text DEFAULT NULL,
    p_modified_by text DEFAULT NULL,
    p_clear_payload boolean DEFAULT false,
    p_clear_tags boolean DEFAULT false,
    p_allow_invalid_json boolean DEFAULT false,
    p_expected_revision bigint DEFAULT NULL
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
    v_tags text;
BEGIN
    PERFORM chokaq.check_edit(
        p_job_id, p_payload, p_tags, p_modified_by, p_clear_payload, p_clear_tags, p_allow_invalid_json,
        false
    );

    SELECT
        d.queue, d.type, d.payload, d.tags, d.revision, d.failure_reason, d.error_details, d.attempt_count,
        d.failed_at_utc
    INTO v_job
    FROM chokaq.jobs_dlq AS d
    WHERE d.id = p_job_id
    FOR NO KEY UPDATE;

    IF NOT FOUND THEN
        outcome := 'not_found';
    ELSIF v_job.revision <> p_expected_revision THEN
        outcome := 'changed';
        revision := v_job.revision;
    ELSE
        outcome := 'updated';
        revision := nextval('chokaq.job_numbers');
        v_payload := CASE WHEN NOT p_clear_payload THEN COALESCE(p_payload, v_job.payload) END;
        v_tags := CASE WHEN NOT p_clear_tags THEN COALESCE(p_tags, v_job.tags) END;

        UPDATE chokaq.jobs_dlq AS d
        SET
            payload = v_payload,
            tags = v_tags,
            revision = update_dlq_job_data.revision,
            last_updated_utc = clock_timestamp(),
            last_modified_by = p_modified_by
        WHERE d.id = p_job_id;

        INSERT INTO chokaq.operator_history (
            action, job_id, queue, type, actor, failure_reason, error_details, attempt_count, failed_at_utc,
            old_payload, old_tags
        )
        VALUES (
            'edited', p_job_id, v_job.queue, v_job.type, p_modified_by,
            v_job.failure_reason, v_job.error_details, v_job.attempt_count, v_job.failed_at_utc,
            CASE WHEN v_payload IS DISTINCT FROM v_job.payload THEN v_job.payload END,
            CASE WHEN v_tags IS DISTINCT FROM v_job.tags THEN v_job.tags END
        );
    END IF;

    RETURN NEXT;
END;
$$;

COMMENT ON FUNCTION
chokaq.update_dlq_job_data(text, text, text, text, boolean, boolean, boolean, bigint)
IS 'Change payload or tags of a job in the DLQ, where it stays';

REVOKE ALL ON FUNCTION
chokaq.update_dlq_job_data(text, text, text, text, boolean, boolean, boolean, bigint)
FROM PUBLIC;
