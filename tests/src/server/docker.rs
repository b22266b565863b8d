//! SQL Server in a container, where Docker is.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use testcontainers::core::{IntoContainerPort, WaitFor};
use testcontainers::runners::SyncRunner;
use testcontainers::{Container, GenericImage, Image, ImageExt};
use testcontainers_modules::mssql_server::MssqlServer;

use super::mssql::Endpoint;

const PASSWORD: &str = "Throw-away 1";

/// True when a Docker daemon answers.
pub fn is_there() -> bool {
    Command::new("docker").arg("info").output().is_ok_and(|output| output.status.success())
}

/// Starts SQL Server; the container is removed when the handle is dropped.
pub fn start() -> Result<(Endpoint, Container<GenericImage>)> {
    let tag = std::env::var("CHOKAQ_TEST_MSSQL_TAG").unwrap_or_else(|_| "2022-latest".to_owned());
    let container = GenericImage::new(MssqlServer::default().name(), &tag)
        .with_exposed_port(1433.tcp())
        .with_wait_for(WaitFor::message_on_stdout("Recovery is complete"))
        .with_env_var("ACCEPT_EULA", "Y")
        .with_env_var("MSSQL_SA_PASSWORD", PASSWORD)
        .with_startup_timeout(Duration::from_secs(180))
        .start()?;
    let endpoint = Endpoint {
        host: container.get_host()?.to_string(),
        port: container.get_host_port_ipv4(1433)?,
        user: "sa".to_owned(),
        password: PASSWORD.to_owned(),
        encrypt: true,
    };
    Ok((endpoint, container))
}
