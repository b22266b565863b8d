/*
What a deployment needs and this login does not have. HAS_PERMS_BY_NAME answers NULL where it cannot tell; the server will
then say what is missing, in its own words.
*/
SELECT r.Missing
FROM (
    SELECT
        p.Place,
        p.Permission + N' in database ' + DB_NAME() COLLATE DATABASE_DEFAULT AS Missing,
        HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', p.Permission) AS IsHeld
    FROM ( VALUES
        (1, N'CREATE SCHEMA'),
        (2, N'CREATE TABLE'),
        (3, N'CREATE VIEW'),
        (4, N'CREATE PROCEDURE'),
        (5, N'CREATE FUNCTION')
    ) AS p (Place, Permission)
    WHERE SCHEMA_ID(N'chokaq') IS NULL
    UNION ALL
    SELECT 6, N'ALTER on schema chokaq', HAS_PERMS_BY_NAME(N'chokaq', N'SCHEMA', N'ALTER')
    WHERE SCHEMA_ID(N'chokaq') IS NOT NULL
    UNION ALL
    SELECT
        7,
        N'ALTER on schema dbo, for the table chokaq_schema_history',
        HAS_PERMS_BY_NAME(N'dbo', N'SCHEMA', N'ALTER')
    WHERE OBJECT_ID(N'dbo.chokaq_schema_history', N'U') IS NULL
    UNION ALL
    SELECT
        8,
        N'INSERT on table dbo.chokaq_schema_history',
        HAS_PERMS_BY_NAME(N'dbo.chokaq_schema_history', N'OBJECT', N'INSERT')
    WHERE OBJECT_ID(N'dbo.chokaq_schema_history', N'U') IS NOT NULL
    UNION ALL
    SELECT
        9,
        N'CREATE ROLE in database ' + DB_NAME() COLLATE DATABASE_DEFAULT,
        HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE ROLE')
    /* Babelfish does not know this one and says no to everybody. */
    WHERE SERVERPROPERTY(N'Babelfish') IS NULL
        AND (
            DATABASE_PRINCIPAL_ID(N'chokaq_reader') IS NULL
            OR DATABASE_PRINCIPAL_ID(N'chokaq_worker') IS NULL
            OR DATABASE_PRINCIPAL_ID(N'chokaq_operator') IS NULL
            OR DATABASE_PRINCIPAL_ID(N'chokaq_admin') IS NULL
        )
) AS r
WHERE r.IsHeld = 0
ORDER BY r.Place;
