/* Primary keys and unique constraints. Babelfish has no clustered index. */
SELECT
    'constraint' AS kind,
    t.name + N'.' + x.name AS object,
    CASE WHEN x.is_primary_key = 1 THEN 'primary key' ELSE 'unique' END AS type,
    k.Columns AS columns,
    CASE WHEN SERVERPROPERTY('Babelfish') IS NULL THEN CASE WHEN x.type = 1 THEN 'yes' ELSE 'no' END END AS [clustered],
    CASE WHEN x.is_disabled = 1 THEN 'no' ELSE 'yes' END AS enabled
FROM sys.indexes AS x
INNER JOIN sys.tables AS t ON t.object_id = x.object_id
INNER JOIN (
    SELECT
        n.object_id,
        n.index_id,
        STRING_AGG(c.name + CASE WHEN n.is_descending_key = 1 THEN N' desc' ELSE N'' END, N', ') WITHIN GROUP (
            ORDER BY n.key_ordinal
        ) AS Columns
    FROM sys.index_columns AS n
    INNER JOIN sys.columns AS c ON c.object_id = n.object_id AND c.column_id = n.column_id
    WHERE n.key_ordinal > 0
    GROUP BY n.object_id, n.index_id
) AS k ON k.object_id = x.object_id AND k.index_id = x.index_id
WHERE t.schema_id = SCHEMA_ID(N'chokaq') AND (x.is_primary_key = 1 OR x.is_unique_constraint = 1);
