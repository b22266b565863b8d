/*
chokaq.usp_SetQueueActive: take a queue out of use, so that nothing is fetched from it, or back into use

Twin         postgres/set_queue_active.sql
Result       one row: Outcome and the queue's row, as usp_GetQueues gives it
Outcomes     created (with the default policy otherwise) | updated | unchanged (nothing differed)
Errors       59001
Transaction  joining
Locks        Queues, QueueClaims and QueueTotals (a new queue only), history
Granted to   chokaq_operator
Example      EXECUTE chokaq.usp_SetQueueActive @Queue = N'mail', @IsActive = 0, @ModifiedBy = N'ann';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_SetQueueActive @Queue NVARCHAR(4000), @IsActive BIT, @ModifiedBy NVARCHAR(4000)
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;

    IF @IsActive IS NULL
        THROW 59001, N'@IsActive must be 0 or 1.', 1;

    EXECUTE chokaq.usp_ChangeQueue @Queue = @Queue, @ModifiedBy = @ModifiedBy, @IsActive = @IsActive;
END;
