/*
Tables, views and sequences. Storage parameters (fillfactor, autovacuum) are left out: they are for a DBA to set. The text
of a view is the server's own rendering, see `normal::view`. Sequences of identity columns belong to their columns.
*/
SELECT
    CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'S' THEN 'sequence' WHEN 'm' THEN 'materialized view'
        WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' ELSE 'type' END AS kind,
    c.relname AS object,
    CASE WHEN c.relowner = n.nspowner THEN 'the schema''s' ELSE pg_get_userbyid(c.relowner) END AS owner,
    CASE c.relpersistence WHEN 'p' THEN 'yes' ELSE 'no' END AS logged,
    CASE WHEN c.relkind = 'r' THEN CASE WHEN c.relrowsecurity THEN 'on' ELSE 'off' END END AS row_security,
    CASE WHEN c.relkind = 'v' THEN pg_get_viewdef(c.oid) END AS definition,
    format_type(s.seqtypid, NULL) AS type,
    s.seqstart AS start,
    s.seqincrement AS increment,
    CASE WHEN s.seqcycle THEN 'yes' WHEN NOT s.seqcycle THEN 'no' END AS cycles
FROM pg_class AS c
INNER JOIN pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pg_sequence AS s ON s.seqrelid = c.oid
WHERE n.nspname = 'chokaq'
AND c.relkind IN ('r', 'v', 'S', 'm', 'f', 'p', 'c')
AND NOT EXISTS (
    SELECT 1 FROM pg_depend AS d
    WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'i' AND c.relkind = 'S'
)
