/*
ChokaQ SQL {{kit}} for SQL Server: schema chokaq, migrations {{from}} to {{until}}.

    sqlcmd -S SERVER -d DATABASE -b -i FILE
    or open it in SSMS, choose the database, and execute

It is safe to run again: what dbo.chokaq_schema_history has is passed over. Each migration is one transaction with its
row there, under the lock of the deployment. After an error nothing that follows does anything, though the client may go
on; mend the cause and run it again. chokaq migrate takes what this script did for its own work.
*/
SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER ON;
SET NUMERIC_ROUNDABORT OFF;
SET IMPLICIT_TRANSACTIONS OFF;
SET NOCOUNT, XACT_ABORT ON;
DROP TABLE IF EXISTS #ChokaqMigrations;
GO

/* May this be deployed here? When it may not, there is no #ChokaqMigrations, and the batches below do nothing. */
IF @@TRANCOUNT > 0
    THROW 59010, N'The script must not run inside a transaction.', 1;

IF DB_NAME() IN (N'master', N'model', N'msdb', N'tempdb')
    THROW 59002, N'This is a system database. Name yours: sqlcmd -d DATABASE, or the list of databases in SSMS.', 1;

BEGIN TRY
    DECLARE @Lock INT, @Problem NVARCHAR(2000);

    BEGIN TRANSACTION;

    EXECUTE @Lock = sp_getapplock
        @Resource = N'{{lock}}', @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = 0;

    IF @Lock < 0
    BEGIN
        RAISERROR (N'another deployment works on this database; waiting', 0, 1) WITH NOWAIT;

        EXECUTE @Lock = sp_getapplock
            @Resource = N'{{lock}}', @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = -1;
    END;

    IF @Lock < 0
        THROW 59090, N'The lock of the deployment cannot be taken.', 1;

    {{history_table}}

    CREATE TABLE #ChokaqMigrations (
        Version INT NOT NULL PRIMARY KEY,
        Name NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
        Checksum NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL
    );

    INSERT INTO #ChokaqMigrations (Version, Name, Checksum)
    VALUES
        {{migrations}};

    SELECT TOP (1)
        @Problem = CASE
            WHEN m.Version IS NULL THEN N'{{unknown}}'
            ELSE N'{{changed}}'
        END +
            N' V' + RIGHT(N'000' + CONVERT(NVARCHAR(10), h.version), 4) + N'__' + h.name
    FROM {{history}} AS h
    LEFT JOIN #ChokaqMigrations AS m
        ON m.Version = h.version
    WHERE m.Version IS NULL
          OR m.Name <> h.name COLLATE Latin1_General_BIN2
          OR m.Checksum <> h.checksum COLLATE Latin1_General_BIN2
    ORDER BY h.version;

    IF @Problem IS NULL
        SELECT TOP (1)
            @Problem = CASE
                WHEN m.Version < {{first}} THEN N'{{missing}}'
                ELSE N'{{skipped}}'
            END +
                N' V' + RIGHT(N'000' + CONVERT(NVARCHAR(10), m.Version), 4) + N'__' + m.Name
        FROM #ChokaqMigrations AS m
        WHERE (m.Version < {{first}} OR m.Version < (SELECT MAX(h.version) FROM {{history}} AS h))
              AND NOT EXISTS (SELECT 1 FROM {{history}} AS h WHERE h.version = m.Version)
        ORDER BY m.Version;

    IF @Problem IS NOT NULL
        THROW 59002, @Problem, 1;

    COMMIT TRANSACTION;
END TRY
BEGIN CATCH
    IF @@TRANCOUNT > 0
        ROLLBACK TRANSACTION;

    THROW;
END CATCH;
GO
