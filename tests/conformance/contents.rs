//! Rows in every table of the kit, and all that is in them.

use std::collections::BTreeMap;

use chokaq_tests::{Engine, Result, Session, args};

use crate::arrange;

/// Every table by its name: its columns, and its rows as texts.
pub type Contents = BTreeMap<String, (Vec<String>, Vec<Vec<String>>)>;

/// Puts something into every table, by procedures that every release has.
pub async fn furnish(s: &mut Session) -> Result<()> {
    arrange::archived(s, "mail", "done").await?;
    arrange::dead(s, "mail", "dead").await?;
    arrange::dead(s, "mail", "back").await?;
    let args =
        args! { JobId: "back", NewPayload: "{\"n\": 1}", ResurrectedBy: "ann", NewPriority: 5, DelaySeconds: 3600 };
    assert_eq!(s.outcome("Resurrect", args).await?, "resurrected");
    s.call("UpdateDLQJobData", args! { JobId: "dead", Tags: "ü🙂", ModifiedBy: "bob" }).await?;
    arrange::pending(s, "limited", "runs").await?;
    arrange::set_queue(s, "limited", "MaxWorkers", 2).await?;
    arrange::take(s, "limited", "runs", true).await?;
    arrange::pending(s, "limited", "waits").await?;
    arrange::pending(s, "mail", "last").await?;
    arrange::zero_delta(s, "mail").await?;
    arrange::fold(s, args! {}).await?;
    /* Any of these may have folded what was there. */
    arrange::zero_delta(s, "mail").await?;
    for (table, (_, rows)) in take(s).await? {
        assert!(!rows.is_empty(), "nothing is in {table}");
    }
    Ok(())
}

/// All that is in the tables.
pub async fn take(s: &mut Session) -> Result<Contents> {
    let sql = "SELECT c.TABLE_NAME AS TableName, c.COLUMN_NAME AS ColumnName
        FROM INFORMATION_SCHEMA.COLUMNS AS c
        INNER JOIN INFORMATION_SCHEMA.TABLES AS t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
        WHERE c.TABLE_SCHEMA = 'chokaq' AND t.TABLE_TYPE = 'BASE TABLE'
        ORDER BY c.TABLE_NAME, c.ORDINAL_POSITION";
    let mut columns: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in s.sql(sql, &[]).await?.rows {
        columns.entry(row.text("TableName")).or_default().push(row.text("ColumnName"));
    }
    let mut contents = Contents::new();
    for (table, columns) in columns {
        let rows = read(s, &table, &columns).await?;
        contents.insert(table, (columns, rows));
    }
    Ok(contents)
}

/// The same columns of the same tables as they are now; a newer release may have more.
pub async fn again(s: &mut Session, before: &Contents) -> Result<Contents> {
    let mut contents = Contents::new();
    for (table, (columns, _)) in before {
        contents.insert(table.clone(), (columns.clone(), read(s, table, columns).await?));
    }
    Ok(contents)
}

async fn read(s: &mut Session, table: &str, columns: &[String]) -> Result<Vec<Vec<String>>> {
    let text = |(n, column): (usize, &String)| match s.engine() {
        Engine::Postgres => format!("t.{column}::text AS c{n}"),
        Engine::Mssql => format!("CAST(t.{column} AS nvarchar(max)) AS C{n}"),
    };
    let list = columns.iter().enumerate().map(text).collect::<Vec<_>>().join(", ");
    let sql = format!("SELECT {list} FROM chokaq.{table} AS t");
    let rows = match s {
        Session::Postgres(session) => session.query(&sql, &[]).await?,
        Session::Mssql(session) => session.query(&sql, &[]).await?,
    };
    let value = |row: &chokaq_tests::Row, n: usize| format!("{:?}", row[&*format!("C{n}")]);
    let mut rows: Vec<Vec<String>> =
        rows.rows.iter().map(|row| (0..columns.len()).map(|n| value(row, n)).collect()).collect();
    rows.sort();
    Ok(rows)
}
