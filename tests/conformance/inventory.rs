//! Exactly the committed list of objects is deployed: `tests/inventory/<engine>.txt`, written anew by a run with
//! `CHOKAQ_UPDATE_INVENTORY=1`.

use std::path::Path;

use chokaq_tests::{Db, Engine, Result, Scenario, scenarios};

pub const SCENARIOS: &[Scenario] = scenarios![exactly_the_listed_objects_are_deployed];

const POSTGRES: &str = "
    SELECT CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' ELSE 'sequence' END || ' ' || c.relname AS object
    FROM pg_class AS c
    WHERE c.relnamespace = 'chokaq'::regnamespace
    AND c.relkind IN ('r', 'v', 'S')
    AND NOT EXISTS (
        SELECT 1 FROM pg_depend AS d
        WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'i' AND c.relkind = 'S'
    )
    UNION ALL
    SELECT 'column ' || c.relname || '.' || a.attname
    FROM pg_class AS c
    INNER JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relnamespace = 'chokaq'::regnamespace AND c.relkind = 'r'
    UNION ALL
    SELECT CASE WHEN i.indisunique THEN 'unique ' ELSE '' END || 'index ' || c.relname || ' ('
        || (
            SELECT string_agg(
                pg_get_indexdef(i.indexrelid, k, true) || CASE i.indoption[k - 1] & 1 WHEN 1 THEN ' desc' ELSE '' END,
                ', ' ORDER BY k
            )
            FROM generate_series(1, i.indnkeyatts::integer) AS k
        )
        || ')' || COALESCE(' where ' || pg_get_expr(i.indpred, i.indrelid), '')
    FROM pg_index AS i
    INNER JOIN pg_class AS c ON c.oid = i.indrelid
    WHERE c.relnamespace = 'chokaq'::regnamespace AND c.relkind = 'r'
    UNION ALL
    SELECT CASE p.prokind WHEN 'p' THEN 'procedure' ELSE 'function' END || ' ' || p.proname
    FROM pg_proc AS p
    WHERE p.pronamespace = 'chokaq'::regnamespace
    UNION ALL
    SELECT 'constraint ' || n.conname
    FROM pg_constraint AS n
    WHERE n.connamespace = 'chokaq'::regnamespace AND n.contype IN ('c', 'f', 'p', 'u')";

/* In small letters, as Babelfish keeps names. It also makes up the names of indexes, tells nothing of their filters, and
shows IDENTITY as a sequence: so an index is listed by its columns, and these sequences are not. The names of default
constraints are not the same everywhere either. */
const MSSQL: &str = "
    SELECT CASE RTRIM(o.type) WHEN 'U' THEN 'table' WHEN 'V' THEN 'view' WHEN 'P' THEN 'procedure'
        WHEN 'SO' THEN 'sequence' WHEN 'TR' THEN 'trigger' ELSE 'function' END + ' ' + LOWER(o.name) AS Object
    FROM sys.objects AS o
    INNER JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    WHERE s.name = 'chokaq'
    AND o.type IN ('U', 'V', 'P', 'SO', 'FN', 'IF', 'TF', 'TR')
    AND NOT (o.type = 'SO' AND o.name LIKE '%[_]seq')
    UNION ALL
    SELECT 'column ' + LOWER(t.name) + '.' + LOWER(c.name)
    FROM sys.columns AS c
    INNER JOIN sys.objects AS t ON t.object_id = c.object_id
    INNER JOIN sys.schemas AS s ON s.schema_id = t.schema_id
    WHERE s.name = 'chokaq' AND t.type = 'U'
    UNION ALL
    SELECT i.Prefix + 'index ' + LOWER(i.TableName) + ' (' + STRING_AGG(
        LOWER(i.ColumnName) + i.Suffix, ', ') WITHIN GROUP (ORDER BY i.Ordinal) + ')'
    FROM (
        SELECT
            x.object_id, x.index_id, t.name AS TableName, c.name AS ColumnName, k.key_ordinal AS Ordinal,
            CASE x.is_unique WHEN 1 THEN 'unique ' ELSE '' END AS Prefix,
            CASE k.is_descending_key WHEN 1 THEN ' desc' ELSE '' END AS Suffix
        FROM sys.indexes AS x
        INNER JOIN sys.objects AS t ON t.object_id = x.object_id
        INNER JOIN sys.schemas AS s ON s.schema_id = t.schema_id
        INNER JOIN sys.index_columns AS k ON k.object_id = x.object_id AND k.index_id = x.index_id
        INNER JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
        WHERE s.name = 'chokaq' AND t.type = 'U' AND k.key_ordinal > 0
    ) AS i
    GROUP BY i.object_id, i.index_id, i.TableName, i.Prefix
    UNION ALL
    SELECT 'constraint ' + LOWER(n.CONSTRAINT_NAME)
    FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS AS n
    WHERE n.CONSTRAINT_SCHEMA = 'chokaq'";

async fn exactly_the_listed_objects_are_deployed(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let rows = match &mut s {
        chokaq_tests::Session::Postgres(session) => session.query(POSTGRES, &[]).await?,
        chokaq_tests::Session::Mssql(session) => session.query(MSSQL, &[]).await?,
    };
    let mut found = rows.texts("Object");
    found.sort();
    let file = match db.engine {
        Engine::Postgres => "postgres.txt",
        Engine::Mssql => "mssql.txt",
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("inventory").join(file);
    if std::env::var_os("CHOKAQ_UPDATE_INVENTORY").is_some() {
        std::fs::write(&path, found.join("\n") + "\n")?;
    }
    let list = std::fs::read_to_string(&path)?;
    let expected: Vec<&str> = list.lines().collect();
    let missing: Vec<_> = expected.iter().filter(|name| !found.iter().any(|it| it == *name)).collect();
    let unknown: Vec<_> = found.iter().filter(|name| !expected.contains(&name.as_str())).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing: {missing:?}, not listed: {unknown:?}");
    Ok(())
}
