//! What is deployed in a SQL Server database.

use refinery_core::Migration;
use tiberius::FromSqlOwned;

use super::facts::Facts;
use super::normal;
use super::texts::{Text, Texts, index_names};
use crate::error::{Error, ErrorKind, Result};
use crate::mssql::{MssqlClient, connect, from_call, is_babelfish};

pub(super) const SHIPPED: &str = include_str!("mssql/shipped.txt");

const QUERIES: [&str; 11] = [
    include_str!("mssql/schema.sql"),
    include_str!("mssql/roles.sql"),
    include_str!("mssql/tables.sql"),
    include_str!("mssql/columns.sql"),
    include_str!("mssql/keys.sql"),
    include_str!("mssql/checks.sql"),
    include_str!("mssql/indexes.sql"),
    include_str!("mssql/modules.sql"),
    include_str!("mssql/sequences.sql"),
    include_str!("mssql/grants.sql"),
    include_str!("mssql/others.sql"),
];

/// What Babelfish tells in PostgreSQL's catalog alone.
const BABELFISH_QUERIES: [&str; 3] = [
    include_str!("babelfish/filters.sql"),
    include_str!("babelfish/sequences.sql"),
    include_str!("babelfish/grants.sql"),
];

pub(super) async fn deployed(target: &tiberius::Config, migrations: &[Migration]) -> Result<(Facts, Texts)> {
    let mut client = connect(target).await?;
    let is_babelfish = is_babelfish(&mut client).await?;
    let mut reader = Reader { facts: Facts::default(), texts: Texts::new(), indexes: None };
    if is_babelfish {
        reader.indexes = Some(index_names(migrations)?);
    } else {
        check_right(&mut client).await?;
    }
    let more = if is_babelfish { &BABELFISH_QUERIES[..] } else { &[] };
    for query in QUERIES.iter().chain(more) {
        reader.read(&mut client, query).await?;
    }
    Ok((reader.facts, reader.texts))
}

/// SQL Server shows a login the objects it has some right on, and hides the others: what it does not see would be taken
/// for missing.
async fn check_right(client: &mut MssqlClient) -> Result<()> {
    let sql = "SELECT HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'VIEW DEFINITION');";
    let stream = client.simple_query(sql).await.map_err(from_call)?;
    let row = stream.into_row().await.map_err(from_call)?;
    match row.map_or(Ok(None), |row| row.try_get::<i32, _>(0)).map_err(from_call)? {
        Some(1) => Ok(()),
        _ => Err(Error::new(
            ErrorKind::PermissionDenied,
            "the login has not the right VIEW DEFINITION on the database, so what is deployed cannot be seen",
        )),
    }
}

struct Reader {
    facts: Facts,
    texts: Texts,
    /// The names of the kit's indexes, where the server has made others of them.
    indexes: Option<Vec<String>>,
}

impl Reader {
    async fn read(&mut self, client: &mut MssqlClient, query: &str) -> Result<()> {
        let stream = client.simple_query(query).await.map_err(from_call)?;
        for row in stream.into_first_result().await.map_err(from_call)? {
            self.add(row)?;
        }
        Ok(())
    }

    fn add(&mut self, row: tiberius::Row) -> Result<()> {
        let columns: Vec<String> = row.columns().iter().map(|column| column.name().to_owned()).collect();
        let (mut kind, mut object, mut properties) = (String::new(), String::new(), Vec::new());
        for (column, data) in columns.iter().zip(row) {
            let value = String::from_sql_owned(data).map_err(from_call)?;
            match (&**column, value) {
                ("kind", Some(value)) => kind = value,
                // Babelfish keeps names in small letters.
                ("object", Some(value)) => object = self.name(&kind, &value.to_ascii_lowercase()),
                ("text", value) => {
                    let text = value.as_deref().map(Text::of_module).transpose()?;
                    self.texts.insert(object.clone(), text);
                }
                (name, Some(value)) => {
                    properties.extend(one_form(&kind, name, &value).map(|value| (name.to_owned(), value)));
                }
                (_, None) => {}
            }
        }
        self.facts.add(kind, object, properties);
        Ok(())
    }

    fn name(&self, kind: &str, object: &str) -> String {
        match (kind, &self.indexes, object.split_once('.')) {
            ("index", Some(known), Some((table, index))) => {
                format!("{table}.{}", normal::babelfish_index(table, index, known))
            }
            _ => object.to_owned(),
        }
    }
}

/// `None` for what servers are known to render differently.
fn one_form(kind: &str, property: &str, value: &str) -> Option<String> {
    match (kind, property) {
        ("constraint", "definition") => normal::check(value),
        ("column", "default") | ("index", "where") => Some(normal::expression(value)),
        ("column", "collation") => Some(value.to_owned()),
        _ => Some(value.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_lowercase()),
    }
}
