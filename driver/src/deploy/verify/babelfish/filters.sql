/* The filters of indexes, which Babelfish's sys.indexes does not tell. */
SELECT
    'index' AS kind,
    c.relname + '.' + x.relname AS object,
    COALESCE(pg_catalog.pg_get_expr(i.indpred, i.indrelid), 'none') AS [where]
FROM pg_catalog.pg_index AS i
INNER JOIN pg_catalog.pg_class AS x ON x.oid = i.indexrelid
INNER JOIN pg_catalog.pg_class AS c ON c.oid = i.indrelid
LEFT JOIN pg_catalog.pg_constraint AS k ON k.conindid = i.indexrelid
WHERE c.relnamespace = SCHEMA_ID('chokaq') AND c.relkind = 'r' AND k.oid IS NULL;
