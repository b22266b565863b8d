/*
Counters that do not make the workers queue up: a transition appends a delta row and touches no shared
row; usp_FoldDeltas moves committed deltas into QueueTotals; the view StatsSummary adds the two.
*/
CREATE TABLE chokaq.QueueTotals (
    Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    Enqueued BIGINT NOT NULL CONSTRAINT DF_QueueTotals_Enqueued DEFAULT 0,
    Succeeded BIGINT NOT NULL CONSTRAINT DF_QueueTotals_Succeeded DEFAULT 0,
    Retried BIGINT NOT NULL CONSTRAINT DF_QueueTotals_Retried DEFAULT 0,
    DeadLettered BIGINT NOT NULL CONSTRAINT DF_QueueTotals_DeadLettered DEFAULT 0,
    Resurrected BIGINT NOT NULL CONSTRAINT DF_QueueTotals_Resurrected DEFAULT 0,
    Purged BIGINT NOT NULL CONSTRAINT DF_QueueTotals_Purged DEFAULT 0,
    LastActivityUtc DATETIME2(7) NULL,
    LastFoldUtc DATETIME2(7) NULL,
    CONSTRAINT PK_QueueTotals PRIMARY KEY CLUSTERED (Queue)
);

ALTER TABLE chokaq.QueueTotals SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE chokaq.CounterDeltas (
    DeltaId BIGINT IDENTITY(1, 1) NOT NULL,
    Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    AtUtc DATETIME2(7) NOT NULL CONSTRAINT DF_CounterDeltas_AtUtc DEFAULT SYSUTCDATETIME(),
    Enqueued INT NOT NULL CONSTRAINT DF_CounterDeltas_Enqueued DEFAULT 0,
    Succeeded INT NOT NULL CONSTRAINT DF_CounterDeltas_Succeeded DEFAULT 0,
    Retried INT NOT NULL CONSTRAINT DF_CounterDeltas_Retried DEFAULT 0,
    DeadLettered INT NOT NULL CONSTRAINT DF_CounterDeltas_DeadLettered DEFAULT 0,
    Resurrected INT NOT NULL CONSTRAINT DF_CounterDeltas_Resurrected DEFAULT 0,
    Purged INT NOT NULL CONSTRAINT DF_CounterDeltas_Purged DEFAULT 0,
    CONSTRAINT PK_CounterDeltas PRIMARY KEY CLUSTERED (DeltaId)
);

ALTER TABLE chokaq.CounterDeltas SET (LOCK_ESCALATION = DISABLE);

/* What happened in each ten seconds, for rates; kept by the fold, which drops what is older than a day. */
CREATE TABLE chokaq.MetricBuckets (
    BucketUtc DATETIME2(7) NOT NULL,
    Queue NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
    Enqueued BIGINT NOT NULL CONSTRAINT DF_MetricBuckets_Enqueued DEFAULT 0,
    Succeeded BIGINT NOT NULL CONSTRAINT DF_MetricBuckets_Succeeded DEFAULT 0,
    Retried BIGINT NOT NULL CONSTRAINT DF_MetricBuckets_Retried DEFAULT 0,
    DeadLettered BIGINT NOT NULL CONSTRAINT DF_MetricBuckets_DeadLettered DEFAULT 0,
    CONSTRAINT PK_MetricBuckets PRIMARY KEY CLUSTERED (BucketUtc, Queue)
);

ALTER TABLE chokaq.MetricBuckets SET (LOCK_ESCALATION = DISABLE);
