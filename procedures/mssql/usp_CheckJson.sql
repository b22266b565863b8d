/*
chokaq.usp_CheckJson: refuse a text that is not one well-formed JSON value, and say where it breaks

Twin         postgres/check_json.sql
Errors       59004, naming the parameter that @Parameter says
Transaction  joining; returns no rows
*/
CREATE OR ALTER PROCEDURE chokaq.usp_CheckJson @Value NVARCHAR(MAX), @Parameter NVARCHAR(128)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;

    DECLARE @Count INT, @Message NVARCHAR(2048) = N'it is not one well-formed JSON value.';

    IF @Value IS NULL
        RETURN;

    /* In brackets, because ISJSON before SQL Server 2022 knows objects and arrays only. */
    IF ISJSON(N'[' + @Value + N']') = 1
    BEGIN
        SELECT @Count = COUNT(*) FROM OPENJSON(N'[' + @Value + N']') AS j;

        IF @Count = 1
            RETURN;
    END;
    ELSE IF SERVERPROPERTY(N'Babelfish') IS NULL
    BEGIN
        /* Error 13609 says which character is wrong, and where. Babelfish's own error cannot be caught. */
        BEGIN TRY
            SELECT @Count = COUNT(*) FROM OPENJSON(N'[' + @Value + N']') AS j;
        END TRY
        BEGIN CATCH
            /* THROW takes a single % for a format. */
            SET @Message = REPLACE(LEFT(ERROR_MESSAGE(), 1000), N'%', N'%%') +
                N' (The position counts one more, for a bracket before it.)';
        END CATCH;
    END;

    SET @Message = @Parameter + N' is not valid JSON: ' + @Message;
    THROW 59004, @Message, 1;
END;
