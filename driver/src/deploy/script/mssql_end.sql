
IF OBJECT_ID(N'tempdb..#ChokaqMigrations') IS NULL
    THROW 59002, N'Not deployed: the first error above says why.', 1;

IF EXISTS (
    SELECT 1
    FROM #ChokaqMigrations AS m
    WHERE m.Version <= {{last}} AND NOT EXISTS (SELECT 1 FROM {{history}} AS h WHERE h.version = m.Version)
)
    THROW 59002, N'Not deployed to the end: the first error above says why. Run the script again.', 1;

PRINT N'deployed up to {{until}}';
DROP TABLE #ChokaqMigrations;
GO
