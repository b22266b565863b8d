//! `chokaq dev`: a server of its own that stays until it is told to end, and then leaves nothing but what it was to keep.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};
use chokaq::{Client, Enqueue, EnqueueOutcome};
use chokaq_tests::{Db, Engine, Result, Scenario, scenario};

use crate::program;

pub const SCENARIOS: &[Scenario] = &[
    scenario!(dev_prints_its_url_and_ends_on_an_interrupt_with_nothing_left_behind).only(Engine::Postgres),
    scenario!(dev_keeps_a_directory_of_data_and_goes_on_with_it).only(Engine::Postgres),
];

/// A running `chokaq dev`; however a scenario ends, it does too.
struct Dev {
    child: Child,
    url: String,
}

impl Dev {
    /// Waits for its first line.
    async fn start(arguments: &[&str]) -> Result<Self> {
        let mut command = program::command(None, &["dev"])?;
        let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let stdout = child.stdout.take().context("its output")?;
        let mut dev = Self { child, url: String::new() };
        let line = tokio::task::spawn_blocking(move || BufReader::new(stdout).lines().next()).await?;
        dev.url = line.context("it ended without a line")??;
        Ok(dev)
    }

    /// Ctrl-C.
    async fn interrupt(mut self) -> Result<()> {
        let killed = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status()?;
        ensure!(killed.success(), "the signal was not sent");
        let status = tokio::task::block_in_place(|| self.child.wait())?;
        assert_eq!(status.code(), Some(0));
        assert!(Client::connect(&self.url).await.is_err(), "the server still answers");
        Ok(())
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where the server of that URL keeps its data.
async fn data_directory(url: &str) -> Result<PathBuf> {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    let directory: String = client.query_one("SHOW data_directory", &[]).await?.get(0);
    Ok(directory.into())
}

async fn enqueue(url: &str) -> Result<EnqueueOutcome> {
    let client = Client::connect(url).await?;
    Ok(client.enqueue(&Enqueue { job_id: Some("a1"), ..Enqueue::new("q", "t") }).await?.outcome)
}

async fn dev_prints_its_url_and_ends_on_an_interrupt_with_nothing_left_behind(_: &Db<'_>) -> Result<()> {
    let dev = Dev::start(&[]).await?;
    assert!(dev.url.starts_with("postgres://"), "{}", dev.url);
    assert_eq!(enqueue(&dev.url).await?, EnqueueOutcome::Enqueued);
    let data = data_directory(&dev.url).await?;
    let home = data.parent().context("a directory of the run")?;
    assert!(home.exists() && home != std::env::temp_dir(), "{}", home.display());
    dev.interrupt().await?;
    assert!(!home.exists(), "{} is left", home.display());
    Ok(())
}

/// A directory that the server's account can enter; it goes with this.
struct Scratch(PathBuf);

impl Scratch {
    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn dev_keeps_a_directory_of_data_and_goes_on_with_it(_: &Db<'_>) -> Result<()> {
    let scratch = Scratch(std::env::temp_dir().join(format!("chokaq-test-dev-{}", std::process::id())));
    let path = scratch.path().to_str().context("a path in letters")?;
    for outcome in [EnqueueOutcome::Enqueued, EnqueueOutcome::DuplicateId] {
        let dev = Dev::start(&["--data", path]).await?;
        assert_eq!(enqueue(&dev.url).await?, outcome);
        dev.interrupt().await?;
    }
    Ok(())
}
