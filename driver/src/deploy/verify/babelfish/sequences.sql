/* The numbers of sequences, which Babelfish's sys.sequences does not tell. */
SELECT
    'sequence' AS kind,
    c.relname AS object,
    CONVERT(NVARCHAR(40), s.seqstart) AS start,
    CONVERT(NVARCHAR(40), s.seqincrement) AS increment
FROM pg_catalog.pg_sequence AS s
INNER JOIN pg_catalog.pg_class AS c ON c.oid = s.seqrelid
WHERE c.relnamespace = SCHEMA_ID('chokaq') AND c.relname NOT LIKE '%[_]seq';
