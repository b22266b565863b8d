/* Babelfish takes LOCK_ESCALATION and forgets it. Compression and fill factor are left out: they are for a DBA to set. */
SELECT
    'table' AS kind,
    t.name AS object,
    CASE WHEN t.principal_id IS NULL THEN N'the schema''s' ELSE USER_NAME(t.principal_id) END AS owner,
    CASE WHEN SERVERPROPERTY('Babelfish') IS NULL THEN t.lock_escalation_desc END AS lock_escalation
FROM sys.tables AS t
WHERE t.schema_id = SCHEMA_ID(N'chokaq');
