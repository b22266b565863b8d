/* Indexes that no constraint made. Babelfish tells its filters in its own catalog alone. */
SELECT
    'index' AS kind,
    t.name + N'.' + x.name AS object,
    x.type_desc AS type,
    COALESCE(k.Columns, N'none') AS keys,
    COALESCE(i.Columns, N'none') AS include,
    CASE WHEN SERVERPROPERTY('Babelfish') IS NULL THEN COALESCE(x.filter_definition, N'none') END AS [where],
    CASE
        WHEN x.is_unique = 0 THEN 'no'
        WHEN x.ignore_dup_key = 1 THEN 'duplicates ignored'
        ELSE 'yes'
    END AS [unique],
    CASE WHEN x.is_disabled = 1 THEN 'no' ELSE 'yes' END AS enabled
FROM sys.indexes AS x
INNER JOIN sys.tables AS t ON t.object_id = x.object_id
LEFT JOIN (
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
LEFT JOIN (
    SELECT n.object_id, n.index_id, STRING_AGG(c.name, N', ') WITHIN GROUP (ORDER BY n.column_id) AS Columns
    FROM sys.index_columns AS n
    INNER JOIN sys.columns AS c ON c.object_id = n.object_id AND c.column_id = n.column_id
    WHERE n.is_included_column = 1
    GROUP BY n.object_id, n.index_id
) AS i ON i.object_id = x.object_id AND i.index_id = x.index_id
WHERE t.schema_id = SCHEMA_ID(N'chokaq')
    AND x.type > 0
    AND x.is_hypothetical = 0
    AND x.is_primary_key = 0
    AND x.is_unique_constraint = 0;
