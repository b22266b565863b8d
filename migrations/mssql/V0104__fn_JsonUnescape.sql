/*
chokaq.fn_JsonUnescape: a JSON string without its quotes, as text

Twin         none: PostgreSQL's ->> does it
Result       NVARCHAR(MAX); needed on Babelfish only, whose OPENJSON hands strings out still escaped
*/
CREATE OR ALTER FUNCTION chokaq.fn_JsonUnescape (@Value NVARCHAR(MAX))
RETURNS NVARCHAR(MAX)
AS
BEGIN
    DECLARE @Code INT = 1, @Escape NVARCHAR(10), @Mark NVARCHAR(1), @MarkCode INT = 57344;

    IF CHARINDEX(N'\', @Value) = 0 OR @Value IS NULL
        RETURN @Value;

    /* Escaped backslashes stand aside as a private-use character that the text does not have, so that \\n is no line feed. */
    SET @Mark = NCHAR(@MarkCode);

    WHILE CHARINDEX(@Mark, @Value COLLATE Latin1_General_BIN2) > 0
    BEGIN
        SET @MarkCode = @MarkCode + 1;
        SET @Mark = NCHAR(@MarkCode);
    END;

    SET @Value = REPLACE(@Value, N'\\', @Mark);

    /* With the quote that ends the string goes one that ends the text: "a\"" comes as a\. */
    IF RIGHT(@Value, 1) = N'\'
        SET @Value = @Value + N'"';

    SET @Value = REPLACE(@Value, N'\"', N'"');
    SET @Value = REPLACE(@Value, N'\n', NCHAR(10));
    SET @Value = REPLACE(@Value, N'\r', NCHAR(13));
    SET @Value = REPLACE(@Value, N'\t', NCHAR(9));
    SET @Value = REPLACE(@Value, N'\b', NCHAR(8));
    SET @Value = REPLACE(@Value, N'\f', NCHAR(12));

    WHILE @Code < 32 AND CHARINDEX(N'\u00', @Value) > 0
    BEGIN
        SET @Escape = N'\u00' + CONVERT(NVARCHAR(1), @Code / 16) + SUBSTRING(N'0123456789abcdef', @Code % 16 + 1, 1);
        SET @Value = REPLACE(@Value, @Escape, NCHAR(@Code));
        SET @Code = @Code + 1;
    END;

    RETURN REPLACE(@Value, @Mark, N'\');
END;
