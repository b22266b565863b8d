/*
chokaq.usp_FoldSometimes: fold the counters about once in 500 calls, so that deltas stay few without a timer

Twin         postgres/is_fold_due.sql
Transaction  does nothing inside one: the totals would stay locked until the caller commits
Locks        QueueTotals, CounterDeltas
*/
CREATE OR ALTER PROCEDURE chokaq.usp_FoldSometimes
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;

    DECLARE @FoldedCount INT;

    IF @@TRANCOUNT > 0 OR ABS(CHECKSUM(NEWID()) % 500) <> 0
        RETURN;

    BEGIN TRY
        EXECUTE chokaq.usp_FoldDeltas @BatchSize = 5000, @FoldedCount = @FoldedCount OUTPUT;
    END TRY
    BEGIN CATCH
        /* The caller's work is committed; a fold that failed leaves its deltas to the next one. */
        SET @FoldedCount = 0;
    END CATCH;
END;
