//! A PostgreSQL of one's own: made from the machine's server binaries, reachable on loopback alone, gone with the program.
//!
//! Everything of one server lies in one directory, its *home*:
//!
//! ```text
//! cluster/     the data directory of PostgreSQL
//! password     of the role `chokaq`, readable by the server's account alone
//! server.log   what the server said, readable by the caller alone
//! port         where it listened last; a kept home listens there again when it can
//! lock         held as long as a program runs a server here
//! ```
//!
//! The home is a temporary directory that is removed at the end, or one that the user named and that is kept.

mod account;
mod binaries;
mod cluster;
mod keeper;

use std::fs::{self, File};
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use thiserror::Error;

use account::Account;
use binaries::Binaries;
use cluster::Cluster;
use keeper::Keeper;

/// The role and the database a new cluster gets.
const NAME: &str = "chokaq";

/// A cluster that was not shut down replays its log before it answers, so this is generous.
const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);

/// How often a port that somebody else took between the choice and the start is chosen anew.
const PORT_ATTEMPTS: usize = 5;

/// Why there is no server.
#[derive(Debug, Error)]
pub enum LocalError {
    #[error("found no PostgreSQL server binaries (initdb and postgres) on this machine")]
    NoBinaries,
    #[error("PostgreSQL refuses to run as root, and there is no account `postgres` or `nobody` to run it")]
    NoAccount,
    #[error("{} is not empty and holds no cluster of chokaq", .0.display())]
    NotOurs(PathBuf),
    #[error("another chokaq runs a server on {}", .0.display())]
    InUse(PathBuf),
    #[error("the cluster in {} belongs to PostgreSQL {wanted}, this machine has {found}", .home.display())]
    Version { home: PathBuf, wanted: u32, found: String },
    #[error("port {0} is not free on the loopback address")]
    PortTaken(u16),
    #[error("{program} failed: {output}")]
    Failed { program: String, output: String },
    #[error("the server did not answer within {} seconds: {output}", .limit.as_secs())]
    TooSlow { limit: Duration, output: String },
    #[error("cannot {action} {}: {source}", .path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
}

impl LocalError {
    /// What the user may do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoBinaries => {
                "install the server (Debian: apt-get install postgresql), or name a database with --database-url"
            }
            Self::NoAccount => "run chokaq as an ordinary user, or name a database with --database-url",
            Self::NotOurs(_) => "give --data an empty or a new directory",
            Self::InUse(_) => "stop it, or give --data another directory",
            Self::Version { .. } => "install that version of the server, or give --data another directory",
            Self::PortTaken(_) => "leave --port out and a free one is chosen",
            Self::Io { source, .. } if source.kind() != io::ErrorKind::PermissionDenied => return None,
            Self::Io { .. } | Self::Failed { .. } if nix::unistd::geteuid().is_root() => {
                "as root, the server runs under the account `postgres`, which must be able to enter the directory"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// For `map_err` on a file operation.
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

/// A running server. It stops when this is dropped; killing the program with SIGKILL stops it too, by the keeper.
pub struct Server {
    process: Child,
    keeper: Option<Keeper>,
    port: u16,
    password: String,
    /// These are dropped after `Drop::drop` stopped the server: first the lock, then the directory.
    _lock: File,
    _scratch: Option<TempDir>,
}

impl Server {
    /// Starts a server in `data`, which is kept, or in a directory that goes with it; on `port`, or a free one.
    pub fn start(data: Option<&Path>, port: Option<u16>) -> Result<Self, LocalError> {
        let account = Account::for_server()?;
        let (home, scratch) = match data {
            Some(data) => (prepare_home(data)?, None),
            None => {
                let scratch = account.scratch()?;
                (scratch.path().to_owned(), Some(scratch))
            }
        };
        let lock = lock(&home)?;
        let mut keeper = Keeper::start(&account, scratch.as_ref().map(TempDir::path))?;
        let cluster = Cluster::at(&home, scratch.is_none());
        let binaries = Binaries::find(cluster.version()?, &home)?;
        let password = cluster.make_or_read(&account, &binaries)?;

        let (process, port) = spawn_on_a_port(&cluster, &account, &binaries, &mut keeper, port, last_port(&home))?;
        let server = Self { process, keeper: Some(keeper), port, password, _lock: lock, _scratch: scratch };
        let note = home.join("port");
        fs::write(&note, port.to_string()).map_err(LocalError::io("write", &note))?;
        Ok(server)
    }

    /// Where clients connect, password included.
    pub fn url(&self) -> String {
        format!("postgres://{NAME}:{}@127.0.0.1:{}/{NAME}", self.password, self.port)
    }

    /// How the server ended, when it did so by itself.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().ok().flatten()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        stop(&mut self.process);
        if let Some(keeper) = self.keeper.take() {
            keeper.dismiss();
        }
    }
}

/// The named directory, made when it is not there, as an absolute path.
fn prepare_home(data: &Path) -> Result<PathBuf, LocalError> {
    fs::create_dir_all(data).map_err(LocalError::io("create", data))?;
    let home = data.canonicalize().map_err(LocalError::io("read", data))?;
    let mut entries = fs::read_dir(&home).map_err(LocalError::io("read", &home))?;
    if entries.next().is_some() && !home.join("lock").is_file() {
        return Err(LocalError::NotOurs(home));
    }
    Ok(home)
}

fn lock(home: &Path) -> Result<File, LocalError> {
    let path = home.join("lock");
    let file = File::options().append(true).create(true).open(&path).map_err(LocalError::io("open", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(LocalError::InUse(home.to_owned())),
        Err(fs::TryLockError::Error(source)) => Err(LocalError::io("lock", &path)(source)),
    }
}

/// Where the server of this home listened last, so that a URL that was kept with it goes on to work.
fn last_port(home: &Path) -> Option<u16> {
    fs::read_to_string(home.join("port")).ok()?.parse().ok()
}

/// Starts the server on the wanted port; or on the last one or any that is free, until it holds one.
fn spawn_on_a_port(
    cluster: &Cluster,
    account: &Account,
    binaries: &Binaries,
    keeper: &mut Keeper,
    wanted: Option<u16>,
    last: Option<u16>,
) -> Result<(Child, u16), LocalError> {
    if let Some(port) = wanted
        && !is_free(port)
    {
        return Err(LocalError::PortTaken(port));
    }
    let mut attempts = PORT_ATTEMPTS;
    let mut last = last.filter(|port| is_free(*port));
    loop {
        let port = match wanted.or_else(|| last.take()) {
            Some(port) => port,
            None => free_port()?,
        };
        let mut process = cluster.spawn(account, binaries, port)?;
        match keeper.watch(&process).and_then(|()| wait_until_ready(&mut process, cluster)) {
            Ok(()) => return Ok((process, port)),
            Err(error) => {
                stop(&mut process);
                attempts -= 1;
                // Somebody took the port since it was found free: a reason to try another, and no other failure is.
                if wanted.is_some() || attempts == 0 || is_free(port) {
                    return Err(error);
                }
            }
        }
    }
}

fn free_port() -> Result<u16, LocalError> {
    TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(LocalError::io("find a free port on", Path::new("127.0.0.1")))
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}

fn wait_until_ready(process: &mut Child, cluster: &Cluster) -> Result<(), LocalError> {
    let deadline = Instant::now() + START_LIMIT;
    while !cluster.is_ready(process.id()) {
        if let Ok(Some(_)) = process.try_wait() {
            return Err(LocalError::Failed { program: "postgres".to_owned(), output: cluster.last_words() });
        }
        if Instant::now() > deadline {
            return Err(LocalError::TooSlow { limit: START_LIMIT, output: cluster.last_words() });
        }
        thread::sleep(POLL);
    }
    Ok(())
}

/// Ends the server: politely to its sessions' transactions (fast), then at once (immediate), then by force.
fn stop(process: &mut Child) {
    for signal in [Signal::SIGINT, Signal::SIGQUIT] {
        if wait(process, Duration::ZERO) {
            return;
        }
        if let Ok(pid) = i32::try_from(process.id()) {
            let _ = kill(Pid::from_raw(pid), signal);
        }
        if wait(process, STOP_LIMIT) {
            return;
        }
    }
    let _ = process.kill();
    let _ = process.wait();
}

/// Whether the process has ended, after waiting for it no longer than `limit`.
fn wait(process: &mut Child, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        // An error means that there is no such child any more.
        if !matches!(process.try_wait(), Ok(None)) {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(POLL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_with_somebody_elses_files_is_refused() {
        let directory = TempDir::new().unwrap();
        fs::write(directory.path().join("thesis.txt"), "mine").unwrap();
        let error = prepare_home(directory.path()).unwrap_err();
        assert!(matches!(error, LocalError::NotOurs(_)), "{error}");
    }

    #[test]
    fn a_new_directory_is_made() {
        let directory = TempDir::new().unwrap();
        let home = prepare_home(&directory.path().join("a/b")).unwrap();
        assert!(home.is_absolute() && home.is_dir());
    }

    #[test]
    fn a_directory_serves_one_program_at_a_time() {
        let directory = TempDir::new().unwrap();
        let held = lock(directory.path()).unwrap();
        let error = lock(directory.path()).unwrap_err();
        assert!(matches!(error, LocalError::InUse(_)), "{error}");
        drop(held);
        assert!(lock(directory.path()).is_ok());
    }

    #[test]
    fn the_last_port_is_read_where_there_was_one() {
        let directory = TempDir::new().unwrap();
        assert_eq!(last_port(directory.path()), None);
        fs::write(directory.path().join("port"), "54321").unwrap();
        assert_eq!(last_port(directory.path()), Some(54321));
    }

    #[test]
    fn a_taken_port_is_not_free() {
        let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        assert!(!is_free(taken.local_addr().unwrap().port()));
    }
}
