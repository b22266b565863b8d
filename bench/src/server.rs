//! A PostgreSQL that keeps what it is told to keep, unlike the one of the tests: whoever measures a queue measures fsync.

use anyhow::{Context, Result};
use chokaq_tests::server::postgres::find_bin;
use chokaq_tests::server::supervised::{Home, Supervised};
use chokaq_tests::server::{free_port, until_ready};
use tokio_postgres::{Client, Config, NoTls};

/// A server of the user's own; otherwise a throw-away one is started.
pub const URL_VARIABLE: &str = "CHOKAQ_BENCH_POSTGRES_URL";

/// What is not PostgreSQL's default: memory, no checkpoint in the middle of a measurement, and the safety that the
/// harness of the tests gives up; of two settings of one name the later counts.
const SETTINGS: [&str; 7] = [
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "shared_buffers=1GB",
    "max_wal_size=8GB",
    "checkpoint_timeout=30min",
    "shared_preload_libraries=pg_stat_statements",
];

/// The server of a run; it goes when this is dropped.
pub struct Server {
    config: Config,
    _process: Option<Supervised>,
}

impl Server {
    /// Starts one, or takes the one of [`URL_VARIABLE`].
    pub async fn start() -> Result<Self> {
        let (config, process) = match std::env::var(URL_VARIABLE) {
            Ok(url) => (url.parse().context(URL_VARIABLE)?, None),
            Err(_) => {
                let (config, process) = start_cluster()?;
                (config, Some(process))
            }
        };
        until_ready(|| connect(&config)).await?;
        Ok(Self { config, _process: process })
    }

    /// What it says it is, and what decides its speed.
    pub async fn describe(&self) -> Result<String> {
        let client = connect(&self.config).await?;
        let settings = "SELECT string_agg(name || '=' || current_setting(name), ', ' ORDER BY name)
            FROM unnest('{fsync,synchronous_commit,full_page_writes,shared_buffers,max_wal_size}'::text[]) AS n (name)";
        let version: String = client.query_one("SHOW server_version", &[]).await?.get(0);
        let settings: String = client.query_one(settings, &[]).await?.get(0);
        Ok(format!("PostgreSQL {version}, {settings}"))
    }

    /// A new, empty database; one of that name that an earlier run left is dropped.
    pub async fn create_database(&self, name: &str) -> Result<Database> {
        let admin = connect(&self.config).await?;
        admin.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await?;
        admin.batch_execute(&format!("CREATE DATABASE {name}")).await?;
        let mut config = self.config.clone();
        config.dbname(name);
        Ok(Database { config })
    }

    /// The kit's, deployed.
    pub async fn create_kit_database(&self) -> Result<Database> {
        let database = self.create_database("chokaq_bench").await?;
        chokaq::Client::connect(&database.url()).await?.deploy().up().await?;
        Ok(database)
    }
}

/// One database of the server.
#[derive(Clone)]
pub struct Database {
    config: Config,
}

impl Database {
    /// A connection of its own.
    pub async fn connect(&self) -> Result<Client> {
        Ok(connect(&self.config).await?)
    }

    /// Runs that script, then puts the database into the state every measurement begins with: vacuumed, analysed,
    /// and all of it on disk.
    pub async fn prepare(&self, script: &str) -> Result<()> {
        let client = self.connect().await?;
        client.batch_execute(script).await?;
        client.batch_execute("VACUUM (ANALYZE)").await?;
        client.batch_execute("CHECKPOINT").await?;
        Ok(())
    }

    /// As an application would write it.
    pub fn url(&self) -> String {
        use tokio_postgres::config::Host;

        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.clone(),
            _ => "127.0.0.1".to_owned(),
        };
        let port = self.config.get_ports().first().copied().unwrap_or(5432);
        let user = self.config.get_user().unwrap_or("postgres");
        let password = match self.config.get_password() {
            Some(password) => format!(":{}", String::from_utf8_lossy(password)),
            None => String::new(),
        };
        let name = self.config.get_dbname().unwrap_or("postgres");
        format!("postgres://{user}{password}@{host}:{port}/{name}?sslmode=disable")
    }
}

async fn connect(config: &Config) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

fn start_cluster() -> Result<(Config, Supervised)> {
    let bin = find_bin()?;
    let home = Home::create()?;
    /* The plainest locale: peers compare text by the database's collation, the kit never does. */
    home.initdb(&bin, &["--locale=C.UTF-8"])?;
    let port = free_port()?;
    let process = home.start(&bin, port, &SETTINGS.map(str::to_owned))?;
    let mut config = Config::new();
    config.host("127.0.0.1").port(port).user("tester").dbname("postgres");
    Ok((config, process))
}
