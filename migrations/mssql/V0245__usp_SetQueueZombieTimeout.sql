/*
chokaq.usp_SetQueueZombieTimeout: say after how long without a heartbeat a job of a queue is a zombie; NULL: 600 seconds

Twin         postgres/set_queue_zombie_timeout.sql
Result       one row: Outcome and the queue's row, as usp_GetQueues gives it
Outcomes     created (with the default policy otherwise) | updated | unchanged (nothing differed)
Errors       59001
Transaction  joining
Locks        Queues, QueueClaims and QueueTotals (a new queue only), history
Granted to   chokaq_operator
Example      EXECUTE chokaq.usp_SetQueueZombieTimeout @Queue = N'mail', @ZombieTimeoutSeconds = 120, @ModifiedBy = N'ann';
*/
CREATE OR ALTER PROCEDURE chokaq.usp_SetQueueZombieTimeout
    @Queue NVARCHAR(4000),
    @ZombieTimeoutSeconds INT,
    @ModifiedBy NVARCHAR(4000)
AS
BEGIN
    SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, NOCOUNT, XACT_ABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET TEXTSIZE 2147483647;

    IF @ZombieTimeoutSeconds < 1
        THROW 59001, N'@ZombieTimeoutSeconds must be NULL or 1 or more seconds.', 1;

    EXECUTE chokaq.usp_ChangeQueue
        @Queue = @Queue,
        @ModifiedBy = @ModifiedBy,
        @ZombieTimeoutSeconds = @ZombieTimeoutSeconds,
        @SetsZombieTimeout = 1;
END;
