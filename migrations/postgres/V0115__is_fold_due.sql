/*
chokaq.is_fold_due: true about once in 500 calls; who is told so folds the counters, so that deltas stay few without a timer

Twin         mssql/usp_FoldSometimes.sql
*/
CREATE OR REPLACE FUNCTION chokaq.is_fold_due()
RETURNS boolean
LANGUAGE sql
AS $$
    /* Above READ COMMITTED a fold by another session would be a serialization failure of the caller's work. */
    SELECT random() < 0.002 AND current_setting('transaction_isolation') = 'read committed';
$$;

REVOKE ALL ON FUNCTION chokaq.is_fold_due() FROM PUBLIC;
