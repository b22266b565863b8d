/* Every character of a payload must survive, which only UTF8 promises. */
DO $$
BEGIN
    IF current_setting('server_encoding') <> 'UTF8' THEN
        RAISE EXCEPTION USING ERRCODE = 'QC002',
            MESSAGE = format('The database must have the encoding UTF8, not %s.', current_setting('server_encoding'));
    END IF;
END;
$$;

/* Whatever a role may do here is granted by name. */
CREATE SCHEMA chokaq;

REVOKE ALL ON SCHEMA chokaq FROM PUBLIC;
