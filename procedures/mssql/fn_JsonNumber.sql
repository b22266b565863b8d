/*
chokaq.fn_JsonNumber: a FLOAT as a JSON number, in few digits where they say it exactly

Twin         none: a double precision is cast to text
Result       NVARCHAR(40); NULL for NULL
*/
CREATE OR ALTER FUNCTION chokaq.fn_JsonNumber (@Value FLOAT)
RETURNS NVARCHAR(40)
AS
BEGIN
    DECLARE @Short NVARCHAR(40) = LTRIM(RTRIM(CONVERT(NVARCHAR(40), @Value)));

    RETURN CASE
        WHEN CONVERT(FLOAT, @Short) = @Value THEN @Short
        ELSE LTRIM(RTRIM(CONVERT(NVARCHAR(40), @Value, 3)))
    END;
END;
