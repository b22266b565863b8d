/*
chokaq.usp_GetVersion: which kit and which contract this database speaks

Twin         postgres/get_version.sql
Result       one row: KitVersion, ContractVersion, Dialect, ServerTimeUtc (the clock that all times are by)
Transaction  reading
Granted to   chokaq_reader, chokaq_worker
Example      EXECUTE chokaq.usp_GetVersion;
*/
CREATE OR ALTER PROCEDURE chokaq.usp_GetVersion
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;

    SELECT N'0.1.0' AS KitVersion, 1 AS ContractVersion, N'mssql' AS Dialect, SYSUTCDATETIME() AS ServerTimeUtc;
END;
