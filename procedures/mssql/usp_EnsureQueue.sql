/*
chokaq.usp_EnsureQueue: give a queue its row, with the default policy

Twin         postgres/ensure_queues.sql
Transaction  joining; returns no rows
Locks        Queues, QueueClaims, QueueTotals
*/
CREATE OR ALTER PROCEDURE chokaq.usp_EnsureQueue @Queue NVARCHAR(255)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;

    /* Almost always there: read without a lock, before the key range is locked against a rival. */
    IF EXISTS (SELECT 1 FROM chokaq.QueueTotals AS t WHERE t.Queue = @Queue)
        RETURN;

    INSERT INTO chokaq.Queues (Queue)
    SELECT @Queue WHERE NOT EXISTS (SELECT 1 FROM chokaq.Queues AS q WITH (UPDLOCK, HOLDLOCK) WHERE q.Queue = @Queue);

    INSERT INTO chokaq.QueueClaims (Queue)
    SELECT @Queue
    WHERE NOT EXISTS (SELECT 1 FROM chokaq.QueueClaims AS c WITH (UPDLOCK, HOLDLOCK) WHERE c.Queue = @Queue);

    INSERT INTO chokaq.QueueTotals (Queue)
    SELECT @Queue
    WHERE NOT EXISTS (SELECT 1 FROM chokaq.QueueTotals AS t WITH (UPDLOCK, HOLDLOCK) WHERE t.Queue = @Queue);
END;
