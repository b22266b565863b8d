//! The two servers of a run: started once, shared by all cases, gone when the run ends however it ends.

pub mod babelfish;
pub mod cluster;
pub mod docker;
pub mod mssql;
pub mod overlay;
pub mod postgres;
pub mod supervised;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow};
use tokio::runtime::Runtime;

use crate::session::Engine;

/// Both servers, each started by the first case that needs it.
pub struct Servers {
    pub mssql_source: mssql::Source,
    mssql: OnceLock<Result<mssql::Server, String>>,
    postgres: OnceLock<Result<postgres::Server, String>>,
    /* One for all cases: a connection lives on the runtime it was opened on, and some are handed on. */
    runtime: Runtime,
}

impl Servers {
    pub fn find() -> Result<Self> {
        Ok(Self {
            mssql_source: mssql::Source::find(),
            mssql: OnceLock::new(),
            postgres: OnceLock::new(),
            runtime: tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?,
        })
    }

    /// Runs a case to its end on the calling thread.
    pub fn block_on<T>(&self, case: impl Future<Output = T>) -> T {
        self.runtime.block_on(case)
    }

    pub fn postgres(&self) -> Result<&postgres::Server> {
        shared(&self.postgres, || postgres::Server::start(&self.runtime))
    }

    pub fn mssql(&self) -> Result<&mssql::Server> {
        shared(&self.mssql, || mssql::Server::start(&self.mssql_source, &self.runtime))
    }

    /// Drops what the run left on servers that outlive it.
    pub fn finish(&self) -> Result<()> {
        self.block_on(async {
            if let Some(Ok(server)) = self.postgres.get() {
                server.finish().await?;
            }
            if let Some(Ok(server)) = self.mssql.get() {
                server.finish().await?;
            }
            Ok(())
        })
    }

    /// What the server says it is; None when no case started it.
    pub fn version(&self, engine: Engine) -> Option<String> {
        match engine {
            Engine::Postgres => Some(self.postgres.get()?.as_ref().ok()?.version.clone()),
            Engine::Mssql => Some(self.mssql.get()?.as_ref().ok()?.version.clone()),
        }
    }
}

/// Started on a thread of its own: a start blocks, which it may not do inside the calling case.
fn shared<T: Send + Sync>(cell: &OnceLock<Result<T, String>>, start: impl FnOnce() -> Result<T> + Send) -> Result<&T> {
    cell.get_or_init(|| match std::thread::scope(|scope| scope.spawn(start).join()) {
        Ok(result) => result.map_err(|error| format!("{error:#}")),
        Err(_) => Err("the start of the server panicked".to_owned()),
    })
    .as_ref()
    .map_err(|error| anyhow!("{error}"))
}

/// A port that was free a moment ago.
pub fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// The newest `bin` directory of `<root>/<version>/bin` that holds `initdb`.
fn newest_bin(root: &Path) -> Option<PathBuf> {
    let version = |path: &Path| -> Vec<u32> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.split('.').filter_map(|part| part.parse().ok()).collect()
    };
    let mut installs: Vec<PathBuf> = std::fs::read_dir(root)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("bin/initdb").exists())
        .collect();
    installs.sort_by_key(|path| version(path));
    Some(installs.pop()?.join("bin"))
}

/// Polls until it works; gives up with the last error.
pub async fn until_ready<T, E>(mut attempt: impl AsyncFnMut() -> Result<T, E>) -> Result<T>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(90);
    loop {
        match attempt().await {
            Ok(value) => return Ok(value),
            Err(error) if std::time::Instant::now() > deadline => {
                return Err(error).context("not in 90 seconds");
            }
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
        }
    }
}
