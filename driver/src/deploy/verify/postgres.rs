//! What is deployed in a PostgreSQL database.

use tokio_postgres::{Client, SimpleQueryMessage};

use super::facts::Facts;
use super::normal;
use super::texts::{Text, Texts};
use crate::config::PostgresTarget;
use crate::error::Result;
use crate::postgres::{connect, from_call};
use crate::tls;

pub(super) const SHIPPED: &str = include_str!("postgres/shipped.txt");

const QUERIES: [&str; 9] = [
    include_str!("postgres/schema.sql"),
    include_str!("postgres/roles.sql"),
    include_str!("postgres/relations.sql"),
    include_str!("postgres/columns.sql"),
    include_str!("postgres/constraints.sql"),
    include_str!("postgres/indexes.sql"),
    include_str!("postgres/routines.sql"),
    include_str!("postgres/grants.sql"),
    include_str!("postgres/others.sql"),
];

/// One moment for all queries; and the settings that the server's renderings depend on.
const BEGIN: &str = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
    SET LOCAL search_path = pg_catalog;
    SET LOCAL quote_all_identifiers = off";

pub(super) async fn deployed(target: &PostgresTarget) -> Result<(Facts, Texts)> {
    let tls = tls::connector(target)?;
    let client = connect(target, tls).await?;
    client.batch_execute(BEGIN).await.map_err(from_call)?;
    let (mut facts, mut texts) = (Facts::default(), Texts::new());
    for query in QUERIES {
        read(&client, query, &mut facts, &mut texts).await?;
    }
    Ok((facts, texts))
}

async fn read(client: &Client, query: &str, facts: &mut Facts, texts: &mut Texts) -> Result<()> {
    for message in client.simple_query(query).await.map_err(from_call)? {
        let SimpleQueryMessage::Row(row) = message else { continue };
        let (mut kind, mut object, mut properties) = (String::new(), String::new(), Vec::new());
        for (index, column) in row.columns().iter().enumerate() {
            let Some(value) = row.try_get(index).map_err(from_call)? else { continue };
            match column.name() {
                "kind" => value.clone_into(&mut kind),
                "object" => value.clone_into(&mut object),
                "text" => {
                    let text = Text::of_body(value);
                    texts.insert(object.clone(), Some(text));
                }
                name => properties.push((name.to_owned(), one_form(&kind, name, value))),
            }
        }
        facts.add(kind, object, properties);
    }
    Ok(())
}

fn one_form(kind: &str, property: &str, value: &str) -> String {
    match (kind, property) {
        ("view", "definition") => normal::view(value),
        _ => value.split_whitespace().collect::<Vec<_>>().join(" "),
    }
}
