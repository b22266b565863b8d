/*
chokaq.fn_JsonString: a short text as a JSON string, in its quotes

Twin         none: a text[] needs no writing
Result       NVARCHAR(400)
*/
CREATE OR ALTER FUNCTION chokaq.fn_JsonString (@Value NVARCHAR(50))
RETURNS NVARCHAR(400)
AS
BEGIN
    DECLARE @Code INT = 1, @Text NVARCHAR(400) = STRING_ESCAPE(@Value, 'json');

    /* Babelfish escapes the bytes of a letter outside ASCII, each by itself. */
    IF @Text <> @Value AND STRING_ESCAPE(NCHAR(228), 'json') <> NCHAR(228)
    BEGIN
        SET @Text = REPLACE(REPLACE(@Value, N'\', N'\\'), N'"', N'\"');

        WHILE @Code < 32
        BEGIN
            SET @Text = REPLACE(
                    @Text,
                    NCHAR(@Code),
                    N'\u00' +
                    CASE WHEN @Code < 16 THEN N'0' ELSE N'1' END +
                    SUBSTRING(N'0123456789abcdef', @Code % 16 + 1, 1)
                );
            SET @Code = @Code + 1;
        END;
    END;

    RETURN N'"' + @Text + N'"';
END;
