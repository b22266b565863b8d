/*
Babelfish keeps six digits of a second where seven are asked for, has names of its own for collations, and the names of
default constraints are its own too: a default is compared by its definition, see `normal::expression`.
*/
SELECT
    'column' AS kind,
    t.name + N'.' + c.name AS object,
    y.name +
    CASE
        WHEN y.name IN (N'nvarchar', N'nchar') AND c.max_length > 0 THEN N'(' +
        CONVERT(NVARCHAR(10), c.max_length / 2) +
        N')'
        WHEN c.max_length = -1 THEN N'(max)'
        WHEN y.name IN (N'varchar', N'char', N'varbinary', N'binary') THEN N'(' +
        CONVERT(NVARCHAR(10), c.max_length) +
        N')'
        WHEN y.name IN (N'decimal', N'numeric') THEN N'(' +
        CONVERT(NVARCHAR(10), c.precision) +
        N', ' +
        CONVERT(NVARCHAR(10), c.scale) +
        N')'
        WHEN y.name = N'datetime2' AND SERVERPROPERTY('Babelfish') IS NOT NULL AND c.scale = 6 THEN N'(7)'
        WHEN y.name IN (N'datetime2', N'datetimeoffset', N'time') THEN N'(' + CONVERT(NVARCHAR(10), c.scale) + N')'
        ELSE N''
    END AS type,
    CASE WHEN c.is_nullable = 1 THEN 'yes' ELSE 'no' END AS nullable,
    COALESCE(d.definition, N'none') AS [default],
    CASE
        WHEN c.collation_name IS NULL THEN N'none'
        WHEN c.collation_name = N'bbf_unicode_bin2' THEN N'Latin1_General_BIN2'
        WHEN c.collation_name IN (
            N'bbf_unicode_cp1_ci_as',
            CONVERT(NVARCHAR(128), DATABASEPROPERTYEX(DB_NAME(), 'Collation'))
        ) THEN N'the database''s'
        ELSE c.collation_name
    END AS collation,
    CASE WHEN c.is_identity = 1 THEN 'yes' ELSE 'no' END AS [identity],
    CASE WHEN c.is_computed = 1 THEN 'yes' ELSE 'no' END AS computed
FROM sys.columns AS c
INNER JOIN sys.tables AS t ON t.object_id = c.object_id
INNER JOIN sys.types AS y ON y.user_type_id = c.user_type_id
LEFT JOIN sys.default_constraints AS d ON d.object_id = c.default_object_id
WHERE t.schema_id = SCHEMA_ID(N'chokaq');
