/*
chokaq.fn_IsJsonArray: 1 for a text whose first character that counts opens a JSON array

Twin         none: jsonb_typeof
Result       BIT; ISJSON says whether the rest is well formed
*/
CREATE OR ALTER FUNCTION chokaq.fn_IsJsonArray (@Value NVARCHAR(MAX))
RETURNS BIT
AS
BEGIN
    DECLARE @Place INT = 1;

    WHILE SUBSTRING(@Value, @Place, 1) IN (N' ', NCHAR(9), NCHAR(10), NCHAR(13)) AND @Place < 1000
        SET @Place = @Place + 1;

    RETURN CASE WHEN SUBSTRING(@Value, @Place, 1) = N'[' THEN 1 ELSE 0 END;
END;
