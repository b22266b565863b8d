//! The kit's migrations as files, for who deploys some of them.

use std::path::Path;

use anyhow::{Context, Result};

use crate::session::Engine;

/// A migration: its number, the file's name without `.sql`, and its text.
pub struct Migration {
    pub number: i32,
    pub name: String,
    pub sql: String,
}

/// All of an engine's, in order.
pub fn all(engine: Engine) -> Result<Vec<Migration>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../migrations").join(engine.to_string());
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().context("a name")?.to_string_lossy().into_owned();
        let number = name.strip_prefix('V').and_then(|name| name.split_once("__")?.0.parse().ok());
        all.push(Migration { number: number.context(name.clone())?, name, sql: std::fs::read_to_string(&path)? });
    }
    all.sort_by_key(|migration| migration.number);
    Ok(all)
}

/// As the driver takes them.
pub fn pairs(migrations: &[Migration]) -> Vec<(&str, &str)> {
    migrations.iter().map(|it| (it.name.as_str(), it.sql.as_str())).collect()
}
