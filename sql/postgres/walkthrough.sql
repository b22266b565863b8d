/* A mail whose payload lacks a comma: enqueued, fetched, started, and failed for good. */
SELECT * FROM chokaq.enqueue(
    'walkthrough', 'email_v1', '{"to": "user@example.com", "subject": "Welcome!" "body": "Hello"}',
    p_job_id => 'walkthrough-mail'
);
SELECT * FROM chokaq.fetch_next_batch('worker-1', 10, ARRAY['walkthrough']);
SELECT * FROM chokaq.mark_as_processing('walkthrough-mail', 'worker-1');
SELECT * FROM chokaq.fail_job('walkthrough-mail', 'worker-1', 1, 6, 'JsonException: expected a comma after "Welcome!"');

/* The operator looks, then repairs the payload and puts the job back in one step. */
SELECT job_id, failure_reason_name, error_preview FROM chokaq.list_dlq(p_queue => 'walkthrough', p_search => 'comma');
SELECT payload, error_details, revision FROM chokaq.get_dlq_job('walkthrough-mail');
SELECT * FROM chokaq.resurrect(
    'walkthrough-mail', '{"to": "user@example.com", "subject": "Welcome!", "body": "Hello"}',
    p_resurrected_by => 'ann'
);

/* It runs again, and succeeds. */
SELECT * FROM chokaq.fetch_next_batch('worker-1', 10, ARRAY['walkthrough'], p_start_now => true);
SELECT * FROM chokaq.archive_succeeded('walkthrough-mail', 'worker-1', 1, 250);
SELECT pillar, payload, resurrect_count FROM chokaq.get_job('walkthrough-mail');

/* A worker dies with a report in its hands. A timeout of 0 takes every running job: do this on an idle database only. */
SELECT * FROM chokaq.enqueue('walkthrough', 'report_v1', p_job_id => 'walkthrough-report');
SELECT * FROM chokaq.fetch_next_batch('worker-2', 10, ARRAY['walkthrough'], p_start_now => true);
CALL chokaq.archive_zombies(p_timeout_seconds => 0);
CALL chokaq.resurrect_batch(ARRAY['walkthrough-report'], 'ann');
SELECT * FROM chokaq.move_to_dlq('walkthrough-report', 4, 'not needed any more', p_moved_by => 'ann');
CALL chokaq.purge_dlq(ARRAY['walkthrough-report'], 'ann');

/* What happened, in numbers and by name. */
SELECT * FROM chokaq.get_queue_stats('walkthrough');
SELECT action, job_id, actor, error_details, old_payload
FROM chokaq.operator_history
WHERE queue = 'walkthrough'
ORDER BY history_id;
