/*
What the four roles and public may do, all of it. Of other principals only what could change rows or objects behind the
procedures' back: that a DBA lets somebody read or call is his affair. On Babelfish this view is empty.
*/
SELECT
    'grant' AS kind,
    g.ObjectName + N' to ' + g.Grantee AS object,
    STRING_AGG(g.Permission, N', ') WITHIN GROUP (ORDER BY g.Permission) AS rights
FROM (
    SELECT DISTINCT
        CASE WHEN p.class = 3 THEN N'schema chokaq' ELSE o.name + COALESCE(N'.' + c.name, N'') END AS ObjectName,
        r.name AS Grantee,
        CASE p.state WHEN 'D' THEN N'deny ' ELSE N'' END +
        p.permission_name +
        CASE p.state WHEN 'W' THEN N' with grant option' ELSE N'' END AS Permission
    FROM sys.database_permissions AS p
    INNER JOIN sys.database_principals AS r ON r.principal_id = p.grantee_principal_id
    LEFT JOIN sys.objects AS o ON p.class = 1 AND o.object_id = p.major_id AND o.schema_id = SCHEMA_ID(N'chokaq')
    LEFT JOIN sys.columns AS c ON p.class = 1 AND c.object_id = p.major_id AND c.column_id = p.minor_id
    WHERE (o.object_id IS NOT NULL OR (p.class = 3 AND p.major_id = SCHEMA_ID(N'chokaq')))
        AND (
            r.name IN (N'public', N'chokaq_reader', N'chokaq_worker', N'chokaq_operator', N'chokaq_admin')
            OR p.permission_name NOT IN (N'SELECT', N'EXECUTE', N'VIEW DEFINITION', N'VIEW CHANGE TRACKING')
        )
) AS g
GROUP BY g.ObjectName, g.Grantee;
