/* The text is compared with the migrations, and is no part of the list. */
SELECT
    CASE p.prokind WHEN 'p' THEN 'procedure' WHEN 'f' THEN 'function' WHEN 'a' THEN 'aggregate' ELSE 'window function'
    END AS kind,
    p.proname || '(' || oidvectortypes(p.proargtypes) || ')' AS object,
    CASE WHEN p.proowner = n.nspowner THEN 'the schema''s' ELSE pg_get_userbyid(p.proowner) END AS owner,
    l.lanname AS language,
    pg_get_function_arguments(p.oid) AS arguments,
    COALESCE(pg_get_function_result(p.oid), 'none') AS result,
    CASE WHEN p.prosecdef THEN 'definer' ELSE 'invoker' END AS security,
    COALESCE(array_to_string(p.proconfig, '; '), 'none') AS set,
    CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END AS volatility,
    CASE p.proparallel WHEN 's' THEN 'safe' WHEN 'r' THEN 'restricted' ELSE 'unsafe' END AS parallel,
    CASE WHEN p.proisstrict THEN 'yes' ELSE 'no' END AS strict,
    CASE WHEN p.proleakproof THEN 'yes' ELSE 'no' END AS leakproof,
    CASE WHEN p.prokind <> 'a' THEN p.prosrc END AS text
FROM pg_proc AS p
INNER JOIN pg_namespace AS n ON n.oid = p.pronamespace
INNER JOIN pg_language AS l ON l.oid = p.prolang
WHERE n.nspname = 'chokaq'
