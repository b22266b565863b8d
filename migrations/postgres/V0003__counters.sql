/*
Counters that do not make the workers queue up: a transition appends a delta row and touches no shared
row; fold_counters moves committed deltas into queue_totals; the view adds the two in one snapshot.
*/
CREATE TABLE chokaq.queue_totals (
    queue text COLLATE "C" NOT NULL,
    enqueued bigint NOT NULL DEFAULT 0,
    succeeded bigint NOT NULL DEFAULT 0,
    retried bigint NOT NULL DEFAULT 0,
    dead_lettered bigint NOT NULL DEFAULT 0,
    resurrected bigint NOT NULL DEFAULT 0,
    purged bigint NOT NULL DEFAULT 0,
    last_activity_utc timestamptz NULL,
    CONSTRAINT pk_queue_totals PRIMARY KEY (queue)
) WITH (fillfactor = 50);

/* Heap only, read from its start by the fold: an index would cost every transition a page. */
CREATE TABLE chokaq.counter_deltas (
    queue text COLLATE "C" NOT NULL,
    at_utc timestamptz NOT NULL DEFAULT clock_timestamp(),
    enqueued integer NOT NULL DEFAULT 0,
    succeeded integer NOT NULL DEFAULT 0,
    retried integer NOT NULL DEFAULT 0,
    dead_lettered integer NOT NULL DEFAULT 0,
    resurrected integer NOT NULL DEFAULT 0,
    purged integer NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

/* What happened in each ten seconds, for rates; kept by the fold, which drops what is older than a day. */
CREATE TABLE chokaq.metric_buckets (
    bucket_utc timestamptz NOT NULL,
    queue text COLLATE "C" NOT NULL,
    enqueued bigint NOT NULL DEFAULT 0,
    succeeded bigint NOT NULL DEFAULT 0,
    retried bigint NOT NULL DEFAULT 0,
    dead_lettered bigint NOT NULL DEFAULT 0,
    CONSTRAINT pk_metric_buckets PRIMARY KEY (bucket_utc, queue)
);
