/*
chokaq.utf16_length: the length of a text as SQL Server counts it, in UTF-16 code units

Twin         mssql/fn_Utf16Length.sql
Result       integer; NULL for NULL
*/
CREATE OR REPLACE FUNCTION chokaq.utf16_length(p_value text)
RETURNS integer
LANGUAGE sql
IMMUTABLE
AS $$
    SELECT CASE
        WHEN octet_length(p_value) = char_length(p_value) THEN char_length(p_value)
        ELSE char_length(p_value) + char_length(regexp_replace(p_value, E'[^\\U00010000-\\U0010FFFF]', '', 'g'))
    END;
$$;

REVOKE ALL ON FUNCTION chokaq.utf16_length(text) FROM PUBLIC;
