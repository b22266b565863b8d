//! The account the server runs under: one's own, or another one when that is root, which PostgreSQL refuses.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::unistd::{User, geteuid};
use tempfile::TempDir;

use super::LocalError;

/// An account for the server's processes and files.
#[derive(Debug)]
pub struct Account(Option<User>);

impl Account {
    /// The caller, unless it is root; then `postgres`, else `nobody`.
    pub fn for_server() -> Result<Self, LocalError> {
        if !geteuid().is_root() {
            return Ok(Self(None));
        }
        ["postgres", "nobody"]
            .into_iter()
            .find_map(|name| User::from_name(name).ok().flatten())
            .map(|user| Self(Some(user)))
            .ok_or(LocalError::NoAccount)
    }

    /// A command that runs under this account and hears nothing of the terminal's Ctrl-C.
    ///
    /// Settings of the caller's PostgreSQL clients (`PGDATA`, `PGPORT`, ...) do not reach it.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir("/").env("LC_ALL", "C").process_group(0);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PG") {
                command.env_remove(name);
            }
        }
        if let Some(user) = &self.0 {
            command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        }
        command
    }

    /// Gives a file or directory to this account.
    pub fn take(&self, path: &Path) -> Result<(), LocalError> {
        match &self.0 {
            None => Ok(()),
            Some(user) => {
                chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw())).map_err(LocalError::io("hand over", path))
            }
        }
    }

    /// A temporary directory of this account, removed when dropped.
    pub fn scratch(&self) -> Result<TempDir, LocalError> {
        let parent = std::env::temp_dir();
        let scratch = tempfile::Builder::new()
            .prefix("chokaq-")
            .tempdir_in(&parent)
            .map_err(LocalError::io("create a directory in", &parent))?;
        self.take(scratch.path())?;
        Ok(scratch)
    }
}
