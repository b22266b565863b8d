/*
chokaq.fold_sometimes: fold the counters about once in 500 calls, so that deltas stay few without a timer

Twin         none: T-SQL folds after its own COMMIT, in place
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
    IF random() < 0.002 THEN
        PERFORM chokaq.fold_counters(5000);
    END IF;
END;
$$;

REVOKE ALL ON FUNCTION chokaq.fold_sometimes() FROM PUBLIC;
