/* Who is a member of the roles is not the kit's affair; of what they are members is. */
SELECT
    'role' AS kind,
    r.name AS object,
    COALESCE(
        (
            SELECT STRING_AGG(g.name, N', ') WITHIN GROUP (ORDER BY g.name)
            FROM sys.database_role_members AS m
            INNER JOIN sys.database_principals AS g ON g.principal_id = m.role_principal_id
            WHERE m.member_principal_id = r.principal_id
        ),
        N'none'
    ) AS is_also
FROM sys.database_principals AS r
WHERE r.name IN (N'chokaq_reader', N'chokaq_worker', N'chokaq_operator', N'chokaq_admin') AND r.type = 'R';
