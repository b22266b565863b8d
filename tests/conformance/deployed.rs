//! What a deployment leaves in a database: the tables with their columns and indexes, and every text as the server keeps
//! it.

use std::collections::BTreeSet;

use anyhow::ensure;
use chokaq::{Client, MigrationState};
use chokaq_tests::{Db, Result, Session};

const POSTGRES: &str = "
    SELECT p.oid::regprocedure || ' ' || COALESCE(p.proacl::text, '') AS name, pg_get_functiondef(p.oid) AS text
    FROM pg_proc AS p
    WHERE p.pronamespace = 'chokaq'::regnamespace
    UNION ALL
    SELECT c.relkind::text || ' ' || c.relname || ' ' || COALESCE(c.relacl::text, ''), CASE c.relkind
            WHEN 'v' THEN pg_get_viewdef(c.oid)
            WHEN 'i' THEN pg_get_indexdef(c.oid)
            ELSE (
                SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attnum)
                FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0
            )
        END
    FROM pg_class AS c
    WHERE c.relnamespace = 'chokaq'::regnamespace
    UNION ALL
    SELECT n.conname, pg_get_constraintdef(n.oid) FROM pg_constraint AS n WHERE n.connamespace = 'chokaq'::regnamespace";

/* Babelfish makes up a part of the names of indexes and constraints. */
const MSSQL: &str = "
    SELECT CAST(o.name AS NVARCHAR(200)) AS Name, m.definition AS Text
    FROM sys.sql_modules AS m
    INNER JOIN sys.objects AS o ON o.object_id = m.object_id
    WHERE o.schema_id = SCHEMA_ID(N'chokaq')
    UNION ALL
    SELECT t.name + N'.' + c.name, CAST(c.max_length AS NVARCHAR(10))
    FROM sys.columns AS c
    INNER JOIN sys.objects AS t ON t.object_id = c.object_id
    WHERE t.schema_id = SCHEMA_ID(N'chokaq') AND t.type IN ('U', 'SO')
    UNION ALL
    SELECT t.name + N' has indexes', CAST(COUNT(*) AS NVARCHAR(10))
    FROM sys.indexes AS x
    INNER JOIN sys.objects AS t ON t.object_id = x.object_id
    WHERE t.schema_id = SCHEMA_ID(N'chokaq') AND t.type = 'U'
    GROUP BY t.name";

const OPTIONS: &str = "
    SELECT o.name AS Name
    FROM sys.sql_modules AS m
    INNER JOIN sys.objects AS o ON o.object_id = m.object_id
    WHERE o.schema_id = SCHEMA_ID(N'chokaq') AND (m.uses_quoted_identifier = 0 OR m.uses_ansi_nulls = 0)";

/// Each object with what it is made of.
pub async fn objects(session: &mut Session) -> Result<BTreeSet<(String, String)>> {
    let rows = match session {
        Session::Postgres(session) => session.query(POSTGRES, &[]).await?,
        Session::Mssql(session) => {
            let without = session.query(OPTIONS, &[]).await?.texts("Name");
            ensure!(without.is_empty(), "QUOTED_IDENTIFIER or ANSI_NULLS is off in {without:?}");
            session.query(MSSQL, &[]).await?
        }
    };
    Ok(rows.texts("Name").into_iter().zip(rows.texts("Text")).collect())
}

/// That the database is as this case's own, which a deployment made, and that the program finds nothing to do in it.
pub async fn is_whole(db: &Db<'_>, database: &str) -> Result<()> {
    let deploy = Client::connect(&db.url_of(database)?).await?.deploy();
    for migration in deploy.status().await? {
        ensure!(migration.state == MigrationState::Applied, "{migration:?}");
    }
    ensure!(deploy.up().await?.is_empty(), "there was something left to do");
    let expected = objects(&mut db.connect(&db.name).await?).await?;
    let found = objects(&mut db.connect(database).await?).await?;
    assert!(expected.len() > 100, "{expected:?}");
    let missing: Vec<_> = expected.difference(&found).collect();
    let other: Vec<_> = found.difference(&expected).collect();
    ensure!(missing.is_empty() && other.is_empty(), "missing: {missing:?}, not expected: {other:?}");
    Ok(())
}
