//! Where this machine keeps PostgreSQL's server programs. They are often not on the PATH.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::LocalError;

/// The folder of one installed server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    folder: PathBuf,
    major: u32,
}

impl Binaries {
    /// The newest server of the machine, or the newest of the major version that the cluster in `home` needs.
    pub fn find(wanted: Option<u32>, home: &Path) -> Result<Self, LocalError> {
        choose(installed(), wanted, home)
    }

    /// The path of one program.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

fn choose(installed: Vec<Binaries>, wanted: Option<u32>, home: &Path) -> Result<Binaries, LocalError> {
    if installed.is_empty() {
        return Err(LocalError::NoBinaries);
    }
    let found = installed.iter().map(|server| server.major).collect::<BTreeSet<_>>();
    installed
        .into_iter()
        .filter(|server| wanted.is_none_or(|major| server.major == major))
        .max_by_key(|server| server.major)
        .ok_or_else(|| LocalError::Version {
            home: home.to_owned(),
            wanted: wanted.unwrap_or_default(),
            found: found.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
        })
}

fn installed() -> Vec<Binaries> {
    let mut folders = versioned("/usr/lib/postgresql", "");
    folders.extend(versioned("/usr", "pgsql-"));
    folders.extend(told_by_pg_config());
    if let Some(path) = std::env::var_os("PATH") {
        folders.extend(std::env::split_paths(&path));
    }
    folders.into_iter().filter_map(inspect).collect()
}

/// The folders `<root>/<prefix><number>/bin`: Debian's and Red Hat's way to keep several versions.
fn versioned(root: impl AsRef<Path>, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix(prefix));
            number.is_some_and(|number| number.parse::<u32>().is_ok())
        })
        .map(|entry| entry.path().join("bin"))
        .collect()
}

fn told_by_pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(text.trim()))
}

/// The server in a folder, when it is complete and says its version.
fn inspect(folder: PathBuf) -> Option<Binaries> {
    if !folder.join("initdb").is_file() {
        return None;
    }
    let output = Command::new(folder.join("postgres")).arg("--version").output().ok()?;
    let major = major_version(&String::from_utf8_lossy(&output.stdout))?;
    Some(Binaries { folder, major })
}

/// 15 of `postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)`, and 18 of `... 18beta1`.
fn major_version(text: &str) -> Option<u32> {
    let version = text.split_once("(PostgreSQL) ")?.1;
    let digits = version.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(major: u32) -> Binaries {
        Binaries { folder: PathBuf::from(format!("/{major}")), major }
    }

    #[test]
    fn the_newest_is_chosen_by_number_and_not_by_letter() {
        let chosen = choose(vec![server(9), server(15), server(10)], None, Path::new("/x")).unwrap();
        assert_eq!(chosen, server(15));
    }

    #[test]
    fn a_cluster_gets_the_server_of_its_own_version() {
        let chosen = choose(vec![server(15), server(17)], Some(15), Path::new("/x")).unwrap();
        assert_eq!(chosen, server(15));
    }

    #[test]
    fn a_cluster_of_a_version_that_is_not_here_is_an_error_that_names_both() {
        let error = choose(vec![server(17), server(15), server(17)], Some(16), Path::new("/x")).unwrap_err();
        assert_eq!(error.to_string(), "the cluster in /x belongs to PostgreSQL 16, this machine has 15, 17");
    }

    #[test]
    fn a_machine_without_a_server_is_an_error_of_its_own() {
        let error = choose(Vec::new(), Some(16), Path::new("/x")).unwrap_err();
        assert!(matches!(error, LocalError::NoBinaries), "{error}");
    }

    #[test]
    fn only_numbered_folders_are_looked_at() {
        let root = tempfile::tempdir().unwrap();
        for name in ["15", "9", "pgsql-16", "common", "15.old"] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        let mut plain = versioned(root.path(), "");
        plain.sort();
        assert_eq!(plain, [root.path().join("15/bin"), root.path().join("9/bin")]);
        assert_eq!(versioned(root.path(), "pgsql-"), [root.path().join("pgsql-16/bin")]);
    }

    #[test]
    fn the_major_version_is_read_from_what_the_server_says() {
        assert_eq!(major_version("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n"), Some(15));
        assert_eq!(major_version("postgres (PostgreSQL) 18beta1\n"), Some(18));
        assert_eq!(major_version("mysqld 8.0"), None);
    }
}
