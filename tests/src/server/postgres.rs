//! PostgreSQL: `CHOKAQ_TEST_POSTGRES_URL`, or a throw-away cluster from the machine's own binaries.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, anyhow, bail};
use tokio::runtime::Runtime;
use tokio_postgres::Config;
use url::Url;

use super::overlay::Overlay;
use super::supervised::{Home, Supervised};
use super::{free_port, newest_bin, until_ready};
use crate::database::Rights;
use crate::install::{self, Install};
use crate::session::{Session, postgres};

/// That of every login of a case.
const PASSWORD: &str = "chokaq";

pub struct Server {
    pub version: String,
    config: Config,
    next: AtomicU32,
    /* Where it looks for extensions, when that is a folder of its own. */
    extensions: Option<PathBuf>,
    /* What the run started, held for its Drop, which stops it. */
    process: Option<Supervised>,
}

impl Server {
    pub fn start(runtime: &Runtime) -> Result<Self> {
        let mut server = match std::env::var("CHOKAQ_TEST_POSTGRES_URL") {
            Ok(url) => Self::at(url.parse().context("CHOKAQ_TEST_POSTGRES_URL")?),
            Err(_) => start_cluster()?,
        };
        runtime.block_on(async {
            let admin = until_ready(|| postgres::Session::connect(&server.config)).await?;
            server.version = admin.query("SHOW server_version", &[]).await?.one().text("ServerVersion");
            let template = server.template();
            admin.batch(&format!("DROP DATABASE IF EXISTS {template}")).await?;
            admin.batch(&format!("CREATE DATABASE {template}")).await?;
            install::on_postgres(Install::chosen()?, &server.url(&template)).await
        })?;
        Ok(server)
    }

    /// A cluster of its own for one case, nothing deployed.
    pub async fn start_another() -> Result<Self> {
        let server = tokio::task::spawn_blocking(start_cluster).await??;
        until_ready(|| postgres::Session::connect(&server.config)).await?;
        Ok(server)
    }

    fn at(config: Config) -> Self {
        Self { version: String::new(), config, next: AtomicU32::new(0), extensions: None, process: None }
    }

    /// Where it looks for extensions; a case may put its own there.
    pub fn extensions(&self) -> Result<&Path> {
        self.extensions.as_deref().context("this server has no folder of extensions of its own")
    }

    /// A deployed database of its own for one case.
    pub async fn create_database(&self) -> Result<String> {
        self.create_from(&self.template()).await
    }

    /// An empty database, nothing deployed.
    pub async fn create_empty_database(&self) -> Result<String> {
        self.create_from("template0").await
    }

    async fn create_from(&self, template: &str) -> Result<String> {
        let name = format!("{}_{}", self.template(), self.next.fetch_add(1, Ordering::Relaxed));
        let admin = postgres::Session::connect(&self.config).await?;
        admin.batch(&format!("CREATE DATABASE {name} TEMPLATE {template}")).await?;
        Ok(name)
    }

    pub async fn drop_database(&self, name: &str) -> Result<()> {
        let admin = postgres::Session::connect(&self.config).await?;
        Ok(admin.batch(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await?)
    }

    /// Drops what the run left on a server that outlives it.
    pub async fn finish(&self) -> Result<()> {
        if self.process.is_some() {
            return Ok(());
        }
        let admin = postgres::Session::connect(&self.config).await?;
        let sql = "SELECT datname::text AS name FROM pg_database WHERE starts_with(datname, $1)";
        for name in admin.query(sql, &[self.template().into()]).await?.texts("Name") {
            self.drop_database(&name).await?;
        }
        let sql = "SELECT rolname::text AS name FROM pg_roles WHERE starts_with(rolname, $1)";
        for name in admin.query(sql, &[self.template().into()]).await?.texts("Name") {
            self.drop_login(&name).await?;
        }
        Ok(())
    }

    pub async fn create_login(&self, name: &str, rights: Rights<'_>) -> Result<()> {
        let admin = postgres::Session::connect(&self.config).await?;
        admin.batch(&format!("CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")).await?;
        match rights {
            Rights::Everything => admin.batch(&format!("ALTER ROLE {name} SUPERUSER")).await?,
            Rights::Of(roles) => {
                for role in roles {
                    admin.batch(&format!("GRANT {role} TO {name}")).await?;
                }
            }
        }
        Ok(())
    }

    /// What it owned must be gone already.
    pub async fn drop_login(&self, name: &str) -> Result<()> {
        let admin = postgres::Session::connect(&self.config).await?;
        Ok(admin.batch(&format!("DROP ROLE {name}")).await?)
    }

    pub async fn connect(&self, database: &str) -> Result<Session> {
        Self::session(self.config.clone(), database).await
    }

    pub async fn connect_as(&self, login: &str, database: &str) -> Result<Session> {
        let mut config = self.config.clone();
        config.user(login).password(PASSWORD);
        Self::session(config, database).await
    }

    async fn session(mut config: Config, database: &str) -> Result<Session> {
        config.dbname(database).options("-c lock_timeout=60s");
        Ok(Session::Postgres(postgres::Session::connect(&config).await?))
    }

    /// The URL of one of its databases, as an application would write it.
    pub fn url(&self, database: &str) -> String {
        let host = match self.config.get_hosts().first() {
            Some(tokio_postgres::config::Host::Tcp(host)) => host.clone(),
            _ => "127.0.0.1".to_owned(),
        };
        let port = self.config.get_ports().first().copied().unwrap_or(5432);
        let user = self.config.get_user().unwrap_or("postgres");
        let password = self
            .config
            .get_password()
            .map(|password| format!(":{}", String::from_utf8_lossy(password)))
            .unwrap_or_default();
        format!("postgres://{user}{password}@{host}:{port}/{database}?sslmode=disable")
    }

    /// The same for a login of a case.
    pub fn url_as(&self, login: &str, database: &str) -> Result<String> {
        let mut url = Url::parse(&self.url(database))?;
        let is_set = url.set_username(login).and_then(|()| url.set_password(Some(PASSWORD)));
        is_set.map_err(|()| anyhow!("a URL without a host"))?;
        Ok(url.into())
    }

    /// The deployed database that the others are copied from, and the beginning of their names.
    fn template(&self) -> String {
        format!("chokaq_test_{}", std::process::id())
    }
}

/// Whether the run's server was there before it.
pub fn is_given() -> bool {
    std::env::var_os("CHOKAQ_TEST_POSTGRES_URL").is_some()
}

/// Why a run's server takes no extensions: they are files in its own folders.
pub fn no_extensions() -> Option<&'static str> {
    if is_given() {
        Some("CHOKAQ_TEST_POSTGRES_URL is a server whose files are not the suite's")
    } else if !find_bin().is_ok_and(|bin| bin.join("pg_config").exists()) {
        Some("there is no pg_config beside the server's binaries")
    } else {
        None
    }
}

fn start_cluster() -> Result<Server> {
    let mut bin = find_bin()?;
    let home = Home::create()?;
    /* A Turkish default collation: what depends on the database's own idea of letters shows at once. */
    home.initdb(&bin, &["--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=tr-TR"])?;
    let mut extensions = None;
    if no_extensions().is_none() {
        let overlay = Overlay::of(&home, &bin)?;
        install::extension(&overlay.extensions)?;
        bin = overlay.bin;
        extensions = Some(overlay.extensions);
    }
    let port = free_port()?;
    let process = home.start(&bin, port, &["log_lock_waits=on".to_owned()])?;
    let mut config = Config::new();
    config.host("127.0.0.1").port(port).user("tester").dbname("postgres");
    Ok(Server { extensions, process: Some(process), ..Server::at(config) })
}

/// The directory of the newest PostgreSQL server binaries.
pub fn find_bin() -> Result<PathBuf> {
    if let Some(bin) = newest_bin(Path::new("/usr/lib/postgresql")) {
        return Ok(bin);
    }
    let asked = Command::new("pg_config").arg("--bindir").output().ok();
    let asked = asked.and_then(|output| String::from_utf8(output.stdout).ok()).map(|dir| PathBuf::from(dir.trim()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    match asked.into_iter().chain(std::env::split_paths(&path)).find(|dir| dir.join("initdb").exists()) {
        Some(bin) => Ok(bin),
        None => bail!("no PostgreSQL server binaries: install PostgreSQL 15 or newer, or set CHOKAQ_TEST_POSTGRES_URL"),
    }
}
