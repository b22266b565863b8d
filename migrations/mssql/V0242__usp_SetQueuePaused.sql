/*
chokaq.usp_SetQueuePaused: pause a queue, whose jobs then wait, or let it go on

Twin         postgres/set_queue_paused.sql
Result       one row: Outcome and the queue's row, as usp_GetQueues gives it
Outcomes     created (with the default policy otherwise) | updated | unchanged (nothing differed)
Errors       59001
Transaction  joining
Locks        Queues, QueueClaims and QueueTotals (a new queue only), history
Granted to   chokaq_operator
Example      EXECUTE chokaq.usp_SetQueuePaused @Queue = N'mail', @IsPaused = 1, @ModifiedBy = N'ann';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_SetQueuePaused @Queue NVARCHAR(4000), @IsPaused BIT, @ModifiedBy NVARCHAR(4000)
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;

    IF @IsPaused IS NULL
        THROW 59001, N'@IsPaused must be 0 or 1.', 1;

    EXECUTE chokaq.usp_ChangeQueue @Queue = @Queue, @ModifiedBy = @ModifiedBy, @IsPaused = @IsPaused;
END;
