/*
chokaq.usp_EnsureQueue: give a queue its row, with the default policy

Twin         postgres/ensure_queues.sql
Result       no rows; @IsNew: this call made it
Transaction  joining
Locks        Queues, QueueClaims, QueueTotals
*/
CREATE OR ALTER PROCEDURE chokaq.usp_EnsureQueue @Queue NVARCHAR(255), @IsNew BIT = 0 OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;

    SET @IsNew = 0;

    /*
    Almost always there: read without a lock, before the key range is locked against a rival. The three rows are made in
    one transaction, so one tells of all; the totals are not asked, because a fold holds them.
    */
    IF EXISTS (SELECT 1 FROM chokaq.Queues AS q WHERE q.Queue = @Queue)
        RETURN;

    INSERT INTO chokaq.Queues (Queue)
    SELECT @Queue WHERE NOT EXISTS (SELECT 1 FROM chokaq.Queues AS q WITH (UPDLOCK, HOLDLOCK) WHERE q.Queue = @Queue);

    SET @IsNew = @@ROWCOUNT;

    INSERT INTO chokaq.QueueClaims (Queue)
    SELECT @Queue
    WHERE NOT EXISTS (SELECT 1 FROM chokaq.QueueClaims AS c WITH (UPDLOCK, HOLDLOCK) WHERE c.Queue = @Queue);

    INSERT INTO chokaq.QueueTotals (Queue)
    SELECT @Queue
    WHERE NOT EXISTS (SELECT 1 FROM chokaq.QueueTotals AS t WITH (UPDLOCK, HOLDLOCK) WHERE t.Queue = @Queue);
END;
