//! PostgreSQL with a folder of extensions of its own: nothing is written into the machine's.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::supervised::{Home, run, unprivileged};

/// A server looks for its files beside the place that it runs from, so a copy of the program needs a tree around it like
/// the one it was taken from. All of that is links, but the program and the folder of extensions.
const BUILD: &str = r#"
set -eu
root=$1 bin=$2 share=$3 lib=$4
mkdir -p "$root$bin" "$root$share" "$(dirname "$root$lib")"
cp "$bin/postgres" "$root$bin/"
ln -s "$lib" "$root$lib"
ln -s "$share"/* "$root$share/"
rm "$root$share/extension"
mkdir "$root$share/extension"
ln -s "$share"/extension/* "$root$share/extension/"
rm -f "$root$share"/extension/chokaq*
"#;

/// Where the copy is, and where it looks for extensions.
pub struct Overlay {
    pub bin: PathBuf,
    pub extensions: PathBuf,
}

impl Overlay {
    pub fn of(home: &Home, bin: &Path) -> Result<Self> {
        let folder = |option: &str| -> Result<PathBuf> {
            let output = Command::new(bin.join("pg_config")).arg(option).output().context("pg_config")?;
            ensure!(output.status.success(), "pg_config {option}: {}", String::from_utf8_lossy(&output.stderr));
            Ok(String::from_utf8(output.stdout)?.trim().into())
        };
        let (bin, share, lib) = (folder("--bindir")?, folder("--sharedir")?, folder("--pkglibdir")?);
        let root = home.path.join("root");
        run(unprivileged("sh").args(["-c", BUILD, "overlay"]).arg(&root).args([&bin, &share, &lib]))?;
        let within = |path: &Path| path.strip_prefix("/").map(|path| root.join(path));
        Ok(Self { bin: within(&bin)?, extensions: within(&share)?.join("extension") })
    }
}
