/*
chokaq.usp_FoldCounters: move committed counter deltas into the totals and the metric buckets

Twin         postgres/fold_counters.sql
Result       one row: FoldedCount
Errors       59001
Transaction  joining; one folder at a time, a second one returns 0 at once
Locks        QueueTotals, CounterDeltas, MetricBuckets
Granted to   chokaq_worker
Example      EXECUTE chokaq.usp_FoldCounters;
*/
CREATE OR ALTER PROCEDURE chokaq.usp_FoldCounters @BatchSize INT = 10000
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;

    DECLARE @FoldedCount INT;

    IF @BatchSize IS NULL OR @BatchSize NOT BETWEEN 1 AND 100000
        THROW 59001, N'@BatchSize must be 1 to 100000.', 1;

    EXECUTE chokaq.usp_FoldDeltas @BatchSize = @BatchSize, @FoldedCount = @FoldedCount OUTPUT;

    SELECT @FoldedCount AS FoldedCount;
END;
