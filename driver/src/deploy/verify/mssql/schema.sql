/* The schema itself; without it nothing is deployed. */
SELECT 'schema' AS kind, s.name AS object FROM sys.schemas AS s WHERE s.name = N'chokaq';
