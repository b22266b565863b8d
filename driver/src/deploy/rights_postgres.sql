/* What a deployment needs and this login does not have. */
SELECT r.missing
FROM (
    VALUES
        (
            1,
            'CREATE on database ' || pg_catalog.quote_ident(pg_catalog.current_database()),
            pg_catalog.to_regnamespace('chokaq') IS NULL
            AND NOT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')
        ),
        (
            2,
            'the rights of the owner of schema chokaq',
            EXISTS (
                SELECT 1 FROM pg_catalog.pg_namespace AS n
                WHERE n.nspname = 'chokaq' AND NOT pg_catalog.pg_has_role(n.nspowner, 'USAGE')
            )
        ),
        (
            3,
            'CREATE on schema public, for the table chokaq_schema_history',
            pg_catalog.to_regclass('public.chokaq_schema_history') IS NULL
            AND NOT COALESCE(
                pg_catalog.has_schema_privilege(pg_catalog.to_regnamespace('public')::oid, 'CREATE'), false
            )
        ),
        (
            4,
            'INSERT on table public.chokaq_schema_history',
            NOT pg_catalog.has_table_privilege(pg_catalog.to_regclass('public.chokaq_schema_history')::oid, 'INSERT')
        ),
        (
            5,
            'CREATEROLE, for the roles chokaq_reader, chokaq_worker, chokaq_operator and chokaq_admin',
            (
                SELECT count(*) FROM pg_catalog.pg_roles AS r
                WHERE r.rolname IN ('chokaq_reader', 'chokaq_worker', 'chokaq_operator', 'chokaq_admin')
            ) < 4
            AND NOT EXISTS (
                SELECT 1 FROM pg_catalog.pg_roles AS r
                WHERE r.rolname = current_user AND (r.rolsuper OR r.rolcreaterole)
            )
        )
) AS r (place, missing, is_missing)
WHERE r.is_missing
ORDER BY r.place
