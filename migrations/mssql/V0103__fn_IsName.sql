/*
chokaq.fn_IsName: 1 for 1 to @Max characters without white space at either end

Twin         postgres/is_name.sql
Result       BIT, never NULL; characters are UTF-16 code units
*/
CREATE OR ALTER FUNCTION chokaq.fn_IsName (@Value NVARCHAR(4000), @Max INT)
RETURNS BIT
AS
BEGIN
    DECLARE @First INT = UNICODE(LEFT(@Value, 1)), @Last INT = UNICODE(RIGHT(@Value, 1));

    IF @Value IS NULL OR DATALENGTH(@Value) = 0 OR chokaq.fn_Utf16Length(@Value) > @Max
        RETURN 0;

    IF @First IN (32, 133, 160, 5760, 8232, 8233, 8239, 8287, 12288)
       OR @Last IN (32, 133, 160, 5760, 8232, 8233, 8239, 8287, 12288)
        RETURN 0;

    IF @First BETWEEN 9 AND 13 OR @First BETWEEN 8192 AND 8202 OR @Last BETWEEN 9 AND 13 OR @Last BETWEEN 8192 AND 8202
        RETURN 0;

    RETURN 1;
END;
