/*
chokaq.fn_JsonString: a short text as a JSON string, in its quotes

Twin         none: a text[] needs no writing
Result       NVARCHAR(400)
*/
CREATE OR ALTER FUNCTION chokaq.fn_JsonString (@Value NVARCHAR(50))
RETURNS NVARCHAR(400)
AS
BEGIN
    DECLARE @Code INT, @Letter NVARCHAR(2), @Place INT = 1, @Text NVARCHAR(400) = STRING_ESCAPE(@Value, 'json');

    /* Babelfish escapes the bytes of a letter outside ASCII, each by itself, and its REPLACE loses backslashes. */
    IF @Text <> @Value AND STRING_ESCAPE(NCHAR(228), 'json') <> NCHAR(228)
    BEGIN
        SET @Text = N'';

        WHILE @Place < LEN(@Value + N'x')
        BEGIN
            SET @Letter = SUBSTRING(@Value, @Place, 1);
            SET @Code = UNICODE(@Letter);
            SET @Text = @Text +
                CASE
                    WHEN @Code IN (34, 92) THEN N'\' + @Letter
                    WHEN @Code < 32 THEN N'\u00' +
                    CASE WHEN @Code < 16 THEN N'0' ELSE N'1' END +
                    SUBSTRING(N'0123456789abcdef', @Code % 16 + 1, 1)
                    ELSE @Letter
                END;
            SET @Place = @Place + 1;
        END;
    END;

    RETURN N'"' + @Text + N'"';
END;
