//! A cluster of one case's own: it keeps what it acknowledged, and may be stopped hard and started again.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use anyhow::{Context, Result, ensure};
use tokio_postgres::Config;

use super::mssql::Endpoint;
use super::supervised::{Home, unprivileged};
use super::{babelfish, free_port, postgres, until_ready};
use crate::session::mssql::Lease;
use crate::session::{Engine, Session, mssql};

/// Does what it reads, a word a line, and says when it is done. The end of its input ends the server and its files.
/// After a kill the new server has to wait until the old one's processes have noticed.
const SUPERVISOR: &str = r#"
ctl() { "$CHOKAQ_BIN/pg_ctl" -D "$CHOKAQ_HOME/data" -s -w -t 120 "$@" < /dev/null > /dev/null 2>&1; }
start() {
    for _ in $(seq 200); do
        ctl -l "$CHOKAQ_HOME/server.log" -o "$CHOKAQ_OPTIONS" start && return
        sleep 0.1
    done
    return 1
}
while read -r word; do
    case "$word" in
        start) start ;;
        immediate) ctl -m immediate stop ;;
        kill) kill -9 "$(head -n 1 "$CHOKAQ_HOME/data/postmaster.pid")" ;;
    esac && echo done || echo failed
done
ctl -m immediate stop
cd /
rm -rf "$CHOKAQ_HOME"
"#;

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
    /// Starts one, with the kit in its database `shop`; none where the machine has no binaries of that engine.
    pub async fn start(engine: Engine, settings: &[&str]) -> Result<Option<Self>> {
        let bin = match engine {
            Engine::Postgres => Some(postgres::find_bin()?),
            Engine::Mssql => babelfish::find_bin(),
        };
        let Some(bin) = bin else { return Ok(None) };
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
        let mut supervisor = unprivileged("sh")
            .args(["-c", SUPERVISOR, "supervisor"])
            .env("CHOKAQ_BIN", &bin)
            .env("CHOKAQ_HOME", &home.path)
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
        cluster.create_database().await?;
        Ok(Some(cluster))
    }

    async fn create_database(&self) -> Result<()> {
        match &self.endpoint {
            None => {
                let admin = crate::session::postgres::Session::connect(&self.config).await?;
                admin.batch("CREATE DATABASE shop").await?;
            }
            Some(endpoint) => {
                babelfish::initialize(&self.config).await?;
                let mut admin = until_ready(|| mssql::Session::connect(endpoint.config("master"))).await?;
                admin.batch("CREATE DATABASE shop").await?;
            }
        }
        crate::deploy::up(&self.url()?).await
    }

    /// The URL of its database.
    pub fn url(&self) -> Result<String> {
        match &self.endpoint {
            None => {
                let port = self.config.get_ports().first().context("a port")?;
                Ok(format!("postgres://tester@127.0.0.1:{port}/shop?sslmode=disable"))
            }
            Some(endpoint) => endpoint.url("shop"),
        }
    }

    /// A connection to its database, when it lets one in.
    pub async fn connect(&self) -> Result<Session> {
        match &self.endpoint {
            None => {
                let config = self.config.clone().dbname("shop").to_owned();
                Ok(Session::Postgres(crate::session::postgres::Session::connect(&config).await?))
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

    /// Starts it again, and waits until it has recovered and lets in.
    pub async fn restart(&mut self) -> Result<()> {
        self.order("start")?;
        until_ready(async || self.connect().await.map_err(std::io::Error::other)).await?;
        Ok(())
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
