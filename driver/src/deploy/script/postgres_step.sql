
/* {{label}} */
\set chokaq_is_next false
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT pg_catalog.pg_advisory_xact_lock({{lock}}) AS chokaq_lock \gset
SELECT
    :'chokaq_is_ready'::boolean
    AND NOT EXISTS (SELECT 1 FROM {{history}} AS h WHERE h.version >= {{version}})
    AND (SELECT count(*) FROM {{history}} AS h) = {{before}} AS chokaq_is_next \gset
\if :chokaq_is_next
{{sql}}
INSERT INTO {{history}} (version, name, applied_on, checksum)
VALUES (
    {{version}}, '{{name}}',
    pg_catalog.to_char(pg_catalog.timezone('UTC', pg_catalog.clock_timestamp()), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    '{{checksum}}'
);
\endif
COMMIT;
\if :chokaq_is_next
\echo applied {{label}}
\endif
