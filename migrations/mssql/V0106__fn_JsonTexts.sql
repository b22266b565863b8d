/*
chokaq.fn_JsonTexts: a JSON array of texts as rows, each text once, numbered in the order of first mention

Twin         none: a text[] needs no reading
Result       Ordinal, Value (2000 characters: more than any name has, so that an over-long one is refused, not cut)
*/
CREATE OR ALTER FUNCTION chokaq.fn_JsonTexts (@Array NVARCHAR(MAX))
RETURNS TABLE AS RETURN (
    SELECT CONVERT(INT, ROW_NUMBER() OVER (ORDER BY MIN(s.Place))) AS Ordinal, s.Value
    FROM (
        SELECT
            CONVERT(INT, j.[key]) AS Place,
            CONVERT(
                NVARCHAR(4000),
                /* Where these are whole characters, each may be two code units. */
                LEFT(CASE WHEN p.IsEscaped = 1 THEN chokaq.fn_JsonUnescape(j.[value]) ELSE j.[value] END, 2000)
            ) COLLATE Latin1_General_BIN2 AS Value
        FROM OPENJSON(@Array) AS j
        CROSS JOIN (
            SELECT CASE WHEN MAX(q.[value]) = N'"' THEN 0 ELSE 1 END AS IsEscaped FROM OPENJSON(N'["\""]') AS q
        ) AS p
    ) AS s
    /* By length too: = does not see a trailing space, and usp_CheckJobIds must. */
    GROUP BY s.Value, DATALENGTH(s.Value)
);
