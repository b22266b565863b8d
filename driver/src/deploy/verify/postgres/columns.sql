SELECT
    'column' AS kind,
    c.relname || '.' || a.attname AS object,
    format_type(a.atttypid, a.atttypmod) AS type,
    CASE WHEN a.attnotnull THEN 'no' ELSE 'yes' END AS nullable,
    COALESCE(pg_get_expr(d.adbin, d.adrelid), 'none') AS "default",
    COALESCE(o.collname, 'none') AS collation,
    CASE a.attidentity WHEN 'a' THEN 'always' WHEN 'd' THEN 'by default' ELSE 'no' END AS identity,
    CASE WHEN a.attgenerated = '' THEN 'no' ELSE 'yes' END AS generated
FROM pg_attribute AS a
INNER JOIN pg_class AS c ON c.oid = a.attrelid
INNER JOIN pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN pg_collation AS o ON o.oid = a.attcollation
WHERE n.nspname = 'chokaq' AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
