
DO $script$
BEGIN
    IF (SELECT count(*) FROM {{history}} AS h WHERE h.version <= {{last}}) < {{count}} THEN
        RAISE EXCEPTION USING ERRCODE = 'QC002',
            MESSAGE = 'Not deployed to the end: the first error above says why. Run the script again.';
    END IF;
END;
$script$;

\echo deployed up to {{until}}
