/*
chokaq.fn_Utf16Length: the length of a text in UTF-16 code units, trailing spaces included

Twin         postgres/utf16_length.sql
Result       INT; NULL for NULL
*/
CREATE OR ALTER FUNCTION chokaq.fn_Utf16Length (@Value NVARCHAR(4000))
RETURNS INT
AS
BEGIN
    DECLARE @Length INT = DATALENGTH(@Value) / 2, @Place INT = 1;

    /* Babelfish stores UTF-8: there DATALENGTH says nothing about code units and LEN counts characters. */
    IF DATALENGTH(N'x') = 1
    BEGIN
        SET @Length = LEN(@Value + N'x') - 1;

        IF DATALENGTH(@Value) > @Length
        BEGIN
            WHILE @Place <= LEN(@Value + N'x') - 1
            BEGIN
                IF UNICODE(SUBSTRING(@Value, @Place, 1)) > 65535
                    SET @Length = @Length + 1;

                SET @Place = @Place + 1;
            END;
        END;
    END;

    RETURN @Length;
END;
