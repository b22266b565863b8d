/*
chokaq.get_version: which kit and which contract this database speaks

Twin         mssql/usp_GetVersion.sql
Result       one row: kit_version, contract_version, dialect
Transaction  reading
Granted to   chokaq_reader
Example      SELECT * FROM chokaq.get_version();
*/
CREATE OR REPLACE FUNCTION chokaq.get_version()
RETURNS TABLE (kit_version text, contract_version integer, dialect text)
LANGUAGE sql
STABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT '0.1.0', 1, 'postgres';
$$;

COMMENT ON FUNCTION chokaq.get_version() IS 'Which kit and which contract this database speaks';

REVOKE ALL ON FUNCTION chokaq.get_version() FROM PUBLIC;
