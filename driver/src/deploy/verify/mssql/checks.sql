/* SQL Server and Babelfish each render the definition; see `normal::check`. */
SELECT
    'constraint' AS kind,
    t.name + N'.' + k.name AS object,
    'check' AS type,
    k.definition AS definition,
    CASE WHEN k.is_disabled = 1 THEN 'no' ELSE 'yes' END AS enabled,
    CASE WHEN k.is_not_trusted = 1 THEN 'no' ELSE 'yes' END AS trusted
FROM sys.check_constraints AS k
INNER JOIN sys.tables AS t ON t.object_id = k.parent_object_id
WHERE t.schema_id = SCHEMA_ID(N'chokaq');
