/*
chokaq.fold_sometimes: fold the counters about once in 500 calls, so that deltas stay few without a timer

Twin         mssql/usp_FoldSometimes.sql
Transaction  joining
Locks        counters
*/
CREATE OR REPLACE FUNCTION chokaq.fold_sometimes()
RETURNS void
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    /* Above READ COMMITTED a fold by another session would be a serialization failure of the caller's work. */
    IF random() < 0.002 AND current_setting('transaction_isolation') = 'read committed' THEN
        PERFORM chokaq.fold_counters(5000);
    END IF;
END;
$$;

REVOKE ALL ON FUNCTION chokaq.fold_sometimes() FROM PUBLIC;
