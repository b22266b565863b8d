//! How the databases of a run get the kit: `CHOKAQ_TEST_INSTALL`, from the files of a release in `CHOKAQ_TEST_DIST`, if
//! that is said, and otherwise from what the driver would write into one.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::deploy;
use crate::session::{Engine, postgres};

/// A way to install.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Install {
    /// What `chokaq migrate up` does.
    Deployment,
    /// `CREATE EXTENSION chokaq`; T-SQL knows no such thing and is deployed.
    Extension,
}

impl Install {
    pub fn chosen() -> Result<Self> {
        match std::env::var("CHOKAQ_TEST_INSTALL").as_deref() {
            Err(_) => Ok(Self::Deployment),
            Ok("extension") => Ok(Self::Extension),
            Ok(other) => bail!("CHOKAQ_TEST_INSTALL={other}: it is extension, or not set"),
        }
    }
}

/// The folder of a release, as `make dist` writes it.
pub fn dist() -> Option<PathBuf> {
    std::env::var_os("CHOKAQ_TEST_DIST").map(PathBuf::from)
}

/// Puts the extension where a server looks for it.
pub fn extension(folder: &Path) -> Result<()> {
    let Some(dist) = dist() else {
        let extension = chokaq::Extension::new();
        let (name, script) = extension.install();
        std::fs::write(folder.join("chokaq.control"), extension.control())?;
        return Ok(std::fs::write(folder.join(name), script)?);
    };
    let mut make = Command::new("make");
    make.arg("-C").arg(dist.join("extension")).arg("install").arg(format!("EXTENSIONS={}", folder.display()));
    let output = make.output().context("make")?;
    ensure!(output.status.success(), "{make:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Brings the kit into an empty database.
pub async fn on_postgres(how: Install, url: &str) -> Result<()> {
    match how {
        Install::Deployment => deploy::up(url).await,
        Install::Extension => {
            let session = postgres::Session::connect(&url.parse()?).await?;
            Ok(session.batch("CREATE EXTENSION chokaq").await?)
        }
    }
}

/// The script of a release that installs on that engine; None when the run is not about one.
pub fn script(engine: Engine) -> Result<Option<String>> {
    let name = match engine {
        Engine::Postgres => "install-chokaq-postgres.sql",
        Engine::Mssql => "Install-ChokaQ.sql",
    };
    dist().map(|dist| std::fs::read_to_string(dist.join(name)).context(name)).transpose()
}
