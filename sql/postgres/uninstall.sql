/*
Removes ChokaQ SQL, deployed or created as an extension. There is no way back but a backup.

It refuses while there is work that is not done, in jobs_hot or jobs_dlq. To remove that too, say so first in the same
session: SET chokaq.uninstall = 'with all jobs'; or
    psql -d DATABASE -c "SET chokaq.uninstall = 'with all jobs'" -f uninstall.sql
What is done goes in any case: the Archive, the counters and the operators' history. Copy what you must keep.

All or nothing: a view, a function or a key of yours that uses the kit stops it. The roles belong to the whole server: one
that has rights in another database stays, and so do all where you may not drop them; a dropped one leaves its members.
*/
DO $$
DECLARE
    v_statement text;
    v_role text;
    v_hot bigint;
    v_dlq bigint;
BEGIN
    PERFORM pg_catalog.set_config('lock_timeout', '5s', true);

    IF pg_catalog.to_regclass('chokaq.jobs_hot') IS NOT NULL AND pg_catalog.to_regclass('chokaq.jobs_dlq') IS NOT NULL THEN
        /* Nothing comes in between the count and the end. */
        LOCK TABLE chokaq.jobs_hot, chokaq.jobs_dlq IN ACCESS EXCLUSIVE MODE;
        SELECT count(*) INTO v_hot FROM chokaq.jobs_hot;
        SELECT count(*) INTO v_dlq FROM chokaq.jobs_dlq;

        IF v_hot + v_dlq > 0 AND pg_catalog.current_setting('chokaq.uninstall', true) IS DISTINCT FROM 'with all jobs' THEN
            RAISE EXCEPTION USING ERRCODE = 'object_in_use',
                MESSAGE = pg_catalog.format('%s jobs are not done and %s wait in the DLQ; nothing was removed.', v_hot, v_dlq),
                HINT = 'To remove them too: SET chokaq.uninstall = ''with all jobs''; then run this again.';
        END IF;
    END IF;

    IF EXISTS (SELECT 1 FROM pg_catalog.pg_extension AS e WHERE e.extname = 'chokaq') THEN
        DROP EXTENSION chokaq;
    ELSE
        /* What uses comes before what is used: routines, views, tables, sequences. */
        FOREACH v_statement IN ARRAY ARRAY(
            SELECT d.statement
            FROM (
                SELECT 1 AS place, pg_catalog.format('DROP ROUTINE %s', p.oid::regprocedure) AS statement
                FROM pg_catalog.pg_proc AS p
                WHERE p.pronamespace = pg_catalog.to_regnamespace('chokaq')
                UNION ALL
                SELECT
                    CASE c.relkind WHEN 'v' THEN 2 WHEN 'r' THEN 3 ELSE 4 END,
                    pg_catalog.format(
                        'DROP %s %s',
                        CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'r' THEN 'TABLE' ELSE 'SEQUENCE IF EXISTS' END,
                        c.oid::regclass
                    )
                FROM pg_catalog.pg_class AS c
                WHERE c.relnamespace = pg_catalog.to_regnamespace('chokaq') AND c.relkind IN ('v', 'r', 'S')
            ) AS d
            ORDER BY d.place, d.statement
        ) LOOP
            EXECUTE v_statement;
        END LOOP;

        DROP SCHEMA IF EXISTS chokaq;
        DROP TABLE IF EXISTS public.chokaq_schema_history;
    END IF;

    FOREACH v_role IN ARRAY ARRAY['chokaq_admin', 'chokaq_operator', 'chokaq_worker', 'chokaq_reader'] LOOP
        BEGIN
            EXECUTE pg_catalog.format('DROP ROLE IF EXISTS %I', v_role);
        EXCEPTION
            WHEN dependent_objects_still_exist OR insufficient_privilege OR lock_not_available THEN
                RAISE NOTICE 'role % stays: %', v_role, SQLERRM;
        END;
    END LOOP;
END;
$$;
