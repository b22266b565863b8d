/*
The three pillars, the queues, the operator history and the failure reasons.
Text is Latin1_General_BIN2: case and accents count, whatever the database's collation.
The Archive and the DLQ are targets of OUTPUT INTO: no CHECK, no foreign key, no trigger on them.
Lock escalation is off: a sweep of 4,000 rows and the workers beside it must never meet at a table lock.
One call takes one job number and owns the 10,000 from there: arrival and revision are number + ordinal.
*/
CREATE SEQUENCE chokaq.JobNumbers AS BIGINT START WITH 10000 INCREMENT BY 10000;

CREATE TABLE chokaq.FailureReasons (
    FailureReason TINYINT NOT NULL,
    Name NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL,
    Family NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL,
    CONSTRAINT PK_FailureReasons PRIMARY KEY CLUSTERED (FailureReason),
    CONSTRAINT UQ_FailureReasons_Name UNIQUE (Name)
);

INSERT INTO chokaq.FailureReasons (FailureReason, Name, Family)
VALUES
    (0, N'MaxRetriesExceeded', N'Retries exhausted'),
    (1, N'Cancelled', N'Cancelled'),
    (2, N'Zombie', N'Zombie'),
    (3, N'CircuitBreakerOpen', N'Retries exhausted'),
    (4, N'Rejected', N'Fatal'),
    (5, N'Throttled', N'Retries exhausted'),
    (6, N'FatalError', N'Fatal'),
    (7, N'Timeout', N'Retries exhausted'),
    (8, N'Transient', N'Retries exhausted'),
    (9, N'HeartbeatFailure', N'Zombie'),
    (10, N'RetryLifetimeExpired', N'Retries exhausted'),
    (11, N'Unknown', N'Unknown');

CREATE TABLE chokaq.Queues (
    Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    IsPaused BIT NOT NULL CONSTRAINT DF_Queues_IsPaused DEFAULT 0,
    IsActive BIT NOT NULL CONSTRAINT DF_Queues_IsActive DEFAULT 1,
    MaxWorkers INT NULL,
    ZombieTimeoutSeconds INT NULL,
    MaxAttempts INT NOT NULL CONSTRAINT DF_Queues_MaxAttempts DEFAULT 3,
    BaseDelaySeconds INT NOT NULL CONSTRAINT DF_Queues_BaseDelaySeconds DEFAULT 5,
    BackoffMultiplier FLOAT NOT NULL CONSTRAINT DF_Queues_BackoffMultiplier DEFAULT 2.0,
    MaxDelaySeconds INT NOT NULL CONSTRAINT DF_Queues_MaxDelaySeconds DEFAULT 3600,
    JitterSeconds INT NOT NULL CONSTRAINT DF_Queues_JitterSeconds DEFAULT 0,
    MaxJobAgeSeconds INT NULL,
    CreatedAtUtc DATETIME2(7) NOT NULL CONSTRAINT DF_Queues_CreatedAtUtc DEFAULT SYSUTCDATETIME(),
    LastUpdatedUtc DATETIME2(7) NOT NULL CONSTRAINT DF_Queues_LastUpdatedUtc DEFAULT SYSUTCDATETIME(),
    LastModifiedBy NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
    CONSTRAINT PK_Queues PRIMARY KEY CLUSTERED (Queue),
    CONSTRAINT CK_Queues_MaxWorkers CHECK (MaxWorkers >= 0),
    CONSTRAINT CK_Queues_ZombieTimeoutSeconds CHECK (ZombieTimeoutSeconds > 0),
    CONSTRAINT CK_Queues_MaxAttempts CHECK (MaxAttempts > 0),
    CONSTRAINT CK_Queues_BaseDelaySeconds CHECK (BaseDelaySeconds >= 0),
    CONSTRAINT CK_Queues_BackoffMultiplier CHECK (BackoffMultiplier BETWEEN 1 AND 1000),
    CONSTRAINT CK_Queues_MaxDelaySeconds CHECK (MaxDelaySeconds >= 0),
    CONSTRAINT CK_Queues_JitterSeconds CHECK (JitterSeconds >= 0),
    CONSTRAINT CK_Queues_MaxJobAgeSeconds CHECK (MaxJobAgeSeconds > 0)
);

/*
The lock that makes MaxWorkers exact: a claim on a queue with a limit writes its row. Apart from Queues, so that
neither a read of the policy nor a change of it waits for a worker's transaction.
*/
CREATE TABLE chokaq.QueueClaims (
    Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    LastClaimAtUtc DATETIME2(7) NULL,
    CONSTRAINT PK_QueueClaims PRIMARY KEY CLUSTERED (Queue)
);

CREATE TABLE chokaq.JobsHot (
    Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL,
    Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    Type NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    Payload NVARCHAR(MAX) COLLATE Latin1_General_BIN2 NULL,
    Tags NVARCHAR(1000) COLLATE Latin1_General_BIN2 NULL,
    IdempotencyKey NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    Priority INT NOT NULL,
    Status TINYINT NOT NULL,
    /* When it may run; IsDue is set by the first fetch after that, so that a fetch never walks over later jobs. */
    DueAtUtc DATETIME2(7) NOT NULL,
    IsDue BIT NOT NULL,
    /* What MaxJobAgeSeconds is measured from: the first due time since the job last entered this table. */
    FirstDueAtUtc DATETIME2(7) NOT NULL,
    Arrival BIGINT NOT NULL,
    ScheduledAtUtc DATETIME2(7) NULL,
    AttemptCount INT NOT NULL CONSTRAINT DF_JobsHot_AttemptCount DEFAULT 0,
    WorkerId NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
    FetchedAtUtc DATETIME2(7) NULL,
    StartedAtUtc DATETIME2(7) NULL,
    HeartbeatUtc DATETIME2(7) NULL,
    ErrorDetails NVARCHAR(MAX) COLLATE Latin1_General_BIN2 NULL,
    CreatedAtUtc DATETIME2(7) NOT NULL,
    CreatedBy NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
    LastUpdatedUtc DATETIME2(7) NOT NULL,
    LastModifiedBy NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
    ResurrectCount INT NOT NULL CONSTRAINT DF_JobsHot_ResurrectCount DEFAULT 0,
    Revision BIGINT NOT NULL,
    CONSTRAINT PK_JobsHot PRIMARY KEY CLUSTERED (Id),
    CONSTRAINT CK_JobsHot_Status CHECK (Status IN (0, 1, 2)),
    CONSTRAINT CK_JobsHot_Status_WorkerId CHECK ((Status = 0 AND WorkerId IS NULL)
        OR (Status <> 0 AND WorkerId IS NOT NULL))
);

/*
No index reads Status, StartedAtUtc or HeartbeatUtc: a start or a heartbeat writes one row of one index.
WorkerId is included where it is always NULL: without it SQL Server looks every row up to see the filter hold.
*/
CREATE INDEX IX_JobsHot_Queue_Priority_DueAtUtc_Arrival ON chokaq.JobsHot(Queue, Priority DESC, DueAtUtc, Arrival) INCLUDE (WorkerId) WHERE WorkerId IS NULL
AND IsDue = 1;

/* The same over all queues, so that a fetch costs no more for a thousand of them. */
CREATE INDEX IX_JobsHot_Priority_DueAtUtc_Arrival ON chokaq.JobsHot(Priority DESC, DueAtUtc, Arrival) INCLUDE (WorkerId, Queue) WHERE WorkerId IS NULL
AND IsDue = 1;

CREATE INDEX IX_JobsHot_Queue_DueAtUtc ON chokaq.JobsHot(Queue, DueAtUtc) INCLUDE (WorkerId) WHERE WorkerId IS NULL
AND IsDue = 0;

/* Whether anything has become due at all, whatever the number of queues. */
CREATE INDEX IX_JobsHot_DueAtUtc ON chokaq.JobsHot(DueAtUtc) INCLUDE (WorkerId) WHERE WorkerId IS NULL AND IsDue = 0;

CREATE INDEX IX_JobsHot_Queue_Id ON chokaq.JobsHot(Queue, Id) WHERE WorkerId IS NOT NULL;

CREATE UNIQUE INDEX UQ_JobsHot_IdempotencyKey ON chokaq.JobsHot(IdempotencyKey) WHERE IdempotencyKey IS NOT NULL;

ALTER TABLE chokaq.JobsHot SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE chokaq.JobsArchive (
    Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL,
    Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    Type NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    Payload NVARCHAR(MAX) COLLATE Latin1_General_BIN2 NULL,
    Tags NVARCHAR(1000) COLLATE Latin1_General_BIN2 NULL,
    IdempotencyKey NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    Priority INT NOT NULL,
    AttemptCount INT NOT NULL,
    WorkerId NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
    ScheduledAtUtc DATETIME2(7) NULL,
    StartedAtUtc DATETIME2(7) NULL,
    FinishedAtUtc DATETIME2(7) NOT NULL,
    DurationMs FLOAT NULL,
    CreatedAtUtc DATETIME2(7) NOT NULL,
    CreatedBy NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
    LastModifiedBy NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
    ResurrectCount INT NOT NULL,
    Revision BIGINT NOT NULL,
    CONSTRAINT PK_JobsArchive PRIMARY KEY CLUSTERED (Id)
);

CREATE INDEX IX_JobsArchive_FinishedAtUtc_Id ON chokaq.JobsArchive(FinishedAtUtc, Id);

ALTER TABLE chokaq.JobsArchive SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE chokaq.JobsDLQ (
    Id NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL,
    Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    Type NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    Payload NVARCHAR(MAX) COLLATE Latin1_General_BIN2 NULL,
    Tags NVARCHAR(1000) COLLATE Latin1_General_BIN2 NULL,
    IdempotencyKey NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    Priority INT NOT NULL,
    AttemptCount INT NOT NULL,
    WorkerId NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
    FailureReason TINYINT NOT NULL,
    ErrorDetails NVARCHAR(MAX) COLLATE Latin1_General_BIN2 NULL,
    FailedAtUtc DATETIME2(7) NOT NULL,
    ScheduledAtUtc DATETIME2(7) NULL,
    StartedAtUtc DATETIME2(7) NULL,
    HeartbeatUtc DATETIME2(7) NULL,
    CreatedAtUtc DATETIME2(7) NOT NULL,
    CreatedBy NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
    LastUpdatedUtc DATETIME2(7) NOT NULL,
    LastModifiedBy NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
    ResurrectCount INT NOT NULL,
    Revision BIGINT NOT NULL,
    CONSTRAINT PK_JobsDLQ PRIMARY KEY CLUSTERED (Id)
);

CREATE INDEX IX_JobsDLQ_FailedAtUtc_Id ON chokaq.JobsDLQ(FailedAtUtc, Id);

CREATE INDEX IX_JobsDLQ_Queue_FailedAtUtc_Id ON chokaq.JobsDLQ(Queue, FailedAtUtc, Id);

CREATE INDEX IX_JobsDLQ_Type_FailedAtUtc_Id ON chokaq.JobsDLQ(Type, FailedAtUtc, Id);

CREATE INDEX IX_JobsDLQ_FailureReason_FailedAtUtc_Id ON chokaq.JobsDLQ(FailureReason, FailedAtUtc, Id);

/* All that usp_SummarizeDLQ reads. */
CREATE INDEX IX_JobsDLQ_Queue_Type_FailureReason_FailedAtUtc ON chokaq.JobsDLQ(Queue, Type, FailureReason, FailedAtUtc);

ALTER TABLE chokaq.JobsDLQ SET (LOCK_ESCALATION = DISABLE);

/* What operators did. Rows are written in the transaction of the act, and by no role changed afterwards. */
CREATE TABLE chokaq.OperatorHistory (
    HistoryId BIGINT IDENTITY(1, 1) NOT NULL,
    AtUtc DATETIME2(7) NOT NULL CONSTRAINT DF_OperatorHistory_AtUtc DEFAULT SYSUTCDATETIME(),
    Action NVARCHAR(50) COLLATE Latin1_General_BIN2 NOT NULL,
    JobId NVARCHAR(50) COLLATE Latin1_General_BIN2 NULL,
    Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    Type NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    Actor NVARCHAR(100) COLLATE Latin1_General_BIN2 NULL,
    Login NVARCHAR(128) NOT NULL CONSTRAINT DF_OperatorHistory_Login DEFAULT ORIGINAL_LOGIN(),
    BatchId UNIQUEIDENTIFIER NULL,
    JobCount INT NOT NULL CONSTRAINT DF_OperatorHistory_JobCount DEFAULT 1,
    FailureReason TINYINT NULL,
    ErrorDetails NVARCHAR(MAX) COLLATE Latin1_General_BIN2 NULL,
    AttemptCount INT NULL,
    FailedAtUtc DATETIME2(7) NULL,
    OldPayload NVARCHAR(MAX) COLLATE Latin1_General_BIN2 NULL,
    OldTags NVARCHAR(1000) COLLATE Latin1_General_BIN2 NULL,
    OldPriority INT NULL,
    OldIdempotencyKey NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
    OldSettings NVARCHAR(4000) COLLATE Latin1_General_BIN2 NULL,
    NewSettings NVARCHAR(4000) COLLATE Latin1_General_BIN2 NULL,
    CONSTRAINT PK_OperatorHistory PRIMARY KEY CLUSTERED (HistoryId)
);

CREATE INDEX IX_OperatorHistory_JobId_HistoryId ON chokaq.OperatorHistory(JobId, HistoryId);

CREATE INDEX IX_OperatorHistory_AtUtc_HistoryId ON chokaq.OperatorHistory(AtUtc, HistoryId);

ALTER TABLE chokaq.OperatorHistory SET (LOCK_ESCALATION = DISABLE);
