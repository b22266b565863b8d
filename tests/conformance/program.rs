//! The command line as a scenario runs it.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, anyhow, ensure};
use chokaq_tests::Result;
use serde_json::Value;

/// The program, built by the first case that runs it.
fn program() -> Result<&'static PathBuf> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    PROGRAM.get_or_init(|| build().map_err(|error| format!("{error:#}"))).as_ref().map_err(|error| anyhow!("{error}"))
}

fn build() -> Result<PathBuf> {
    /* This program is target/<profile>/deps/conformance-<hash>; the command line is target/<profile>/chokaq. */
    let own = std::env::current_exe()?;
    let profile = own.ancestors().nth(2).context("a target directory")?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "chokaq", "--bin", "chokaq"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.arg("--target-dir").arg(profile.parent().context("a target directory")?);
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    let output = cargo.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(profile.join("chokaq"))
}

/// One run of the program.
pub struct Run {
    pub code: Option<i32>,
    pub lines: Vec<String>,
    pub stderr: String,
}

impl Run {
    pub fn json(&self) -> Result<Vec<Value>> {
        self.lines.iter().map(|line| serde_json::from_str(line).with_context(|| line.clone())).collect()
    }
}

/// The program with an environment of its own: `url`, if any, is the database of CHOKAQ_DATABASE_URL.
pub fn command(url: Option<&str>, arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new(program()?);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .env_remove("DATABASE_URL")
        .env_remove("CHOKAQ_DATABASE_URL")
        .env("CHOKAQ_OPERATOR", "ann");
    if let Some(url) = url {
        command.env("CHOKAQ_DATABASE_URL", url);
    }
    Ok(command)
}

/// Runs it to its end.
pub async fn run(url: Option<&str>, arguments: &[&str]) -> Result<Run> {
    finish(command(url, arguments)?).await
}

/// Runs a command of the program to its end.
pub async fn finish(mut command: Command) -> Result<Run> {
    let Output { status, stdout, stderr } = tokio::task::spawn_blocking(move || command.output()).await??;
    let stderr = String::from_utf8(stderr)?;
    let lines = String::from_utf8(stdout)?.lines().map(str::to_owned).collect();
    Ok(Run { code: status.code(), lines, stderr })
}
