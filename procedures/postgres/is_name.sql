/*
chokaq.is_name: true for 1 to p_max characters without white space at either end

Twin         mssql/fn_IsName.sql
Result       boolean, never NULL; characters are UTF-16 code units, as SQL Server counts them
*/
CREATE OR REPLACE FUNCTION chokaq.is_name(p_value text, p_max integer)
RETURNS boolean
LANGUAGE sql
IMMUTABLE
AS $$
    /* E'', because a caller may have standard_conforming_strings off; lengths, because of what its collation may call equal. */
    SELECT
        COALESCE(p_value, '') <> ''
        AND chokaq.is_within(p_value, p_max)
        AND octet_length(p_value) = octet_length(btrim(
            p_value,
            E'\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007'
            '\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'
        ));
$$;

REVOKE ALL ON FUNCTION chokaq.is_name(text, integer) FROM PUBLIC;
