/*
chokaq.check_json: refuse a text that is not one well-formed JSON value, and say where it breaks

Twin         mssql/usp_CheckJson.sql
Errors       QC004, naming the parameter that p_parameter says
*/
CREATE OR REPLACE FUNCTION chokaq.check_json(p_value text, p_parameter text)
RETURNS void
LANGUAGE plpgsql
IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_context text;
    v_detail text;
BEGIN
    PERFORM p_value::json;
EXCEPTION WHEN invalid_text_representation OR untranslatable_character OR statement_too_complex THEN
    GET STACKED DIAGNOSTICS v_detail = PG_EXCEPTION_DETAIL, v_context = PG_EXCEPTION_CONTEXT;
    /* The context's first line is the engine's "JSON data, line 3: ...": the place. */
    RAISE EXCEPTION USING ERRCODE = 'QC004', MESSAGE = format(
        '%s is not valid JSON: %s (%s)',
        p_parameter, COALESCE(NULLIF(v_detail, ''), SQLERRM), split_part(v_context, E'\n', 1)
    );
END;
$$;

REVOKE ALL ON FUNCTION chokaq.check_json(text, text) FROM PUBLIC;
