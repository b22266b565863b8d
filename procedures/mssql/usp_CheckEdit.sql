/*
chokaq.usp_CheckEdit: refuse the arguments of an edit that are not allowed

Twin         postgres/check_edit.sql
Errors       59001, 59004
Transaction  joining; returns no rows
*/
CREATE OR ALTER PROCEDURE chokaq.usp_CheckEdit
    @JobId NVARCHAR(4000),
    @Payload NVARCHAR(MAX),
    @Tags NVARCHAR(4000),
    @ModifiedBy NVARCHAR(4000),
    @ClearPayload BIT,
    @ClearTags BIT,
    @AllowInvalidJson BIT,
    @HasMore BIT /* 1: something else is to change */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;

    IF chokaq.fn_IsName(@JobId, 50) = 0
        THROW 59001, N'@JobId must be 1 to 50 characters without white space at either end.', 1;

    IF chokaq.fn_Utf16Length(@Tags) > 1000
        THROW 59001, N'@Tags must be NULL or at most 1000 characters.', 1;

    IF chokaq.fn_IsName(@ModifiedBy, 100) = 0
        THROW 59001, N'@ModifiedBy must be 1 to 100 characters without white space at either end.', 1;

    IF @ClearPayload IS NULL OR (@ClearPayload = 1 AND @Payload IS NOT NULL)
        THROW 59001, N'@ClearPayload must be 0 or 1, and 0 when @Payload is given.', 1;

    IF @ClearTags IS NULL OR (@ClearTags = 1 AND @Tags IS NOT NULL)
        THROW 59001, N'@ClearTags must be 0 or 1, and 0 when @Tags is given.', 1;

    IF @AllowInvalidJson IS NULL
        THROW 59001, N'@AllowInvalidJson must be 0 or 1.', 1;

    IF @Payload IS NULL AND @Tags IS NULL AND @ClearPayload = 0 AND @ClearTags = 0 AND @HasMore = 0
        THROW 59001, N'@Payload must be given where nothing else is to change.', 1;

    IF @AllowInvalidJson = 0
        EXECUTE chokaq.usp_CheckJson @Value = @Payload, @Parameter = N'@Payload', @IsKept = 1;
END;
