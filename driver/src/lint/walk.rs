//! The files that a path stands for.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Unreadable;

/// The file itself, or every `.sql` file below a folder by name. A folder without one is an error: in a pipeline, the
/// wrong folder must not pass for a clean one.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>, Unreadable> {
    let unreadable = |message: String| Unreadable { file: path.display().to_string(), place: None, message };
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    walk(path, &mut found).map_err(|error| unreadable(error.to_string()))?;
    found.sort();
    if found.is_empty() {
        return Err(unreadable("no .sql file is below this folder".to_owned()));
    }
    Ok(found)
}

/// Links to folders are not followed, so that the walk ends.
fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            walk(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("sql")) {
            found.push(path);
        }
    }
    Ok(())
}
