//! An installed Babelfish (PostgreSQL with a TDS listener), started as a throw-away cluster.

use std::path::{Path, PathBuf};

use anyhow::Result;
use tokio::runtime::Runtime;

use super::mssql::Endpoint;
use super::supervised::{Home, Supervised};
use super::{free_port, newest_bin, until_ready};
use crate::session::postgres;

const DEFAULT_PREFIX: &str = "/opt/babelfish";

/// `BABELFISH_HOME`, else the newest install under the default prefix.
pub fn find_bin() -> Option<PathBuf> {
    match std::env::var_os("BABELFISH_HOME") {
        Some(home) => Some(PathBuf::from(home).join("bin")),
        None => newest_bin(Path::new(DEFAULT_PREFIX))
            .or_else(|| Some(Path::new(DEFAULT_PREFIX).join("bin")))
            .filter(|bin| bin.join("initdb").exists()),
    }
}

/// Starts a cluster with a TDS listener; its user is `tester` with that password too.
pub fn start(bin: &Path, runtime: &Runtime) -> Result<(Endpoint, Supervised)> {
    let home = Home::create()?;
    home.initdb(bin, &["--locale=C.UTF-8"])?;
    let (port, tds_port) = (free_port()?, free_port()?);
    let process = home.start(bin, port, &settings(tds_port))?;
    let mut config = tokio_postgres::Config::new();
    config.host("127.0.0.1").port(port).user("tester");
    runtime.block_on(initialize(&config))?;

    Ok((endpoint(tds_port), process))
}

/// What makes the server listen to TDS.
pub(super) fn settings(tds_port: u16) -> [String; 4] {
    [
        "shared_preload_libraries=babelfishpg_tds".to_owned(),
        "allow_system_table_mods=on".to_owned(),
        "babelfishpg_tds.listen_addresses=127.0.0.1".to_owned(),
        format!("babelfishpg_tds.port={tds_port}"),
    ]
}

pub(super) fn endpoint(tds_port: u16) -> Endpoint {
    Endpoint {
        host: "127.0.0.1".to_owned(),
        port: tds_port,
        user: "tester".to_owned(),
        password: "tester".to_owned(),
        encrypt: false,
    }
}

pub(super) async fn initialize(config: &tokio_postgres::Config) -> Result<()> {
    let on = |database: &str| config.clone().dbname(database).to_owned();
    let postgres = on("postgres");
    let admin = until_ready(|| postgres::Session::connect(&postgres)).await?;
    admin.batch("ALTER ROLE tester PASSWORD 'tester'").await?;
    admin.batch("CREATE DATABASE babelfish").await?;
    let session = postgres::Session::connect(&on("babelfish")).await?;
    for statement in [
        "CREATE EXTENSION babelfishpg_tds CASCADE",
        "GRANT ALL ON SCHEMA sys TO tester",
        "ALTER SYSTEM SET babelfishpg_tsql.database_name = 'babelfish'",
        "ALTER SYSTEM SET babelfishpg_tsql.migration_mode = 'multi-db'",
        "SELECT pg_reload_conf()",
    ] {
        session.batch(statement).await?;
    }
    /* A new session: it sees the settings just loaded. */
    let session = postgres::Session::connect(&on("babelfish")).await?;
    Ok(session.batch("CALL sys.initialize_babelfish('tester')").await?)
}
