/*
chokaq.fn_JobIdAt: an id that sorts by the time it was made (UUID version 7, 36 characters)

Twin         postgres/new_job_id.sql
Result       NVARCHAR(50); a function may not call NEWID, so the caller gives it
*/
CREATE OR ALTER FUNCTION chokaq.fn_JobIdAt (@Now DATETIME2(7), @Random UNIQUEIDENTIFIER)
RETURNS NVARCHAR(50)
AS
BEGIN
    DECLARE
        @Digits NVARCHAR(12) = N'',
        @Left BIGINT = DATEDIFF_BIG(MILLISECOND, CONVERT(DATETIME2(7), '19700101'), @Now),
        @Tail NVARCHAR(36) = LOWER(CONVERT(NVARCHAR(36), @Random));

    WHILE LEN(@Digits) < 12
    BEGIN
        SET @Digits = SUBSTRING(N'0123456789abcdef', CONVERT(INT, @Left % 16) + 1, 1) + @Digits;
        SET @Left = @Left / 16;
    END;

    /* The random id is a version 4 one: its third group says the version, its fourth the variant. */
    RETURN LEFT(@Digits, 8) + N'-' + RIGHT(@Digits, 4) + N'-7' + SUBSTRING(@Tail, 16, 21);
END;
