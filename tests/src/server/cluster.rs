//! A cluster of one case's own: it keeps what it acknowledged, and may be stopped hard and started again.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use tokio_postgres::Config;

use super::mssql::Endpoint;
use super::supervised::{Home, run, unprivileged};
use super::{babelfish, free_port, postgres, until_ready};
use crate::session::mssql::Lease;
use crate::session::{Engine, Session, mssql, postgres as postgres_session};

/// Does what it reads, a word a line, and says when it is done. The end of its input ends the server and its files.
/// After a kill the new server has to wait until the old one's processes have noticed. `revive` is for one that may have
/// fallen, or be about to fall or to recover by itself.
const SUPERVISOR: &str = r#"
ctl() { "$CHOKAQ_BIN/pg_ctl" -D "$CHOKAQ_DATA" -s -w -t 120 "$@" < /dev/null > /dev/null 2>&1; }
begin() { ctl -l "$CHOKAQ_HOME/server.log" -o "$CHOKAQ_OPTIONS" start; }
until_done() {
    for _ in $(seq 200); do
        "$@" && return
        sleep 0.1
    done
    return 1
}
revive() { "$CHOKAQ_BIN/pg_isready" -q -h "$CHOKAQ_HOME" -p "$CHOKAQ_PORT" || { ctl status || begin; false; }; }
while read -r word; do
    case "$word" in
        start) until_done begin ;;
        immediate) ctl -m immediate stop ;;
        kill) kill -9 "$(head -n 1 "$CHOKAQ_DATA/postmaster.pid")" ;;
        fill) ! dd if=/dev/zero of="$CHOKAQ_DATA/ballast" bs=4k 2> /dev/null ;;
        free) rm "$CHOKAQ_DATA/ballast" ;;
        revive) until_done revive ;;
    esac && echo done || echo failed
done
ctl -m immediate stop
"#;

/// Moves the data to a file system of its own, which no process outside sees and which goes with the last one inside.
const ON_A_SMALL_DISK: &str = r#"
mount -t tmpfs -o "size=$CHOKAQ_DISK" none "$CHOKAQ_HOME/disk" &&
    cp -a "$CHOKAQ_HOME/data" "$CHOKAQ_HOME/disk/" &&
    "$@"
umount "$CHOKAQ_HOME/disk"
"#;

/// Whatever ended, its files go.
const AND_NOTHING_IS_LEFT: &str = r#"
"$@"
cd /
rm -rf "$CHOKAQ_HOME"
"#;

/// Durable to the letter, unlike the server of the other cases.
pub const DURABLE: [&str; 3] = ["fsync=on", "synchronous_commit=on", "full_page_writes=on"];

/// How a server ends that is not asked whether it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// All of its processes are told to leave at once.
    Immediate,
    /// SIGKILL for its first process.
    Kill,
}

/// The cluster; it goes when this is dropped.
pub struct Cluster {
    engine: Engine,
    config: Config,
    endpoint: Option<Endpoint>,
    supervisor: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Cluster {
    /// Starts one with these settings, and with the kit in its database `shop`.
    pub async fn start(engine: Engine, settings: &[&str]) -> Result<Self> {
        let cluster = Self::start_on(engine, settings, None).await?;
        cluster.create_database().await?;
        Ok(cluster)
    }

    /// Starts one with nothing in it.
    pub async fn start_bare(engine: Engine, settings: &[&str]) -> Result<Self> {
        Self::start_on(engine, settings, None).await
    }

    /// The same on a file system of its own of that many megabytes, which can be filled.
    pub async fn start_on_a_small_disk(engine: Engine, settings: &[&str], megabytes: u32) -> Result<Self> {
        let cluster = Self::start_on(engine, settings, Some(megabytes)).await?;
        cluster.create_database().await?;
        Ok(cluster)
    }

    async fn start_on(engine: Engine, settings: &[&str], megabytes: Option<u32>) -> Result<Self> {
        let bin = match engine {
            Engine::Postgres => postgres::find_bin()?,
            Engine::Mssql => babelfish::find_bin().context("no Babelfish")?,
        };
        let home = Home::create()?;
        home.initdb(&bin, &["--locale=C.UTF-8"])?;
        let (port, tds_port) = (free_port()?, free_port()?);
        let mut options = vec![
            format!("port={port}"),
            "listen_addresses=127.0.0.1".to_owned(),
            format!("unix_socket_directories={}", home.path.display()),
        ];
        if engine == Engine::Mssql {
            options.extend(babelfish::settings(tds_port));
        }
        options.extend(settings.iter().map(|setting| (*setting).to_owned()));
        let mut supervisor = supervisor(&home, megabytes)?
            .env("CHOKAQ_BIN", &bin)
            .env("CHOKAQ_HOME", &home.path)
            .env("CHOKAQ_PORT", port.to_string())
            .env("CHOKAQ_OPTIONS", options.iter().map(|option| format!("-c {option}")).collect::<Vec<_>>().join(" "))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("the supervisor did not start")?;
        let (orders, answers) = (supervisor.stdin.take(), supervisor.stdout.take().context("its output")?);
        let mut config = Config::new();
        config.host("127.0.0.1").port(port).user("tester").dbname("postgres");
        let endpoint = (engine == Engine::Mssql).then(|| babelfish::endpoint(tds_port));
        let mut cluster = Self { engine, config, endpoint, supervisor, orders, answers: BufReader::new(answers) };
        cluster.order("start")?;
        if cluster.endpoint.is_some() {
            babelfish::initialize(&cluster.config).await?;
        }
        Ok(cluster)
    }

    async fn create_database(&self) -> Result<()> {
        match &self.endpoint {
            None => {
                let admin = postgres_session::Session::connect(&self.config).await?;
                admin.batch("CREATE DATABASE shop").await?;
            }
            Some(endpoint) => {
                let mut admin = until_ready(|| mssql::Session::connect(endpoint.config("master"))).await?;
                admin.batch("CREATE DATABASE shop").await?;
            }
        }
        crate::deploy::up(&self.url()?).await
    }

    /// Where it listens to what its engine speaks.
    pub fn port(&self) -> Result<u16> {
        match &self.endpoint {
            None => self.config.get_ports().first().copied().context("a port"),
            Some(endpoint) => Ok(endpoint.port),
        }
    }

    /// The URL of its database.
    pub fn url(&self) -> Result<String> {
        match &self.endpoint {
            None => Ok(format!("postgres://tester@127.0.0.1:{}/shop?sslmode=disable", self.port()?)),
            Some(endpoint) => endpoint.url("shop"),
        }
    }

    /// A connection to its database, when it lets one in.
    pub async fn connect(&self) -> Result<Session> {
        match &self.endpoint {
            None => {
                let config = self.config.clone().dbname("shop").to_owned();
                Ok(Session::Postgres(postgres_session::Session::connect(&config).await?))
            }
            Some(endpoint) => {
                Ok(Session::Mssql(Lease::of(mssql::Session::connect(endpoint.config("shop")).await?, None)))
            }
        }
    }

    /// Ends the server, whatever it does.
    pub fn stop(&mut self, how: Stop) -> Result<()> {
        self.order(match how {
            Stop::Immediate => "immediate",
            Stop::Kill => "kill",
        })
    }

    /// Starts it again, bare as it is, and waits until it has recovered.
    pub async fn start_again(&mut self) -> Result<()> {
        self.order("start")?;
        until_ready(async || self.admin().await.map_err(std::io::Error::other)).await?;
        Ok(())
    }

    /// Starts it again, and waits until it has recovered and lets in.
    pub async fn restart(&mut self) -> Result<()> {
        self.order("start")?;
        until_ready(async || self.connect().await.map_err(std::io::Error::other)).await?;
        Ok(())
    }

    /// Fills its file system to the last block.
    pub fn fill(&mut self) -> Result<()> {
        self.order("fill")
    }

    /// Takes away what filled it, and starts the server if it fell over that.
    pub async fn free(&mut self) -> Result<()> {
        self.order("free")?;
        self.order("revive")?;
        until_ready(async || self.connect().await.map_err(std::io::Error::other)).await?;
        Ok(())
    }

    /// A connection to PostgreSQL itself, behind TDS as well.
    pub async fn admin(&self) -> Result<postgres_session::Session> {
        Ok(postgres_session::Session::connect(&self.config).await?)
    }

    fn order(&mut self, word: &str) -> Result<()> {
        let orders = self.orders.as_mut().context("it takes orders until it is dropped")?;
        writeln!(orders, "{word}")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        ensure!(answer.trim() == "done", "{:?} did not {word}: {answer}", self.engine);
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ = self.supervisor.wait();
    }
}

/// The process that keeps the server, before its environment is set.
fn supervisor(home: &Home, megabytes: Option<u32>) -> Result<Command> {
    let server = ["sh", "-c", SUPERVISOR, "supervisor"];
    let Some(megabytes) = megabytes else {
        let mut command = unprivileged("sh");
        command.args(["-c", AND_NOTHING_IS_LEFT, "sh"]).args(server).env("CHOKAQ_DATA", home.path.join("data"));
        return Ok(command);
    };
    run(unprivileged("mkdir").arg(home.path.join("disk")))?;
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", AND_NOTHING_IS_LEFT, "sh", "sh", "-c", ON_A_SMALL_DISK, "sh"]);
    let inner = unprivileged("sh");
    command.arg(inner.get_program()).args(inner.get_args()).args(&server[1..]);
    command
        .current_dir("/")
        .env("CHOKAQ_DISK", format!("{megabytes}m"))
        .env("CHOKAQ_DATA", home.path.join("disk/data"));
    Ok(command)
}

/// Why no server can have a file system of its own.
pub fn no_small_disk() -> Option<&'static str> {
    let probe = "test \"$(id -u)\" = 0 && mount -t tmpfs none /mnt";
    let probe = Command::new("unshare").args(["--mount", "sh", "-c", probe]).stderr(Stdio::null()).status();
    (!probe.is_ok_and(|status| status.success())).then_some("this user may not mount one")
}
