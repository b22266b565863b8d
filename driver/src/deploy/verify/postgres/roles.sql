/* Roles belong to the whole server. Who is a member of them is not the kit's affair; of what they are members is. */
SELECT
    'role' AS kind,
    r.rolname AS object,
    COALESCE(
        (
            SELECT string_agg(DISTINCT g.rolname, ', ' ORDER BY g.rolname)
            FROM pg_auth_members AS m
            INNER JOIN pg_roles AS g ON g.oid = m.roleid
            WHERE m.member = r.oid
        ),
        'none'
    ) AS is_also,
    COALESCE(
        NULLIF(
            concat_ws(
                ', ',
                CASE WHEN r.rolsuper THEN 'superuser' END,
                CASE WHEN r.rolcreaterole THEN 'createrole' END,
                CASE WHEN r.rolcreatedb THEN 'createdb' END,
                CASE WHEN r.rolreplication THEN 'replication' END,
                CASE WHEN r.rolbypassrls THEN 'bypassrls' END
            ),
            ''
        ),
        'none'
    ) AS attributes
FROM pg_roles AS r
WHERE r.rolname IN ('chokaq_reader', 'chokaq_worker', 'chokaq_operator', 'chokaq_admin')
