/*
chokaq.is_within: true for NULL and for text of at most p_max characters

Twin         none: fn_Utf16Length says it in T-SQL
Result       boolean, never NULL; characters are UTF-16 code units, as SQL Server counts them
*/
CREATE OR REPLACE FUNCTION chokaq.is_within(p_value text, p_max integer)
RETURNS boolean
LANGUAGE sql
IMMUTABLE
AS $$
    /* A character takes at least as many bytes in UTF-8 as code units in UTF-16, so most values are settled by the first test. */
    SELECT COALESCE(
        octet_length(p_value) <= p_max
        OR chokaq.utf16_length(p_value) <= p_max,
        true
    );
$$;

REVOKE ALL ON FUNCTION chokaq.is_within(text, integer) FROM PUBLIC;
