/* A mail whose payload lacks a comma: enqueued, fetched, started, and failed for good. */
EXECUTE chokaq.usp_Enqueue
    @Queue = N'walkthrough',
    @Type = N'email_v1',
    @Payload = N'{"to": "user@example.com", "subject": "Welcome!" "body": "Hello"}',
    @JobId = N'walkthrough-mail';
EXECUTE chokaq.usp_FetchNextBatch @WorkerId = N'worker-1', @BatchSize = 10, @Queues = N'["walkthrough"]';
EXECUTE chokaq.usp_MarkAsProcessing @JobId = N'walkthrough-mail', @WorkerId = N'worker-1';
EXECUTE chokaq.usp_FailJob
    @JobId = N'walkthrough-mail',
    @WorkerId = N'worker-1',
    @Attempt = 1,
    @FailureReason = 6,
    @ErrorDetails = N'JsonException: expected a comma after "Welcome!"';

/* The operator looks, then repairs the payload and puts the job back in one step. */
EXECUTE chokaq.usp_ListDLQ @Queue = N'walkthrough', @Search = N'comma';
EXECUTE chokaq.usp_GetDLQJob @JobId = N'walkthrough-mail';
EXECUTE chokaq.usp_Resurrect
    @JobId = N'walkthrough-mail',
    @NewPayload = N'{"to": "user@example.com", "subject": "Welcome!", "body": "Hello"}',
    @ResurrectedBy = N'ann';

/* It runs again, and succeeds. */
EXECUTE chokaq.usp_FetchNextBatch @WorkerId = N'worker-1', @BatchSize = 10, @Queues = N'["walkthrough"]', @StartNow = 1;
EXECUTE chokaq.usp_ArchiveSucceeded
    @JobId = N'walkthrough-mail',
    @WorkerId = N'worker-1',
    @Attempt = 1,
    @DurationMs = 250;
EXECUTE chokaq.usp_GetJob @JobId = N'walkthrough-mail';

/* A worker dies with a report in its hands. A timeout of 0 takes every running job: do this on an idle database only. */
EXECUTE chokaq.usp_Enqueue @Queue = N'walkthrough', @Type = N'report_v1', @JobId = N'walkthrough-report';
EXECUTE chokaq.usp_FetchNextBatch @WorkerId = N'worker-2', @BatchSize = 10, @Queues = N'["walkthrough"]', @StartNow = 1;
EXECUTE chokaq.usp_ArchiveZombies @TimeoutSeconds = 0;
EXECUTE chokaq.usp_ResurrectBatch @JobIds = N'["walkthrough-report"]', @ResurrectedBy = N'ann';
EXECUTE chokaq.usp_MoveToDLQ
    @JobId = N'walkthrough-report',
    @FailureReason = 4,
    @ErrorDetails = N'not needed any more',
    @MovedBy = N'ann';
EXECUTE chokaq.usp_PurgeDLQ @JobIds = N'["walkthrough-report"]', @PurgedBy = N'ann';

/* What happened, in numbers and by name. */
EXECUTE chokaq.usp_GetQueueStats @Queue = N'walkthrough';

SELECT h.Action, h.JobId, h.Actor, h.ErrorDetails, h.OldPayload
FROM chokaq.OperatorHistory AS h
WHERE h.Queue = N'walkthrough'
ORDER BY h.HistoryId;
