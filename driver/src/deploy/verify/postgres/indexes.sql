/* Indexes that no constraint made. */
SELECT
    'index' AS kind,
    c.relname || '.' || x.relname AS object,
    (
        SELECT string_agg(
            pg_get_indexdef(i.indexrelid, k, true)
            || CASE i.indoption[k - 1] & 3 WHEN 0 THEN '' WHEN 1 THEN ' desc nulls last' WHEN 2 THEN ' nulls first'
                ELSE ' desc' END,
            ', ' ORDER BY k
        )
        FROM generate_series(1, i.indnkeyatts::integer) AS k
    ) AS keys,
    COALESCE(
        (
            SELECT string_agg(pg_get_indexdef(i.indexrelid, k, true), ', ' ORDER BY k)
            FROM generate_series(i.indnkeyatts + 1, i.indnatts::integer) AS k
        ),
        'none'
    ) AS include,
    COALESCE(pg_get_expr(i.indpred, i.indrelid), 'none') AS "where",
    CASE WHEN i.indisunique THEN 'yes' ELSE 'no' END AS "unique",
    m.amname AS method,
    CASE WHEN i.indisvalid AND i.indisready THEN 'yes' ELSE 'no' END AS valid
FROM pg_index AS i
INNER JOIN pg_class AS x ON x.oid = i.indexrelid
INNER JOIN pg_class AS c ON c.oid = i.indrelid
INNER JOIN pg_namespace AS n ON n.oid = c.relnamespace
INNER JOIN pg_am AS m ON m.oid = x.relam
WHERE n.nspname = 'chokaq'
AND c.relkind = 'r'
AND NOT EXISTS (SELECT 1 FROM pg_constraint AS k WHERE k.conindid = i.indexrelid AND k.conrelid = i.indrelid)
