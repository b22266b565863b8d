/* Babelfish lists no sequence in sys.sequences, and lists those of its identity columns as objects. */
SELECT
    'sequence' AS kind,
    o.name AS object,
    CONVERT(NVARCHAR(40), s.start_value) AS start,
    CONVERT(NVARCHAR(40), s.increment) AS increment
FROM sys.objects AS o
LEFT JOIN sys.sequences AS s ON s.object_id = o.object_id
WHERE o.schema_id = SCHEMA_ID(N'chokaq')
    AND o.type = 'SO'
    AND (SERVERPROPERTY('Babelfish') IS NULL OR o.name NOT LIKE N'%[_]seq');
