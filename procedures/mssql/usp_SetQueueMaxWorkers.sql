/*
chokaq.usp_SetQueueMaxWorkers: say how many jobs of a queue workers may hold at once; NULL: any number

Twin         postgres/set_queue_max_workers.sql
Result       one row: Outcome and the queue's row, as usp_GetQueues gives it
Outcomes     created (with the default policy otherwise) | updated | unchanged (nothing differed)
Errors       59001
Transaction  joining
Locks        Queues, QueueClaims and QueueTotals (a new queue only), history
Granted to   chokaq_operator
Example      EXECUTE chokaq.usp_SetQueueMaxWorkers @Queue = N'mail', @MaxWorkers = 4, @ModifiedBy = N'ann';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_SetQueueMaxWorkers
    @Queue NVARCHAR(4000),
    @MaxWorkers INT,
    @ModifiedBy NVARCHAR(4000)
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;

    IF @MaxWorkers < 0
        THROW 59001, N'@MaxWorkers must be NULL or 0 or more.', 1;

    EXECUTE chokaq.usp_ChangeQueue
        @Queue = @Queue,
        @ModifiedBy = @ModifiedBy,
        @MaxWorkers = @MaxWorkers,
        @SetsMaxWorkers = 1;
END;
