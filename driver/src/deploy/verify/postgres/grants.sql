/*
What the four roles and PUBLIC may do, all of it. Of other roles only what could change rows or objects behind the
procedures' back: that a DBA lets somebody read or call is his affair. The owner's own rights are left out; what two
grantors gave is one right.
*/
SELECT
    'grant' AS kind,
    g.object || ' to ' || COALESCE(r.rolname, 'PUBLIC') AS object,
    lower(string_agg(
        g.privilege || CASE WHEN g.is_grantable THEN ' with grant option' ELSE '' END, ', '
        ORDER BY g.privilege COLLATE "C"
    ) COLLATE "C") AS rights
FROM (
    SELECT 'schema ' || n.nspname AS object, n.nspowner AS owner, a.grantee, a.privilege_type AS privilege, a.is_grantable
    FROM pg_namespace AS n
    CROSS JOIN LATERAL aclexplode(COALESCE(n.nspacl, acldefault('n', n.nspowner))) AS a
    WHERE n.nspname = 'chokaq'
    UNION
    SELECT
        p.proname || '(' || oidvectortypes(p.proargtypes) || ')', p.proowner, a.grantee, a.privilege_type,
        a.is_grantable
    FROM pg_proc AS p
    INNER JOIN pg_namespace AS n ON n.oid = p.pronamespace
    CROSS JOIN LATERAL aclexplode(COALESCE(p.proacl, acldefault('f', p.proowner))) AS a
    WHERE n.nspname = 'chokaq'
    UNION
    SELECT c.relname, c.relowner, a.grantee, a.privilege_type, a.is_grantable
    FROM pg_class AS c
    INNER JOIN pg_namespace AS n ON n.oid = c.relnamespace
    CROSS JOIN LATERAL aclexplode(c.relacl) AS a
    WHERE n.nspname = 'chokaq'
    UNION
    SELECT c.relname || '.' || t.attname, c.relowner, a.grantee, a.privilege_type, a.is_grantable
    FROM pg_attribute AS t
    INNER JOIN pg_class AS c ON c.oid = t.attrelid
    INNER JOIN pg_namespace AS n ON n.oid = c.relnamespace
    CROSS JOIN LATERAL aclexplode(t.attacl) AS a
    WHERE n.nspname = 'chokaq'
) AS g
LEFT JOIN pg_roles AS r ON r.oid = g.grantee
WHERE g.grantee <> g.owner
AND (
    g.grantee = 0
    OR r.rolname IN ('chokaq_reader', 'chokaq_worker', 'chokaq_operator', 'chokaq_admin')
    OR g.privilege NOT IN ('SELECT', 'EXECUTE', 'USAGE')
)
GROUP BY g.object, r.rolname
