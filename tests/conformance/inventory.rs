//! Exactly the committed list of objects is deployed: `tests/inventory/<engine>.txt`, written anew by a run with
//! `CHOKAQ_UPDATE_INVENTORY=1`.

use std::path::Path;

use chokaq_tests::{Db, Engine, Result, Scenario, scenarios};

pub const SCENARIOS: &[Scenario] = scenarios![exactly_the_listed_objects_are_deployed];

const POSTGRES: &str = "
    SELECT CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'S' THEN 'sequence' ELSE 'index' END
        || ' ' || c.relname AS object
    FROM pg_class AS c
    WHERE c.relnamespace = 'chokaq'::regnamespace AND c.relkind IN ('r', 'v', 'S', 'i')
    UNION ALL
    SELECT CASE p.prokind WHEN 'p' THEN 'procedure' ELSE 'function' END || ' ' || p.proname
    FROM pg_proc AS p
    WHERE p.pronamespace = 'chokaq'::regnamespace
    UNION ALL
    SELECT 'constraint ' || n.conname FROM pg_constraint AS n WHERE n.connamespace = 'chokaq'::regnamespace";

/* Default constraints keep to themselves on some servers, and system-made names differ everywhere. */
const MSSQL: &str = "
    SELECT CASE RTRIM(o.type) WHEN 'U' THEN 'table' WHEN 'V' THEN 'view' WHEN 'P' THEN 'procedure'
        WHEN 'SO' THEN 'sequence' WHEN 'TR' THEN 'trigger' ELSE 'function' END + ' ' + o.name AS Object
    FROM sys.objects AS o
    INNER JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    WHERE s.name = 'chokaq' AND o.type IN ('U', 'V', 'P', 'SO', 'FN', 'IF', 'TF', 'TR')
    UNION ALL
    SELECT 'column ' + t.name + '.' + c.name
    FROM sys.columns AS c
    INNER JOIN sys.objects AS t ON t.object_id = c.object_id
    INNER JOIN sys.schemas AS s ON s.schema_id = t.schema_id
    WHERE s.name = 'chokaq' AND t.type = 'U'";

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
