/*
chokaq.get_version: which kit and which contract this database speaks

Twin         mssql/usp_GetVersion.sql
Result       one row: kit_version, contract_version, dialect, server_time_utc (the clock that all times are by)
Transaction  reading
Granted to   chokaq_reader, chokaq_worker
Example      SELECT * FROM chokaq.get_version();
*/
CREATE OR REPLACE FUNCTION chokaq.get_version()
RETURNS TABLE (kit_version text, contract_version integer, dialect text, server_time_utc timestamptz)
LANGUAGE sql
VOLATILE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT '0.1.0', 1, 'postgres', clock_timestamp();
$$;

COMMENT ON FUNCTION chokaq.get_version() IS 'Which kit and which contract this database speaks';

REVOKE ALL ON FUNCTION chokaq.get_version() FROM PUBLIC;
