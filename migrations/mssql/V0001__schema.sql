/* A database that came from SQL Server 2014 keeps a level at which OPENJSON does not exist. */
IF SERVERPROPERTY(N'Babelfish') IS NULL
   AND (SELECT d.compatibility_level FROM sys.databases AS d WHERE d.database_id = DB_ID()) < 130
    THROW 59002, N'The compatibility level of the database must be 130 or higher.', 1;

/* CREATE SCHEMA must be alone in its batch. */
EXECUTE (N'CREATE SCHEMA chokaq;');
