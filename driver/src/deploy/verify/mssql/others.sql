/* What the kit has none of, so that each is named as something extra. */
SELECT
    CASE RTRIM(o.type)
        WHEN 'F' THEN 'foreign key'
        WHEN 'SN' THEN 'synonym'
        ELSE 'object'
    END AS kind,
    o.name AS object
FROM sys.objects AS o
WHERE o.schema_id = SCHEMA_ID(N'chokaq') AND o.type IN ('F', 'SN', 'SQ', 'R', 'X', 'EC')
UNION ALL
SELECT 'type', y.name FROM sys.types AS y WHERE y.schema_id = SCHEMA_ID(N'chokaq') AND y.is_user_defined = 1;
