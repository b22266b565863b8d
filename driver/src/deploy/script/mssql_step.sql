
/* {{label}} */
IF OBJECT_ID(N'tempdb..#ChokaqMigrations') IS NOT NULL
BEGIN TRY
    BEGIN TRANSACTION;

    DECLARE @Lock INT, @Sql NVARCHAR(MAX);

    EXECUTE @Lock = sp_getapplock
        @Resource = N'{{lock}}', @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = -1;

    IF @Lock < 0
        THROW 59090, N'The lock of the deployment cannot be taken.', 1;

    /* It is the first that the database does not have. */
    IF {{version}} = (
        SELECT MIN(m.Version)
        FROM #ChokaqMigrations AS m
        WHERE NOT EXISTS (SELECT 1 FROM {{history}} AS h WHERE h.version = m.Version)
    )
    BEGIN
        SET @Sql = N'{{sql}}';

        /* The line ends of the migration, whatever became of them on the way here. */
        SET @Sql = REPLACE(@Sql COLLATE Latin1_General_BIN2, NCHAR(13), N'');

        EXECUTE sp_executesql @Sql;

        INSERT INTO {{history}} (version, name, applied_on, checksum)
        SELECT m.Version, m.Name, CONVERT(NVARCHAR(30), SYSUTCDATETIME(), 126) + N'Z', m.Checksum
        FROM #ChokaqMigrations AS m
        WHERE m.Version = {{version}};
    END;

    COMMIT TRANSACTION;

    IF @Sql IS NOT NULL
        PRINT N'applied {{label}}';
END TRY
BEGIN CATCH
    IF @@TRANCOUNT > 0
        ROLLBACK TRANSACTION;

    PRINT N'{{label}} failed; nothing of it is left, and nothing that follows is applied';
    DROP TABLE IF EXISTS #ChokaqMigrations;

    THROW;
END CATCH;
GO
