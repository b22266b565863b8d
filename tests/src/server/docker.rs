//! SQL Server in a container, where Docker is.
//!
//! Written after the documentation of the images and of testcontainers; no Docker was there to run it.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use testcontainers::core::{IntoContainerPort, WaitFor};
use testcontainers::runners::SyncRunner;
use testcontainers::{Container, GenericImage, ImageExt};

use super::mssql::Endpoint;

const IMAGE: &str = "mcr.microsoft.com/mssql/server";

/// Eight characters or more out of three of the four kinds, as the server's policy wants them.
const PASSWORD: &str = "Throw-away 1";

/// From the start of the container on; the image has been pulled by then.
const STARTUP: Duration = Duration::from_secs(300);

/// True when a Docker daemon answers.
pub fn is_there() -> bool {
    Command::new("docker").arg("info").output().is_ok_and(|output| output.status.success())
}

/// Starts SQL Server; the container is removed when the handle is dropped. Whoever lets it start accepts Microsoft's
/// licence of the Developer edition.
pub fn start() -> Result<(Endpoint, Container<GenericImage>)> {
    let tag = std::env::var("CHOKAQ_TEST_MSSQL_TAG").unwrap_or_else(|_| "2022-latest".to_owned());
    let container = GenericImage::new(IMAGE, &tag)
        .with_exposed_port(1433.tcp())
        // It listens before it has recovered its databases, and until then refuses logins.
        .with_wait_for(WaitFor::message_on_stdout("SQL Server is now ready for client connections"))
        .with_wait_for(WaitFor::message_on_stdout("Recovery is complete"))
        // There are no others; on an ARM machine Docker has to emulate it.
        .with_platform("linux/amd64")
        .with_env_var("ACCEPT_EULA", "Y")
        .with_env_var("MSSQL_PID", "Developer")
        .with_env_var("MSSQL_SA_PASSWORD", PASSWORD)
        .with_startup_timeout(STARTUP)
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
