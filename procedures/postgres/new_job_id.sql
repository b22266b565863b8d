/*
chokaq.new_job_id: an id that sorts by the time it was made (UUID version 7, 36 characters)

Twin         mssql/fn_JobIdAt.sql
Result       text
*/
CREATE OR REPLACE FUNCTION chokaq.new_job_id()
RETURNS text
LANGUAGE sql
VOLATILE
AS $$
    SELECT
        substr(s.ms, 1, 8) || '-' || substr(s.ms, 9, 4) || '-7' || substr(s.tail, 16, 3) || substr(s.tail, 19, 18)
    FROM (
        SELECT
            lpad(to_hex(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') AS ms,
            gen_random_uuid()::text AS tail
    ) AS s;
$$;

REVOKE ALL ON FUNCTION chokaq.new_job_id() FROM PUBLIC;
