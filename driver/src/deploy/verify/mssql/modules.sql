/* The text is compared with the migrations, and is no part of the list; of an encrypted module it is NULL. */
SELECT
    CASE RTRIM(o.type)
        WHEN 'P' THEN 'procedure'
        WHEN 'PC' THEN 'procedure'
        WHEN 'V' THEN 'view'
        WHEN 'TR' THEN 'trigger'
        ELSE 'function'
    END AS kind,
    o.name AS object,
    CASE WHEN o.principal_id IS NULL THEN N'the schema''s' ELSE USER_NAME(o.principal_id) END AS owner,
    CASE WHEN m.uses_quoted_identifier = 1 THEN 'on' ELSE 'off' END AS quoted_identifier,
    CASE WHEN m.uses_ansi_nulls = 1 THEN 'on' ELSE 'off' END AS ansi_nulls,
    CASE
        WHEN m.execute_as_principal_id IS NULL THEN N'caller'
        WHEN m.execute_as_principal_id = -2 THEN N'owner'
        ELSE USER_NAME(m.execute_as_principal_id)
    END AS execute_as,
    m.definition AS text
FROM sys.objects AS o
LEFT JOIN sys.sql_modules AS m ON m.object_id = o.object_id
WHERE o.schema_id = SCHEMA_ID(N'chokaq') AND o.type IN ('P', 'PC', 'V', 'TR', 'FN', 'IF', 'TF', 'FS', 'FT', 'AF');
