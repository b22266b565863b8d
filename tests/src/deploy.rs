//! Brings a database to the newest migration with the driver's own deployer.

use anyhow::Result;

/// What `chokaq migrate up` does.
pub async fn up(url: &str) -> Result<()> {
    chokaq::Client::connect(url).await?.deploy().up().await?;
    Ok(())
}
