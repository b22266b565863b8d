/* Removes ChokaQ SQL and every job in it. There is no way back but a backup. */
SET NOCOUNT, XACT_ABORT ON;

DECLARE @Sql NVARCHAR(MAX) = N'';

/* All or nothing: a view or a key of yours that reads a table stops it. */
BEGIN TRANSACTION;

/* What reads comes before what is read: procedures, views, functions, tables. */
SELECT @Sql = STRING_AGG(CONVERT(NVARCHAR(MAX), d.Statement), N' ') WITHIN GROUP (ORDER BY d.Place, d.Statement)
FROM (
    SELECT
        CASE o.type
            WHEN 'P' THEN 1
            WHEN 'V' THEN 2
            WHEN 'U' THEN 4
            ELSE 3
        END AS Place,
        N'DROP ' +
        CASE o.type
            WHEN 'P' THEN N'PROCEDURE'
            WHEN 'V' THEN N'VIEW'
            WHEN 'U' THEN N'TABLE'
            ELSE N'FUNCTION'
        END +
        N' chokaq.' +
        QUOTENAME(o.name) +
        N';' AS Statement
    FROM sys.objects AS o
    WHERE o.schema_id = SCHEMA_ID(N'chokaq') AND o.type IN ('P', 'V', 'U', 'FN', 'IF')
) AS d;

IF @Sql <> N''
    EXECUTE sp_executesql @Sql;

/* The roles, which must be empty first. */
SET @Sql = N'';

SELECT @Sql = STRING_AGG(CONVERT(NVARCHAR(MAX), d.Statement), N' ') WITHIN GROUP (ORDER BY d.Place, d.Statement)
FROM (
    SELECT 1 AS Place, N'ALTER ROLE ' + QUOTENAME(r.name) + N' DROP MEMBER ' + QUOTENAME(u.name) + N';' AS Statement
    FROM sys.database_role_members AS m
    INNER JOIN sys.database_principals AS r ON r.principal_id = m.role_principal_id
    INNER JOIN sys.database_principals AS u ON u.principal_id = m.member_principal_id
    WHERE r.name IN (N'chokaq_reader', N'chokaq_worker', N'chokaq_operator', N'chokaq_admin')
    UNION ALL
    SELECT 2, N'DROP ROLE ' + QUOTENAME(r.name) + N';'
    FROM sys.database_principals AS r
    WHERE r.name IN (N'chokaq_reader', N'chokaq_worker', N'chokaq_operator', N'chokaq_admin')
) AS d;

IF @Sql <> N''
    EXECUTE sp_executesql @Sql;

DROP SEQUENCE IF EXISTS chokaq.JobNumbers;
DROP SCHEMA IF EXISTS chokaq;
DROP TABLE IF EXISTS dbo.chokaq_schema_history;

COMMIT TRANSACTION;
