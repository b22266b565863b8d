/*
chokaq.json_error: what is wrong with a text as JSON, and where; NULL when it is well formed

Twin         mssql/fn_JsonError.sql
Result       text
*/
CREATE OR REPLACE FUNCTION chokaq.json_error(p_value text)
RETURNS text
LANGUAGE plpgsql
IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_context text;
    v_detail text;
BEGIN
    PERFORM p_value::json;
    RETURN NULL;
EXCEPTION WHEN invalid_text_representation OR untranslatable_character OR statement_too_complex THEN
    GET STACKED DIAGNOSTICS v_detail = PG_EXCEPTION_DETAIL, v_context = PG_EXCEPTION_CONTEXT;
    /* The context's first line is the engine's "JSON data, line 3: ...": the place. */
    RETURN COALESCE(NULLIF(v_detail, ''), SQLERRM) || ' (' || split_part(v_context, E'\n', 1) || ')';
END;
$$;

REVOKE ALL ON FUNCTION chokaq.json_error(text) FROM PUBLIC;
