/* The schema itself; without it nothing is deployed. */
SELECT 'schema' AS kind, n.nspname AS object
FROM pg_namespace AS n
WHERE n.nspname = 'chokaq'
