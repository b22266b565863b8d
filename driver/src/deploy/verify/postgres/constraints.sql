/* PostgreSQL 18 has constraints for NOT NULL too: those are the columns' `nullable`. */
SELECT
    'constraint' AS kind,
    c.relname || '.' || k.conname AS object,
    pg_get_constraintdef(k.oid) AS definition,
    CASE WHEN k.convalidated THEN 'yes' ELSE 'no' END AS validated,
    CASE WHEN k.conindid = 0 THEN NULL WHEN i.indisvalid AND i.indisready THEN 'yes' ELSE 'no' END AS index_valid
FROM pg_constraint AS k
INNER JOIN pg_class AS c ON c.oid = k.conrelid
INNER JOIN pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pg_index AS i ON i.indexrelid = k.conindid AND i.indrelid = k.conrelid
WHERE n.nspname = 'chokaq' AND k.contype IN ('p', 'u', 'c', 'f', 'x')
