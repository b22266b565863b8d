//! One data directory: making it, starting a server on it, and reading how the server does.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::account::Account;
use super::binaries::Binaries;
use super::{LocalError, NAME};

/// Passwords are compared by SCRAM on the loopback address; there is no socket and no way around the password.
const AUTHENTICATION: &str = "--auth=scram-sha-256";

/// How much of the server's log an error message repeats.
const LAST_LINES: usize = 6;

/// A data directory and what belongs to it.
#[derive(Debug)]
pub struct Cluster {
    data: PathBuf,
    password: PathBuf,
    log: PathBuf,
    kept: bool,
}

impl Cluster {
    /// The cluster of a home directory. One that is not kept trades durability for speed.
    pub fn at(home: &Path, kept: bool) -> Self {
        Self { data: home.join("cluster"), password: home.join("password"), log: home.join("server.log"), kept }
    }

    /// The major version that made the cluster, when there is one.
    pub fn version(&self) -> Result<Option<u32>, LocalError> {
        let path = self.data.join("PG_VERSION");
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text.trim().parse().ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(LocalError::io("read", &path)(error)),
        }
    }

    /// Makes the cluster with its database unless it is there; answers the password of its role.
    pub fn make_or_read(&self, account: &Account, binaries: &Binaries) -> Result<String, LocalError> {
        if self.data.exists() {
            return fs::read_to_string(&self.password)
                .map(|text| text.trim().to_owned())
                .map_err(LocalError::io("read", &self.password));
        }
        let password = new_password()?;
        self.write_password(account, &password)?;
        self.make(account, binaries)?;
        Ok(password)
    }

    fn write_password(&self, account: &Account, password: &str) -> Result<(), LocalError> {
        // A file left by an attempt that was broken off may belong to the server's account.
        if self.password.exists() {
            fs::remove_file(&self.password).map_err(LocalError::io("remove", &self.password))?;
        }
        let mut file = open_secret(File::options().write(true).create_new(true), &self.password)?;
        writeln!(file, "{password}").map_err(LocalError::io("write", &self.password))?;
        account.take(&self.password)
    }

    /// Works in a directory aside, so that a cluster is either complete or not there.
    fn make(&self, account: &Account, binaries: &Binaries) -> Result<(), LocalError> {
        let unfinished = self.data.with_extension("unfinished");
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).map_err(LocalError::io("remove", &unfinished))?;
        }
        fs::create_dir(&unfinished).map_err(LocalError::io("create", &unfinished))?;
        account.take(&unfinished)?;

        let mut initdb = account.command(&binaries.program("initdb"));
        initdb.args(["--username", NAME, "--encoding=UTF8", "--no-locale", AUTHENTICATION]);
        initdb.arg("--pgdata").arg(&unfinished);
        initdb.arg("--pwfile").arg(&self.password);
        if !self.kept {
            initdb.arg("--no-sync");
        }
        run(initdb, "initdb", "")?;

        let mut single = account.command(&binaries.program("postgres"));
        single.args(["--single", "-c", "exit_on_error=on", "-D"]).arg(&unfinished).arg("postgres");
        run(single, "postgres --single", &format!("CREATE DATABASE {NAME};\n"))?;

        fs::rename(&unfinished, &self.data).map_err(LocalError::io("rename", &unfinished))
    }

    /// Starts the server; it is not ready yet.
    pub fn spawn(&self, account: &Account, binaries: &Binaries, port: u16) -> Result<Child, LocalError> {
        let log = open_secret(File::options().append(true).create(true), &self.log)?;
        let program = binaries.program("postgres");
        let mut command = account.command(&program);
        command.arg("-D").arg(&self.data);
        command.args(["-p", &port.to_string()]);
        command.args(["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]);
        if !self.kept {
            command.args(["-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=off"]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().map_err(LocalError::io("run", &program))
    }

    /// Whether the server with this process id takes connections, by its own note in `postmaster.pid`.
    pub fn is_ready(&self, process: u32) -> bool {
        fs::read_to_string(self.data.join("postmaster.pid")).is_ok_and(|note| says_ready(&note, process))
    }

    /// The end of the server's log, for an error message.
    pub fn last_words(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines = log.lines().collect::<Vec<_>>();
        let from = lines.len().saturating_sub(LAST_LINES);
        lines.get(from..).unwrap_or_default().join("\n")
    }
}

/// Opens a file that is its owner's alone from its first byte on: the password, and the log, in which the server
/// repeats statements that failed, payloads and all.
fn open_secret(options: &mut OpenOptions, path: &Path) -> Result<File, LocalError> {
    options.mode(0o600).open(path).map_err(LocalError::io("open", path))
}

/// The first line of `postmaster.pid` is the process, the eighth its state (`pg_ctl` waits for the same).
fn says_ready(note: &str, process: u32) -> bool {
    let mut lines = note.lines();
    let is_ours = lines.next() == Some(process.to_string().as_str());
    is_ours && lines.nth(6).is_some_and(|state| state.trim_end() == "ready")
}

/// Runs a program to its end with a text on its standard input; what it said is the error when it fails.
fn run(mut command: Command, name: &str, input: &str) -> Result<(), LocalError> {
    let failed = |output: String| LocalError::Failed { program: name.to_owned(), output };
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    if let Some(mut pipe) = process.stdin.take() {
        // A program that ends before it reads says why by its status and output.
        let _ = pipe.write_all(input.as_bytes());
    }
    let output = process.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// 32 random hexadecimal digits: nothing that a URL would have to escape.
fn new_password() -> Result<String, LocalError> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| LocalError::io("read", Path::new("the random source"))(error.into()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const NOTE: &str = "4711\n/home/cluster\n1780000000\n54321\n\n127.0.0.1\n  1 2\nready   \n";

    #[test]
    fn a_server_is_ready_when_its_own_note_says_so() {
        assert!(says_ready(NOTE, 4711));
        assert!(!says_ready(&NOTE.replace("ready   ", "starting"), 4711));
    }

    #[test]
    fn the_note_of_another_server_is_not_ours() {
        assert!(!says_ready(NOTE, 4712));
    }

    #[test]
    fn two_passwords_differ() {
        let (first, second) = (new_password().unwrap(), new_password().unwrap());
        assert_eq!(first.len(), 32);
        assert_ne!(first, second);
    }

    #[test]
    fn a_secret_file_is_readable_by_its_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let file =
            open_secret(File::options().append(true).create(true), &directory.path().join("server.log")).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o077, 0);
    }

    #[test]
    fn a_program_that_fails_says_why() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo no room >&2; exit 3"]);
        let error = run(command, "sh", "").unwrap_err();
        assert_eq!(error.to_string(), "sh failed: no room");
    }
}
