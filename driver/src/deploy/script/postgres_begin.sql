/*
ChokaQ SQL {{kit}} for PostgreSQL: schema chokaq, migrations {{from}} to {{until}}.

    psql -X -d DATABASE -f FILE

It is safe to run again: what public.chokaq_schema_history has is passed over. Each migration is one transaction with its
row there, under the lock of the deployment. The first error ends the script; mend the cause and run it again.
chokaq migrate takes what this script did for its own work.
*/
\set ON_ERROR_STOP on
\set AUTOCOMMIT on
\set QUIET on
\set chokaq_is_ready false
SET client_encoding = 'UTF8';
SET client_min_messages = warning;

/* May this be deployed here? When it may not, chokaq_is_ready stays false, and nothing that follows is applied. */
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT pg_catalog.pg_try_advisory_xact_lock({{lock}}) AS chokaq_is_free \gset
\if :chokaq_is_free
\else
\warn 'another deployment works on this database; waiting'
SELECT pg_catalog.pg_advisory_xact_lock({{lock}}) AS chokaq_lock \gset
\endif

DO $script$
BEGIN
    IF pg_catalog.current_database() IN ('postgres', 'template0', 'template1') THEN
        RAISE EXCEPTION USING ERRCODE = 'QC002',
            MESSAGE = 'This is a system database. Name yours: psql -d DATABASE.';
    END IF;
END;
$script$;

{{history_table}}

DO $script$
DECLARE
    v_problem text;
BEGIN
    WITH migrations (version, name, checksum) AS (
        VALUES
            {{migrations}}
    )
    SELECT p.problem
    INTO v_problem
    FROM (
        SELECT
            1 AS place,
            h.version,
            CASE
                WHEN m.version IS NULL THEN '{{unknown}}'
                ELSE '{{changed}}'
            END || ' V' || pg_catalog.lpad(h.version::text, 4, '0') || '__' || h.name AS problem
        FROM {{history}} AS h
        LEFT JOIN migrations AS m ON m.version = h.version
        WHERE m.version IS NULL OR m.name <> h.name OR m.checksum <> h.checksum
        UNION ALL
        SELECT
            2,
            m.version,
            CASE
                WHEN m.version < {{first}} THEN '{{missing}}'
                ELSE '{{skipped}}'
            END || ' V' || pg_catalog.lpad(m.version::text, 4, '0') || '__' || m.name
        FROM migrations AS m
        WHERE (m.version < {{first}} OR m.version < (SELECT max(h.version) FROM {{history}} AS h))
            AND NOT EXISTS (SELECT 1 FROM {{history}} AS h WHERE h.version = m.version)
    ) AS p
    ORDER BY p.place, p.version
    LIMIT 1;

    IF v_problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'QC002', MESSAGE = v_problem;
    END IF;

    /* What was added beside the extension would be in no dump. */
    IF EXISTS (
        SELECT 1
        FROM pg_catalog.pg_depend AS d
        WHERE d.classid = 'pg_catalog.pg_namespace'::pg_catalog.regclass
            AND d.objid = pg_catalog.to_regnamespace('chokaq')
            AND d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.deptype = 'e'
    ) AND (SELECT count(*) FROM {{history}} AS h) < {{count}} THEN
        RAISE EXCEPTION USING ERRCODE = 'QC002',
            MESSAGE = 'Schema chokaq belongs to an extension: say ALTER EXTENSION chokaq UPDATE.';
    END IF;
END;
$script$;

SELECT true AS chokaq_is_ready \gset
COMMIT;
