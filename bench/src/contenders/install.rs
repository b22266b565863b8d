//! Brings the peers from their registries into a folder under `target/`, in the versions that `peers/` pins, and asks
//! the installed packages for their statements.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers");

/// Where the peers are.
pub struct Installed {
    node: PathBuf,
    python: PathBuf,
}

impl Installed {
    /// Installs what is not there.
    pub fn find(folder: &Path) -> Result<Self> {
        let scripts = Path::new(SCRIPTS);
        let node = folder.join("npm");
        if is_newer(&scripts.join("package.json"), &node.join("installed")) {
            std::fs::create_dir_all(&node)?;
            std::fs::copy(scripts.join("package.json"), node.join("package.json"))?;
            run(Command::new("npm")
                .args(["install", "--no-audit", "--no-fund", "--ignore-scripts"])
                .current_dir(&node))?;
            std::fs::write(node.join("installed"), "")?;
        }

        let python = folder.join("venv");
        let requirements = scripts.join("requirements.txt");
        if is_newer(&requirements, &python.join("installed")) {
            run(Command::new("python3").args(["-m", "venv"]).arg(&python))?;
            let pip = python.join("bin/pip");
            run(Command::new(pip).args(["install", "--quiet", "--requirement"]).arg(requirements))?;
            std::fs::write(python.join("installed"), "")?;
        }
        Ok(Self { node, python })
    }

    /// What a script that runs on Node prints.
    pub fn ask_node<T: DeserializeOwned>(&self, script: &str, arguments: &[&str]) -> Result<T> {
        ask(Command::new("node").arg(Path::new(SCRIPTS).join(script)).args(arguments).current_dir(&self.node))
    }

    /// What the script in Python prints.
    pub fn ask_python<T: DeserializeOwned>(&self, script: &str) -> Result<T> {
        ask(Command::new(self.python.join("bin/python")).arg(Path::new(SCRIPTS).join(script)))
    }
}

/// True when the second file is older, or not there.
fn is_newer(than: &Path, mark: &Path) -> bool {
    let time = |path: &Path| path.metadata().and_then(|meta| meta.modified()).ok();
    time(mark).is_none_or(|mark| time(than).is_some_and(|than| than > mark))
}

fn ask<T: DeserializeOwned>(command: &mut Command) -> Result<T> {
    let answer = run(command)?;
    serde_json::from_str(&answer).with_context(|| format!("{command:?} printed: {answer}"))
}

fn run(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("{command:?} is needed to measure the peers"))?;
    ensure!(output.status.success(), "{command:?} failed");
    Ok(String::from_utf8(output.stdout)?)
}
