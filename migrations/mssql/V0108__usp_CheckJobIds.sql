/*
chokaq.usp_CheckJobIds: refuse a set of job ids that is no JSON array of at most @Max ids

Twin         postgres/checked_ids.sql
Errors       59001, 59004
Transaction  joining; returns no rows
*/
CREATE OR ALTER PROCEDURE chokaq.usp_CheckJobIds
    @JobIds NVARCHAR(MAX),
    @Max INT /* NULL: any number */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;

    DECLARE @Message NVARCHAR(2048);

    IF @JobIds IS NULL
        THROW 59001, N'@JobIds must be a JSON array of job ids.', 1;

    EXECUTE chokaq.usp_CheckJson @Value = @JobIds, @Parameter = N'@JobIds';

    IF chokaq.fn_IsJsonArray(@JobIds) = 0
        THROW 59001, N'@JobIds must be a JSON array of job ids.', 1;

    IF EXISTS (SELECT 1 FROM OPENJSON(@JobIds) AS j WHERE j.[type] <> 1)
       OR EXISTS (SELECT 1 FROM chokaq.fn_JsonTexts(@JobIds) AS t WHERE chokaq.fn_IsName(t.Value, 50) = 0)
        THROW 59001, N'@JobIds must hold ids of 1 to 50 characters without white space at either end.', 1;

    IF @Max < (SELECT COUNT(*) FROM chokaq.fn_JsonTexts(@JobIds) AS t)
    BEGIN
        SET @Message = N'@JobIds must hold at most ' + CONVERT(NVARCHAR(10), @Max) + N' ids.';
        THROW 59001, @Message, 1;
    END;
END;
