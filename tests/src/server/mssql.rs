//! T-SQL: a server given by URL, a local Babelfish, or SQL Server in Docker.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, anyhow, bail};
use tiberius::{AuthMethod, Config, EncryptionLevel};
use tokio::runtime::Runtime;
use url::Url;

use super::{babelfish, docker, until_ready};
use crate::database::Rights;
use crate::deploy;
use crate::session::mssql::Lease;
use crate::session::{Session, mssql};
use crate::until::until;

/// Where the run's T-SQL server comes from.
pub enum Source {
    Url(String),
    Babelfish(PathBuf),
    Docker,
    /// There is none, and this is what to do about it.
    Nothing(&'static str),
}

impl Source {
    pub fn find() -> Self {
        if let Ok(url) = std::env::var("CHOKAQ_TEST_MSSQL_URL") {
            Self::Url(url)
        } else if let Some(bin) = babelfish::find_bin() {
            Self::Babelfish(bin)
        } else if docker::is_there() {
            Self::Docker
        } else {
            Self::Nothing("no CHOKAQ_TEST_MSSQL_URL, no Babelfish under BABELFISH_HOME or /opt/babelfish, no Docker")
        }
    }
}

/// That of every login of a case, strong enough for the policy of any server.
const PASSWORD: &str = "Chokaq-1-Chokaq";

/// Where a server listens and who may log in.
pub struct Endpoint {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: String,
    /// Encrypted with whatever certificate the server shows, or not at all.
    pub encrypt: bool,
}

impl Endpoint {
    /// `mssql://user:password@host:port?encrypt=false`, as the driver reads it.
    fn parse(text: &str) -> Result<Self> {
        let url = Url::parse(text)?;
        let decode = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
        Ok(Self {
            host: url.host_str().context("it names no host")?.to_owned(),
            port: url.port().unwrap_or(1433),
            user: decode(url.username()),
            password: decode(url.password().unwrap_or_default()),
            encrypt: !url.query_pairs().any(|(name, value)| name == "encrypt" && value == "false"),
        })
    }

    pub(super) fn url(&self, database: &str) -> Result<String> {
        self.url_as(&self.user, &self.password, database)
    }

    fn url_as(&self, user: &str, password: &str, database: &str) -> Result<String> {
        let how = if self.encrypt { "trust_server_certificate=true" } else { "encrypt=false" };
        let mut url = Url::parse(&format!("mssql://{}:{}/{database}?{how}", self.host, self.port))?;
        url.set_username(user).map_err(|()| anyhow!("the user name"))?;
        url.set_password(Some(password)).map_err(|()| anyhow!("the password"))?;
        Ok(url.into())
    }

    pub(super) fn config(&self, database: &str) -> Config {
        self.config_of(&self.user, &self.password, database)
    }

    fn config_of(&self, user: &str, password: &str, database: &str) -> Config {
        let mut config = Config::new();
        config.host(&self.host);
        config.port(self.port);
        config.database(database);
        config.authentication(AuthMethod::sql_server(user, password));
        config.command_timeout(None);
        config.trust_cert();
        config.encryption(if self.encrypt { EncryptionLevel::Required } else { EncryptionLevel::NotSupported });
        config
    }
}

/// A deployed, empty database that no case is using, with the connections that cases have left to it. On some servers
/// a database takes seconds to make, and the first call of a procedure in a session takes another.
pub struct Idle {
    pub name: String,
    /// What was in it when it had been deployed.
    pub objects: Objects,
    pub sessions: Vec<mssql::Session>,
}

/// Every object of a database, and the text of those that have one.
#[derive(PartialEq, Eq)]
pub struct Objects(Vec<(String, String)>);

impl Objects {
    async fn of(session: &mut mssql::Session) -> Result<Self> {
        let sql = "SELECT o.name AS Name, COALESCE(m.definition, N'') AS Definition
            FROM sys.objects AS o LEFT JOIN sys.sql_modules AS m ON m.object_id = o.object_id
            WHERE o.is_ms_shipped = 0
            ORDER BY o.name";
        let rows = session.query(sql, &[]).await?;
        Ok(Self(rows.rows.iter().map(|row| (row.text("Name"), row.text("Definition"))).collect()))
    }
}

/// The server and the deployed databases no case is using.
pub struct Server {
    pub version: String,
    endpoint: Endpoint,
    idle: Mutex<Vec<Idle>>,
    next: AtomicU32,
    /// One at a time makes, fills or drops a database: Babelfish's catalogs do not take two.
    pub deploying: tokio::sync::Mutex<()>,
    /* What the run started, held for its Drop, which stops it. */
    process: Option<Box<dyn Send + Sync>>,
}

impl Server {
    pub fn start(source: &Source, runtime: &Runtime) -> Result<Self> {
        let (endpoint, process): (Endpoint, Option<Box<dyn Send + Sync>>) = match source {
            Source::Url(url) => (Endpoint::parse(url).context("CHOKAQ_TEST_MSSQL_URL")?, None),
            Source::Babelfish(bin) => {
                let (endpoint, process) = babelfish::start(bin, runtime)?;
                (endpoint, Some(Box::new(process)))
            }
            Source::Docker => {
                let (endpoint, container) = docker::start()?;
                (endpoint, Some(Box::new(container)))
            }
            Source::Nothing(why) => bail!("{why}"),
        };
        let version = runtime.block_on(async {
            let mut admin = until_ready(|| mssql::Session::connect(endpoint.config("master"))).await?;
            let version = admin.query("SELECT Version = CAST(@@VERSION AS nvarchar(400))", &[]).await?;
            Ok::<_, anyhow::Error>(version.one().text("Version").lines().next().unwrap_or_default().to_owned())
        })?;
        Ok(Self {
            version,
            endpoint,
            idle: Mutex::default(),
            next: AtomicU32::new(0),
            deploying: tokio::sync::Mutex::new(()),
            process,
        })
    }

    /// A database for one case.
    pub async fn take_database(&self) -> Result<Idle> {
        if let Some(idle) = self.idle.lock().map_err(|_| anyhow!("a case panicked here"))?.pop() {
            return Ok(idle);
        }
        let _alone = self.deploying.lock().await;
        let name = self.create_empty_database().await?;
        deploy::up(&self.url(&name)?).await?;
        let mut session = self.connect(&name).await?;
        Ok(Idle { name, objects: Objects::of(&mut session).await?, sessions: vec![session] })
    }

    /// Ends what the sessions left open, empties the tables, and hands both on to the next case. A database whose
    /// objects the case has changed, or where others still work, is not handed on; `finish` drops it.
    pub async fn give_back(&self, mut idle: Idle) -> Result<()> {
        for session in &mut idle.sessions {
            session.batch("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;").await?;
        }
        let mut session = match idle.sessions.pop() {
            Some(session) => session,
            None => self.connect(&idle.name).await?,
        };
        /* A call that its client gave up may still be running, and would act on the next case's jobs. */
        let ours = idle.sessions.len() as i64 + 1;
        let left = until("only the case's own sessions are left", async || {
            /* Babelfish lists ended ones too, without a number. */
            let sql = "SELECT COUNT(session_id) AS N FROM sys.dm_exec_sessions WHERE database_id = DB_ID()";
            Ok((session.query(sql, &[]).await?.one().int("N") <= ours).then_some(()))
        });
        let others_stay = left.await.is_err();
        if Objects::of(&mut session).await? != idle.objects || others_stay {
            return Ok(());
        }
        let mut session = Session::Mssql(Lease::of(session, None));
        session.empty_tables().await?;
        idle.sessions.extend(session.into_mssql());
        self.idle.lock().map_err(|_| anyhow!("a case panicked here"))?.push(idle);
        Ok(())
    }

    /// Of the server's own collation, or of the one that the run was given.
    pub async fn create_empty_database(&self) -> Result<String> {
        let collation = std::env::var("CHOKAQ_TEST_MSSQL_COLLATION").ok().filter(|name| !name.is_empty());
        self.create_database_of(collation.as_deref()).await
    }

    pub async fn create_database_of(&self, collation: Option<&str>) -> Result<String> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("chokaq_test_{}_{number}", std::process::id());
        let collate = collation.map(|collation| format!(" COLLATE {collation}")).unwrap_or_default();
        let mut admin = mssql::Session::connect(self.endpoint.config("master")).await?;
        admin.batch(&format!("CREATE DATABASE {name}{collate}")).await?;
        Ok(name)
    }

    pub async fn drop_database(&self, name: &str) -> Result<()> {
        let _alone = self.deploying.lock().await;
        let mut admin = mssql::Session::connect(self.endpoint.config("master")).await?;
        Ok(admin.batch(&format!("DROP DATABASE IF EXISTS {name}")).await?)
    }

    /// Drops what the run left on a server that outlives it.
    pub async fn finish(&self) -> Result<()> {
        if self.process.is_some() {
            return Ok(());
        }
        self.idle.lock().map_err(|_| anyhow!("a case panicked here"))?.clear();
        let mut admin = mssql::Session::connect(self.endpoint.config("master")).await?;
        let prefix = format!("chokaq_test_{}_", std::process::id());
        let sql = "SELECT name AS Name FROM sys.databases WHERE LEFT(name, LEN(@P1)) = @P1";
        for name in admin.query(sql, &[prefix.as_str().into()]).await?.texts("Name") {
            self.drop_database(&name).await?;
        }
        let sql = "SELECT name AS Name FROM sys.server_principals WHERE LEFT(name, LEN(@P1)) = @P1";
        for name in admin.query(sql, &[prefix.into()]).await?.texts("Name") {
            admin.batch(&format!("DROP LOGIN {name}")).await?;
        }
        Ok(())
    }

    /// A login, and its user in one database.
    pub async fn create_login(&self, name: &str, rights: Rights<'_>, database: &str) -> Result<()> {
        let _alone = self.deploying.lock().await;
        let mut owner = self.connect(database).await?;
        owner.batch(&format!("CREATE LOGIN {name} WITH PASSWORD = '{PASSWORD}'")).await?;
        match rights {
            Rights::Everything => owner.batch(&format!("ALTER SERVER ROLE sysadmin ADD MEMBER {name}")).await?,
            Rights::Of(roles) => {
                owner.batch(&format!("CREATE USER {name} FOR LOGIN {name}")).await?;
                for role in roles {
                    owner.batch(&format!("ALTER ROLE {role} ADD MEMBER {name}")).await?;
                }
            }
        }
        Ok(())
    }

    /// Its sessions have been let go of; the server may still be noticing that.
    pub async fn drop_login(&self, name: &str, database: &str) -> Result<()> {
        let _alone = self.deploying.lock().await;
        let mut owner = self.connect(database).await?;
        owner.batch(&format!("DROP USER IF EXISTS {name}")).await?;
        until_ready(async || owner.batch(&format!("DROP LOGIN {name}")).await).await
    }

    pub async fn connect(&self, database: &str) -> Result<mssql::Session> {
        Self::session(self.endpoint.config(database)).await
    }

    pub async fn connect_as(&self, login: &str, database: &str) -> Result<mssql::Session> {
        Self::session(self.endpoint.config_of(login, PASSWORD, database)).await
    }

    async fn session(config: Config) -> Result<mssql::Session> {
        let mut session = mssql::Session::connect(config).await?;
        session.batch("SET LOCK_TIMEOUT 60000").await?;
        Ok(session)
    }

    /// The URL of one of its databases, as an application would write it.
    pub fn url(&self, database: &str) -> Result<String> {
        self.endpoint.url(database)
    }

    /// The same for a login of a case.
    pub fn url_as(&self, login: &str, database: &str) -> Result<String> {
        self.endpoint.url_as(login, PASSWORD, database)
    }
}
