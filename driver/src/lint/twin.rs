//! The file that does the same in the other dialect.

use std::path::{Path, PathBuf};

use super::file::SqlFile;
use super::{Unreadable, read};
use crate::config::Dialect;

/// What is known of a file's twin.
#[derive(Debug)]
pub(super) enum Twin {
    /// The file lies in no `procedures/mssql` or `procedures/postgres`, or names no file.
    NotLookedFor,
    /// There is no such file.
    Missing,
    /// It is no SQL; checked by itself it says more.
    Unreadable(Unreadable),
    /// It is there.
    Found(Box<SqlFile>),
}

impl Twin {
    /// Reads the twin that the header names.
    pub fn of(file: &SqlFile) -> Self {
        let named = file.header.as_ref().and_then(|header| header.value("Twin")).filter(|twin| !is_none(twin));
        let (Some(named), Some(procedures)) = (named, procedures(file)) else {
            return Self::NotLookedFor;
        };
        let path = procedures.join(named);
        if !path.is_file() {
            return Self::Missing;
        }
        match read(&path).and_then(|text| SqlFile::read(&path, &text, dialect_of(Path::new(named)))) {
            Ok(twin) => Self::Found(Box::new(twin)),
            Err(error) => Self::Unreadable(error),
        }
    }
}

/// `none: a reason`.
pub(super) fn is_none(twin: &str) -> bool {
    twin.starts_with("none")
}

/// `mssql/usp_X.sql`, as a twin names this file.
pub(super) fn own_name(file: &SqlFile) -> String {
    let name = file.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{}/{name}", file.dialect)
}

fn procedures(file: &SqlFile) -> Option<PathBuf> {
    let path = std::path::absolute(&file.path).ok()?;
    let folder = path.parent()?;
    let procedures = folder.parent()?;
    let is_laid_out = folder.ends_with(file.dialect.to_string()) && procedures.ends_with("procedures");
    is_laid_out.then(|| procedures.to_owned())
}

fn dialect_of(named: &Path) -> Option<Dialect> {
    [Dialect::Mssql, Dialect::Postgres].into_iter().find(|dialect| named.starts_with(dialect.to_string()))
}
