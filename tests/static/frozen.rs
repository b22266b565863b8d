//! A released migration is never edited: `frozen.txt` holds the SHA-256 of each, one a line, as `sha256sum` writes it.
//! A release adds its new migrations to the list; before the first one the list is empty.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::source::root;

const FROZEN: &str = include_str!("../frozen.txt");

/// What of the list is no longer as it was released.
fn thawed(root: &Path, list: &str) -> Vec<String> {
    list.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .filter_map(|line| {
            let (sum, path) = line.split_once("  ").unwrap_or_else(|| panic!("frozen.txt: {line}"));
            match fs::read(root.join(path)) {
                Ok(bytes) if sha256(&bytes) == sum => None,
                Ok(_) => Some(format!("{path} was edited after its release")),
                Err(error) => Some(format!("{path}: {error}")),
            }
        })
        .collect()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[test]
fn released_migrations_are_as_they_were_released() {
    assert_eq!(thawed(&root(), FROZEN), [] as [&str; 0]);
}

#[test]
fn one_edited_byte_of_a_released_migration_is_found() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("frozen-{}", std::process::id()));
    let file = root.join("migrations/mssql/V0001__schema.sql");
    fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
    fs::write(&file, "SELECT 1;\n").expect("a file");
    let list = format!("# released with 1.0\n{}  migrations/mssql/V0001__schema.sql\n", sha256(b"SELECT 1;\n"));
    assert_eq!(thawed(&root, &list), [] as [&str; 0]);
    fs::write(&file, "SELECT 2;\n").expect("a file");
    assert_eq!(thawed(&root, &list), ["migrations/mssql/V0001__schema.sql was edited after its release"]);
    fs::remove_file(&file).expect("a file");
    assert_eq!(thawed(&root, &list).len(), 1);
    fs::remove_dir_all(&root).expect("a directory");
}
