//! The files of procedures/ and migrations/, as texts.

use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Mssql,
    Postgres,
}

pub const DIALECTS: [Dialect; 2] = [Dialect::Mssql, Dialect::Postgres];

impl Dialect {
    fn folder(self) -> &'static str {
        match self {
            Self::Mssql => "mssql",
            Self::Postgres => "postgres",
        }
    }
}

/// One SQL file.
pub struct Source {
    /// From the root of the repository.
    pub path: PathBuf,
    /// The file's name without `.sql`.
    pub name: String,
    pub text: String,
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every file of `procedures` or `migrations` of one dialect, by name.
pub fn sources(folder: &str, dialect: Dialect) -> Vec<Source> {
    let folder = Path::new(folder).join(dialect.folder());
    let mut sources: Vec<Source> = fs::read_dir(root().join(&folder))
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| {
            let path = folder.join(entry.expect("an entry").file_name());
            let text = fs::read_to_string(root().join(&path)).expect("a readable file");
            let name = path.file_name().expect("a name").to_string_lossy();
            let name = name.strip_suffix(".sql").unwrap_or_else(|| panic!("{} is no .sql", path.display())).to_owned();
            Source { path, name, text }
        })
        .collect();
    sources.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(!sources.is_empty(), "{} is empty", folder.display());
    sources
}
