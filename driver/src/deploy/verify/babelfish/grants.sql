/* The rights, which Babelfish's sys.database_permissions does not tell. */
SELECT
    'grant' AS kind,
    g.ObjectName + ' to ' + g.Grantee AS object,
    STRING_AGG(g.privilege, ', ') WITHIN GROUP (ORDER BY g.privilege) AS rights
FROM (
    SELECT p.ObjectName, CASE WHEN p.grantee = 0 THEN 'public' ELSE r.name END AS Grantee, p.privilege
    FROM (
        SELECT f.proname AS ObjectName, f.proowner AS owner, a.grantee, a.privilege_type AS privilege
        FROM pg_catalog.pg_proc AS f
        CROSS APPLY pg_catalog.aclexplode(COALESCE(f.proacl, pg_catalog.acldefault('f', f.proowner))) AS a
        WHERE f.pronamespace = SCHEMA_ID('chokaq')
        UNION ALL
        SELECT c.relname, c.relowner, a.grantee, a.privilege_type
        FROM pg_catalog.pg_class AS c
        CROSS APPLY pg_catalog.aclexplode(c.relacl) AS a
        WHERE c.relnamespace = SCHEMA_ID('chokaq')
    ) AS p
    LEFT JOIN sys.database_principals AS r ON r.principal_id = p.grantee
    WHERE p.grantee <> p.owner
        AND (
            p.grantee = 0
            OR r.name IN ('chokaq_reader', 'chokaq_worker', 'chokaq_operator', 'chokaq_admin')
            OR p.privilege NOT IN ('SELECT', 'EXECUTE', 'USAGE')
        )
) AS g
GROUP BY g.ObjectName, g.Grantee;
