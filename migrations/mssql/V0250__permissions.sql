/*
Who may do what: four roles, EXECUTE object by object, no right on any table: the procedures reach those by ownership.
Run it as dbo, who owns the procedures and the tables. Safe to run again: it adds what is missing and takes nothing away.
Give them to your users by ALTER ROLE chokaq_worker ADD MEMBER [MyApplication];

chokaq_reader    reads jobs, the DLQ, the history, queues and health
chokaq_worker    enqueues, fetches, finishes and sweeps
chokaq_operator  a reader who may also edit, resurrect and cancel jobs and set queues
chokaq_admin     an operator who may also purge
*/
IF DATABASE_PRINCIPAL_ID(N'chokaq_reader') IS NULL
    CREATE ROLE chokaq_reader;

IF DATABASE_PRINCIPAL_ID(N'chokaq_worker') IS NULL
    CREATE ROLE chokaq_worker;

IF DATABASE_PRINCIPAL_ID(N'chokaq_operator') IS NULL
    CREATE ROLE chokaq_operator;

IF DATABASE_PRINCIPAL_ID(N'chokaq_admin') IS NULL
    CREATE ROLE chokaq_admin;

/* Where somebody else has made the roles, this login may not make them members of each other, and need not. */
IF COALESCE(IS_ROLEMEMBER(N'chokaq_reader', N'chokaq_operator'), 0) = 0
    ALTER ROLE chokaq_reader ADD MEMBER chokaq_operator;

IF COALESCE(IS_ROLEMEMBER(N'chokaq_operator', N'chokaq_admin'), 0) = 0
    ALTER ROLE chokaq_operator ADD MEMBER chokaq_admin;

GRANT EXECUTE ON OBJECT::chokaq.usp_ListDLQ TO chokaq_reader;
GRANT EXECUTE ON OBJECT::chokaq.usp_GetDLQJob TO chokaq_reader;
GRANT EXECUTE ON OBJECT::chokaq.usp_GetJob TO chokaq_reader;
GRANT EXECUTE ON OBJECT::chokaq.usp_GetJobHistory TO chokaq_reader;
GRANT EXECUTE ON OBJECT::chokaq.usp_SummarizeDLQ TO chokaq_reader;
GRANT EXECUTE ON OBJECT::chokaq.usp_GetQueues TO chokaq_reader;
GRANT EXECUTE ON OBJECT::chokaq.usp_GetQueueStats TO chokaq_reader;
GRANT EXECUTE ON OBJECT::chokaq.usp_GetSummaryStats TO chokaq_reader;
GRANT EXECUTE ON OBJECT::chokaq.usp_GetHealth TO chokaq_reader;
GRANT EXECUTE ON OBJECT::chokaq.usp_GetVersion TO chokaq_reader;

GRANT EXECUTE ON OBJECT::chokaq.usp_Enqueue TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.usp_EnqueueMany TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.usp_FetchNextBatch TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.usp_MarkAsProcessing TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.usp_MarkJobsAsProcessing TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.usp_KeepAlive TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.usp_ReleaseJob TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.usp_ReleaseWorker TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.usp_ArchiveSucceeded TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.usp_ArchiveSucceededJobs TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.usp_RescheduleForRetry TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.usp_MoveToDLQ TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.usp_FailJob TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.usp_RecoverAbandonedBatch TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.usp_RecoverAbandoned TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.usp_ArchiveZombiesBatch TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.usp_ArchiveZombies TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.usp_FoldCounters TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.usp_GetVersion TO chokaq_worker;

GRANT EXECUTE ON OBJECT::chokaq.usp_UpdateJobData TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.usp_UpdateDLQJobData TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.usp_Resurrect TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.usp_ResurrectJobs TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.usp_ResurrectBatch TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.usp_ResurrectByFilterBatch TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.usp_ResurrectByFilter TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.usp_CancelJobs TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.usp_ArchiveCancelledBatch TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.usp_SetQueuePaused TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.usp_SetQueueActive TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.usp_SetQueueMaxWorkers TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.usp_SetQueueZombieTimeout TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.usp_SetQueueRetryPolicy TO chokaq_operator;

GRANT EXECUTE ON OBJECT::chokaq.usp_PurgeDLQJobs TO chokaq_admin;
GRANT EXECUTE ON OBJECT::chokaq.usp_PurgeDLQ TO chokaq_admin;
GRANT EXECUTE ON OBJECT::chokaq.usp_PurgeDLQByFilterBatch TO chokaq_admin;
GRANT EXECUTE ON OBJECT::chokaq.usp_PurgeDLQByFilter TO chokaq_admin;
GRANT EXECUTE ON OBJECT::chokaq.usp_PurgeArchiveBatch TO chokaq_admin;
GRANT EXECUTE ON OBJECT::chokaq.usp_PurgeArchive TO chokaq_admin;
GRANT EXECUTE ON OBJECT::chokaq.usp_PurgeHistoryBatch TO chokaq_admin;
GRANT EXECUTE ON OBJECT::chokaq.usp_PurgeHistory TO chokaq_admin;
