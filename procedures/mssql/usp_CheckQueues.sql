/*
chokaq.usp_CheckQueues: refuse a set of queue names that is neither NULL nor a JSON array of names

Twin         none: part of fetch_next_batch
Errors       59001, 59004
Transaction  joining; returns no rows
*/
CREATE OR ALTER PROCEDURE chokaq.usp_CheckQueues @Queues NVARCHAR(MAX)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;

    IF @Queues IS NULL
        RETURN;

    EXECUTE chokaq.usp_CheckJson @Value = @Queues, @Parameter = N'@Queues';

    IF chokaq.fn_IsJsonArray(@Queues) = 0
        THROW 59001, N'@Queues must be NULL or a JSON array of names.', 1;

    IF EXISTS (SELECT 1 FROM OPENJSON(@Queues) AS j WHERE j.[type] <> 1)
       OR EXISTS (SELECT 1 FROM chokaq.fn_JsonTexts(@Queues) AS t WHERE chokaq.fn_IsName(t.Value, 255) = 0)
        THROW 59001, N'@Queues must hold names of 1 to 255 characters without white space at either end.', 1;
END;
