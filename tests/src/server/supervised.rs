//! A server process tied to this one: whatever ends the run, the server and its files go too.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

/// Waits for the end of its standard input, which only this process holds open; SIGKILL closes it too.
const SUPERVISOR: &str = r#"
"$@" > "$CHOKAQ_HOME/server.log" 2>&1 &
cat > /dev/null
kill -QUIT $!
wait $!
cd /
rm -rf "$CHOKAQ_HOME"
"#;

/// A running server; dropping it stops the server.
pub struct Supervised {
    supervisor: Child,
}

/// A new directory that belongs to the user servers run as: PostgreSQL refuses to be root.
pub struct Home {
    pub path: PathBuf,
}

impl Home {
    pub fn create() -> Result<Self> {
        let template = std::env::temp_dir().join("chokaq-test-XXXXXX");
        let path = run(unprivileged("mktemp").arg("-d").arg(template))?;
        Ok(Self { path: path.trim().into() })
    }

    /// Makes the data directory `data`.
    pub fn initdb(&self, bin: &Path, options: &[&str]) -> Result<()> {
        run(unprivileged(bin.join("initdb"))
            /* No name of a schema: PostgreSQL would find what is in it without being told where. */
            .args(["--username=tester", "--auth=trust", "--encoding=UTF8", "--no-sync", "--pgdata"])
            .arg(self.path.join("data"))
            .args(options))?;
        Ok(())
    }

    /// Starts the server on that data directory, listening on loopback; crash safety is given up for speed.
    pub fn start(self, bin: &Path, port: u16, settings: &[String]) -> Result<Supervised> {
        let settings = [
            format!("port={port}"),
            "listen_addresses=127.0.0.1".to_owned(),
            format!("unix_socket_directories={}", self.path.display()),
            "max_connections=200".to_owned(),
            "fsync=off".to_owned(),
            "synchronous_commit=off".to_owned(),
            "full_page_writes=off".to_owned(),
        ]
        .into_iter()
        .chain(settings.iter().cloned())
        .flat_map(|setting| ["-c".to_owned(), setting]);
        let supervisor = unprivileged("sh")
            .args(["-c", SUPERVISOR, "supervisor"])
            .arg(bin.join("postgres"))
            .arg("-D")
            .arg(self.path.join("data"))
            .args(settings)
            .env("CHOKAQ_HOME", &self.path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("the supervisor did not start")?;
        Ok(Supervised { supervisor })
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        let _ = self.supervisor.wait();
    }
}

/// The command, as user `postgres` when this process is root.
pub(super) fn unprivileged(program: impl AsRef<std::ffi::OsStr>) -> Command {
    use std::os::unix::fs::MetadataExt;

    let is_root = std::fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0);
    let mut command = if is_root {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir("/").env_remove("PGOPTIONS");
    command
}

pub(super) fn run(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}
