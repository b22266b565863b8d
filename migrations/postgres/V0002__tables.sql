/*
The three pillars, the queues, the operator history and the failure reasons.
Text that is compared is COLLATE "C": case and accents count, whatever the database's collation.
Lengths are checked by the procedures; a column is never the thing that refuses or cuts a value.
*/
/* One call takes one number and owns the 10,000 from there: arrival and revision are number + ordinal. */
CREATE SEQUENCE chokaq.job_numbers AS bigint INCREMENT BY 10000 START WITH 10000;

CREATE TABLE chokaq.failure_reasons (
    failure_reason smallint NOT NULL,
    name text NOT NULL,
    family text NOT NULL,
    CONSTRAINT pk_failure_reasons PRIMARY KEY (failure_reason),
    CONSTRAINT uq_failure_reasons_name UNIQUE (name)
);

INSERT INTO chokaq.failure_reasons (failure_reason, name, family)
VALUES
    (0, 'MaxRetriesExceeded', 'Retries exhausted'),
    (1, 'Cancelled', 'Cancelled'),
    (2, 'Zombie', 'Zombie'),
    (3, 'CircuitBreakerOpen', 'Retries exhausted'),
    (4, 'Rejected', 'Fatal'),
    (5, 'Throttled', 'Retries exhausted'),
    (6, 'FatalError', 'Fatal'),
    (7, 'Timeout', 'Retries exhausted'),
    (8, 'Transient', 'Retries exhausted'),
    (9, 'HeartbeatFailure', 'Zombie'),
    (10, 'RetryLifetimeExpired', 'Retries exhausted'),
    (11, 'Unknown', 'Unknown');

CREATE TABLE chokaq.queues (
    queue text COLLATE "C" NOT NULL,
    is_paused boolean NOT NULL DEFAULT false,
    is_active boolean NOT NULL DEFAULT true,
    max_workers integer NULL,
    zombie_timeout_seconds integer NULL,
    max_attempts integer NOT NULL DEFAULT 3,
    base_delay_seconds integer NOT NULL DEFAULT 5,
    backoff_multiplier double precision NOT NULL DEFAULT 2.0,
    max_delay_seconds integer NOT NULL DEFAULT 3600,
    jitter_seconds integer NOT NULL DEFAULT 0,
    max_job_age_seconds integer NULL,
    created_at_utc timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_updated_utc timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_modified_by text NULL,
    CONSTRAINT pk_queues PRIMARY KEY (queue),
    CONSTRAINT ck_queues_max_workers CHECK (max_workers >= 0),
    CONSTRAINT ck_queues_zombie_timeout_seconds CHECK (zombie_timeout_seconds > 0),
    CONSTRAINT ck_queues_max_attempts CHECK (max_attempts > 0),
    CONSTRAINT ck_queues_base_delay_seconds CHECK (base_delay_seconds >= 0),
    CONSTRAINT ck_queues_backoff_multiplier CHECK (backoff_multiplier BETWEEN 1 AND 1000),
    CONSTRAINT ck_queues_max_delay_seconds CHECK (max_delay_seconds >= 0),
    CONSTRAINT ck_queues_jitter_seconds CHECK (jitter_seconds >= 0),
    CONSTRAINT ck_queues_max_job_age_seconds CHECK (max_job_age_seconds > 0)
);

/* The few queues that a fetch may not take from as it comes: closed ones, and those with a limit. */
CREATE INDEX ix_queues_queue
ON chokaq.queues (queue)
WHERE is_paused OR NOT is_active OR max_workers IS NOT NULL;

/*
The lock that makes max_workers exact: a claim on a queue with a limit writes its row. Apart from queues, so that
a change of the policy does not wait for a worker's transaction.
*/
CREATE TABLE chokaq.queue_claims (
    queue text COLLATE "C" NOT NULL,
    last_claim_at_utc timestamptz NULL,
    CONSTRAINT pk_queue_claims PRIMARY KEY (queue)
) WITH (fillfactor = 50);

CREATE TABLE chokaq.jobs_hot (
    id text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    payload text NULL,
    tags text NULL,
    idempotency_key text COLLATE "C" NULL,
    priority integer NOT NULL,
    status smallint NOT NULL,
    /* When it may run; is_due is set by the first fetch after that, so that a fetch never walks over later jobs. */
    due_at_utc timestamptz NOT NULL,
    is_due boolean NOT NULL,
    /* What max_job_age_seconds is measured from: the first due time since the job last entered this table. */
    first_due_at_utc timestamptz NOT NULL,
    arrival bigint NOT NULL,
    scheduled_at_utc timestamptz NULL,
    attempt_count integer NOT NULL DEFAULT 0,
    worker_id text COLLATE "C" NULL,
    fetched_at_utc timestamptz NULL,
    started_at_utc timestamptz NULL,
    heartbeat_utc timestamptz NULL,
    error_details text NULL,
    created_at_utc timestamptz NOT NULL,
    created_by text NULL,
    last_updated_utc timestamptz NOT NULL,
    last_modified_by text NULL,
    resurrect_count integer NOT NULL DEFAULT 0,
    revision bigint NOT NULL,
    CONSTRAINT pk_jobs_hot PRIMARY KEY (id),
    CONSTRAINT ck_jobs_hot_status CHECK (status IN (0, 1, 2)),
    CONSTRAINT ck_jobs_hot_status_worker_id CHECK ((status = 0) = (worker_id IS NULL))
) WITH (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0
);

/* No index reads status, started_at_utc or heartbeat_utc, so a start or a heartbeat stays a heap-only update. */
CREATE INDEX ix_jobs_hot_queue_priority_due_at_utc_arrival
ON chokaq.jobs_hot (queue, priority DESC, due_at_utc, arrival)
WHERE worker_id IS NULL AND is_due;

/*
The same over all queues, so that a fetch costs no more for a thousand of them. Every arrival is above 0: only a query
that says so may use this index, and none that looks for one queue is ever planned over it.
*/
CREATE INDEX ix_jobs_hot_priority_due_at_utc_arrival
ON chokaq.jobs_hot (priority DESC, due_at_utc, arrival)
WHERE worker_id IS NULL AND is_due AND arrival > 0;

CREATE INDEX ix_jobs_hot_queue_due_at_utc
ON chokaq.jobs_hot (queue, due_at_utc)
WHERE worker_id IS NULL AND NOT is_due;

/* Whether anything has become due at all, whatever the number of queues. */
CREATE INDEX ix_jobs_hot_due_at_utc
ON chokaq.jobs_hot (due_at_utc)
WHERE worker_id IS NULL AND NOT is_due AND arrival > 0;

CREATE INDEX ix_jobs_hot_queue_id
ON chokaq.jobs_hot (queue, id)
WHERE worker_id IS NOT NULL;

CREATE UNIQUE INDEX uq_jobs_hot_idempotency_key
ON chokaq.jobs_hot (idempotency_key)
WHERE idempotency_key IS NOT NULL;

CREATE TABLE chokaq.jobs_archive (
    id text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    payload text NULL,
    tags text NULL,
    idempotency_key text COLLATE "C" NULL,
    priority integer NOT NULL,
    attempt_count integer NOT NULL,
    worker_id text COLLATE "C" NULL,
    scheduled_at_utc timestamptz NULL,
    started_at_utc timestamptz NULL,
    finished_at_utc timestamptz NOT NULL,
    duration_ms double precision NULL,
    created_at_utc timestamptz NOT NULL,
    created_by text NULL,
    last_modified_by text NULL,
    resurrect_count integer NOT NULL,
    revision bigint NOT NULL,
    CONSTRAINT pk_jobs_archive PRIMARY KEY (id)
);

CREATE INDEX ix_jobs_archive_finished_at_utc_id ON chokaq.jobs_archive (finished_at_utc, id);

CREATE TABLE chokaq.jobs_dlq (
    id text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    payload text NULL,
    tags text NULL,
    idempotency_key text COLLATE "C" NULL,
    priority integer NOT NULL,
    attempt_count integer NOT NULL,
    worker_id text COLLATE "C" NULL,
    failure_reason smallint NOT NULL,
    error_details text NULL,
    failed_at_utc timestamptz NOT NULL,
    scheduled_at_utc timestamptz NULL,
    started_at_utc timestamptz NULL,
    heartbeat_utc timestamptz NULL,
    created_at_utc timestamptz NOT NULL,
    created_by text NULL,
    last_updated_utc timestamptz NOT NULL,
    last_modified_by text NULL,
    resurrect_count integer NOT NULL,
    revision bigint NOT NULL,
    CONSTRAINT pk_jobs_dlq PRIMARY KEY (id)
);

CREATE INDEX ix_jobs_dlq_failed_at_utc_id ON chokaq.jobs_dlq (failed_at_utc, id);

CREATE INDEX ix_jobs_dlq_queue_failed_at_utc_id ON chokaq.jobs_dlq (queue, failed_at_utc, id);

CREATE INDEX ix_jobs_dlq_type_failed_at_utc_id ON chokaq.jobs_dlq (type, failed_at_utc, id);

CREATE INDEX ix_jobs_dlq_failure_reason_failed_at_utc_id ON chokaq.jobs_dlq (failure_reason, failed_at_utc, id);

/* All that summarize_dlq reads. */
CREATE INDEX ix_jobs_dlq_queue_type_failure_reason_failed_at_utc
ON chokaq.jobs_dlq (queue, type, failure_reason, failed_at_utc);

/* What operators did. Rows are written in the transaction of the act, and by no role changed afterwards. */
CREATE TABLE chokaq.operator_history (
    history_id bigint GENERATED ALWAYS AS IDENTITY,
    at_utc timestamptz NOT NULL DEFAULT clock_timestamp(),
    action text NOT NULL,
    job_id text COLLATE "C" NULL,
    queue text COLLATE "C" NULL,
    type text COLLATE "C" NULL,
    actor text NULL,
    login text NOT NULL DEFAULT session_user,
    batch_id uuid NULL,
    job_count integer NOT NULL DEFAULT 1,
    failure_reason smallint NULL,
    error_details text NULL,
    attempt_count integer NULL,
    failed_at_utc timestamptz NULL,
    old_payload text NULL,
    old_tags text NULL,
    old_priority integer NULL,
    old_idempotency_key text COLLATE "C" NULL,
    old_settings text NULL,
    new_settings text NULL,
    CONSTRAINT pk_operator_history PRIMARY KEY (history_id)
);

CREATE INDEX ix_operator_history_job_id_history_id ON chokaq.operator_history (job_id, history_id);

CREATE INDEX ix_operator_history_at_utc_history_id ON chokaq.operator_history (at_utc, history_id);
