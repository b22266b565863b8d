/*
Removes ChokaQ SQL. There is no way back but a backup.

It refuses while there is work that is not done, in JobsHot or JobsDLQ. To remove that too, write 1 for @WithAllJobs, or say
first in the same session: EXECUTE sp_set_session_context N'chokaq.uninstall', N'with all jobs';
What is done goes in any case: the Archive, the counters and the operators' history. Copy what you must keep.

All or nothing: a view or a key of yours that reads a table stops it. The roles go too, and their members are in none.
*/
SET NOCOUNT, XACT_ABORT ON;

DECLARE @WithAllJobs BIT = 0, @HotCount INT = 0, @DLQCount INT = 0, @Message NVARCHAR(400), @Sql NVARCHAR(MAX) = N'';

IF CONVERT(NVARCHAR(100), SESSION_CONTEXT(N'chokaq.uninstall')) = N'with all jobs'
    SET @WithAllJobs = 1;

BEGIN TRANSACTION;

/* Nothing comes in between the count and the end. */
IF OBJECT_ID(N'chokaq.JobsHot', N'U') IS NOT NULL
    SELECT @HotCount = COUNT(*) FROM chokaq.JobsHot WITH (TABLOCKX, HOLDLOCK);

IF OBJECT_ID(N'chokaq.JobsDLQ', N'U') IS NOT NULL
    SELECT @DLQCount = COUNT(*) FROM chokaq.JobsDLQ WITH (TABLOCKX, HOLDLOCK);

IF @HotCount + @DLQCount > 0 AND @WithAllJobs = 0
BEGIN
    ROLLBACK TRANSACTION;

    SET @Message = CONCAT(
            @HotCount,
            N' jobs are not done and ',
            @DLQCount,
            N' wait in the DLQ; nothing was removed. To remove them too, write 1 for @WithAllJobs.'
        );

    THROW 50000, @Message, 1;
END;

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
