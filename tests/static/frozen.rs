//! A released migration is never edited: `frozen.txt` holds the SHA-256 of each, as `sha256sum` writes it, under the
//! version that brought it. `make release` adds a version; before the first one there is none.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use chokaq_tests::releases::{FROZEN, number, releases};
use sha2::{Digest, Sha256};

use crate::source::{DIALECTS, root, sources};

/// The checksums and the paths of the list.
fn frozen(list: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_once("  ").unwrap_or_else(|| panic!("frozen.txt: {line}")))
}

/// What of the list is no longer as it was released.
fn thawed(root: &Path, list: &str) -> Vec<String> {
    frozen(list)
        .filter_map(|(sum, path)| match fs::read(root.join(path)) {
            Ok(bytes) if sha256(&bytes) == sum => None,
            Ok(_) => Some(format!("{path} was edited after its release")),
            Err(error) => Some(format!("{path}: {error}")),
        })
        .collect()
}

/// What stands among released migrations and was not released with them: no deployment of theirs would get it.
fn slipped_in<'a>(migrations: &'a BTreeSet<PathBuf>, list: &str) -> Vec<&'a Path> {
    let newest = releases(list).last().map_or(0, |release| release.newest);
    let listed: BTreeSet<&Path> = frozen(list).map(|(_, path)| Path::new(path)).collect();
    let released = migrations.iter().filter(|path| number(&path.to_string_lossy()) <= newest);
    released.map(PathBuf::as_path).filter(|path| !listed.contains(path)).collect()
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
    let migrations = DIALECTS.into_iter().flat_map(|dialect| sources("migrations", dialect));
    let migrations = migrations.map(|source| source.path).collect();
    assert_eq!(slipped_in(&migrations, FROZEN), [] as [&Path; 0]);
}

#[test]
fn one_edited_byte_of_a_released_migration_is_found() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("frozen-{}", std::process::id()));
    let file = root.join("migrations/mssql/V0001__schema.sql");
    fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
    fs::write(&file, "SELECT 1;\n").expect("a file");
    let list = format!("# 1.0.0\n{}  migrations/mssql/V0001__schema.sql\n", sha256(b"SELECT 1;\n"));
    assert_eq!(thawed(&root, &list), [] as [&str; 0]);
    fs::write(&file, "SELECT 2;\n").expect("a file");
    assert_eq!(thawed(&root, &list), ["migrations/mssql/V0001__schema.sql was edited after its release"]);
    fs::remove_file(&file).expect("a file");
    assert_eq!(thawed(&root, &list).len(), 1);
    fs::remove_dir_all(&root).expect("a directory");
}

#[test]
fn a_migration_that_slips_in_below_a_released_one_is_found() {
    let list = "## head\n# 1.0.0\naa  migrations/mssql/V0001__a.sql\nbb  migrations/mssql/V0005__b.sql\n# 1.1.0\n";
    let newest: Vec<_> = releases(list).into_iter().map(|it| (it.version, it.newest)).collect();
    assert_eq!(newest, [("1.0.0".to_owned(), 5), ("1.1.0".to_owned(), 5)]);
    let file = |number: u32, name: &str| PathBuf::from(format!("migrations/mssql/V{number:04}__{name}.sql"));
    let migrations = [file(1, "a"), file(5, "b"), file(6, "later")].into();
    assert_eq!(slipped_in(&migrations, list), [] as [&Path; 0]);
    let migrations = [file(1, "a"), file(4, "late"), file(5, "b")].into();
    assert_eq!(slipped_in(&migrations, list), [file(4, "late")]);
}
