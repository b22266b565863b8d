/* What the kit has none of, so that each is named as something extra. */
SELECT 'trigger' AS kind, c.relname || '.' || t.tgname AS object
FROM pg_trigger AS t
INNER JOIN pg_class AS c ON c.oid = t.tgrelid
INNER JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'chokaq' AND NOT t.tgisinternal
UNION ALL
SELECT 'rule', c.relname || '.' || r.rulename
FROM pg_rewrite AS r
INNER JOIN pg_class AS c ON c.oid = r.ev_class
INNER JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'chokaq' AND r.rulename <> '_RETURN'
UNION ALL
SELECT 'policy', c.relname || '.' || p.polname
FROM pg_policy AS p
INNER JOIN pg_class AS c ON c.oid = p.polrelid
INNER JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'chokaq'
UNION ALL
SELECT 'type', t.typname
FROM pg_type AS t
INNER JOIN pg_namespace AS n ON n.oid = t.typnamespace
WHERE n.nspname = 'chokaq' AND t.typtype IN ('d', 'e', 'r')
