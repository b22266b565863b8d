/*
chokaq.usp_CheckFilter: refuse the arguments of a filter of the DLQ that are not allowed

Twin         postgres/check_filter.sql
Errors       59001; 59003 when @IsRequired = 1 and nothing is given
Transaction  joining; returns no rows
*/
CREATE OR ALTER PROCEDURE chokaq.usp_CheckFilter
    @Queue NVARCHAR(4000),
    @Type NVARCHAR(4000),
    @FailureReason INT,
    @FromUtc DATETIME2(7),
    @ToUtc DATETIME2(7),
    @Search NVARCHAR(MAX),
    @IsRequired BIT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;

    IF @Queue IS NOT NULL AND chokaq.fn_IsName(@Queue, 255) = 0
        THROW 59001, N'@Queue must be NULL or 1 to 255 characters without white space at either end.', 1;

    IF @Type IS NOT NULL AND chokaq.fn_IsName(@Type, 255) = 0
        THROW 59001, N'@Type must be NULL or 1 to 255 characters without white space at either end.', 1;

    IF @FailureReason NOT BETWEEN 0 AND 11
        THROW 59001, N'@FailureReason must be NULL or 0 to 11 (see chokaq.FailureReasons).', 1;

    IF DATALENGTH(@Search) = 0 OR LEN(@Search + N'x') > 4001
        THROW 59001, N'@Search must be NULL or 1 to 4000 characters.', 1;

    IF @IsRequired = 1
       AND COALESCE(@Queue, @Type, @Search) IS NULL
       AND @FailureReason IS NULL
       AND COALESCE(@FromUtc, @ToUtc) IS NULL
        THROW 59003, N'At least one of @Queue, @Type, @FailureReason, @FromUtc, @ToUtc and @Search must be given.', 1;
END;
