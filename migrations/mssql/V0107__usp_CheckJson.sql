/*
chokaq.usp_CheckJson: refuse a text that is not one well-formed JSON value, and say where it breaks

Twin         postgres/check_json.sql
Errors       59004, naming the parameter that @Parameter says
Transaction  joining; returns no rows
*/
CREATE OR ALTER PROCEDURE chokaq.usp_CheckJson
    @Value NVARCHAR(MAX),
    @Parameter NVARCHAR(128),
    @IsKept BIT = 0 /* 1: it is kept as it is; OPENJSON need not read it */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;

    DECLARE
        @Count INT,
        @Message NVARCHAR(2048) = N'it is not one well-formed JSON value.',
        @Type NVARCHAR(10) = CASE WHEN @IsKept = 1 THEN N'json' ELSE N'jsonb' END;

    IF @Value IS NULL
        RETURN;

    IF SERVERPROPERTY(N'Babelfish') IS NOT NULL
    BEGIN
        /* chokaq-lint: allow dynamic-sql: SQL Server does not know the function, which there nobody calls. */
        BEGIN TRY
            /*
            Babelfish's OPENJSON refuses what its ISJSON takes, half of a surrogate pair and \u0000, and that error cannot
            be caught. Nesting beyond its stack can.
            */
            EXECUTE sp_executesql
                N'SELECT @Count = CONVERT(INT, pg_catalog.pg_input_is_valid(@Value, @Type));',
                N'@Value NVARCHAR(MAX), @Type NVARCHAR(10), @Count INT OUTPUT',
                @Value,
                @Type,
                @Count OUTPUT;
        END TRY
        BEGIN CATCH
            SET @Message = ERROR_MESSAGE();
        END CATCH;
    END;
    /* In brackets, because ISJSON before SQL Server 2022 knows objects and arrays only. */
    ELSE IF ISJSON(N'[' + @Value + N']') = 1
        SELECT @Count = COUNT(*) FROM OPENJSON(N'[' + @Value + N']') AS j;
    ELSE
    BEGIN
        /* Error 13609 says which character is wrong, and where. */
        BEGIN TRY
            SELECT @Count = COUNT(*) FROM OPENJSON(N'[' + @Value + N']') AS j;
        END TRY
        BEGIN CATCH
            /* THROW takes a single % for a format. */
            SET @Message = REPLACE(LEFT(ERROR_MESSAGE(), 1000), N'%', N'%%') +
                N' (The position counts one more, for a bracket before it.)';
        END CATCH;

        SET @Count = NULL;
    END;

    IF @Count = 1
        RETURN;

    SET @Message = @Parameter + N' is not valid JSON: ' + @Message;
    THROW 59004, @Message, 1;
END;
