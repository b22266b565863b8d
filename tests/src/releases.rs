//! What was released: the versions in `frozen.txt`, each with the checksums of the migrations that it brought.

/// A version and the number of its newest migration: the state that it left in a database is all migrations up to there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    pub version: String,
    pub newest: i32,
}

/// The list itself.
pub const FROZEN: &str = include_str!("../frozen.txt");

/// Every release, oldest first.
pub fn releases(list: &str) -> Vec<Release> {
    let mut releases: Vec<Release> = Vec::new();
    for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with("##")) {
        let newest = releases.last().map_or(0, |release| release.newest);
        if let Some(version) = line.strip_prefix("# ") {
            releases.push(Release { version: version.to_owned(), newest });
        } else if let Some(release) = releases.last_mut() {
            release.newest = newest.max(number(line));
        } else {
            panic!("frozen.txt: a migration of no release: {line}");
        }
    }
    releases
}

/// The number of `... migrations/mssql/V0201__usp_Enqueue.sql`.
pub fn number(path: &str) -> i32 {
    let name = path.rsplit('/').next().unwrap_or_default();
    let number = name.strip_prefix('V').and_then(|name| name.split_once("__")?.0.parse().ok());
    number.unwrap_or_else(|| panic!("{path} is no migration"))
}
