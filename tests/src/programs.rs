//! PostgreSQL's own programs: `psql`, `pg_dump`.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};

use crate::server::postgres;

/// Runs one to its end, fed by its standard input. It is that of the server, where there is one.
pub async fn run(program: &str, arguments: &[&str], input: &str) -> Result<Output> {
    let beside_the_server = postgres::find_bin().map(|bin| bin.join(program)).ok().filter(|path| path.exists());
    let mut child = Command::new(beside_the_server.unwrap_or_else(|| program.into()))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context(program.to_owned())?;
    let mut stdin = child.stdin.take().context("its input")?;
    let input = input.to_owned();
    let output = tokio::task::spawn_blocking(move || {
        std::thread::scope(|scope| {
            /* It may end at an error, and read no further. */
            scope.spawn(move || stdin.write_all(input.as_bytes()));
            child.wait_with_output()
        })
    });
    Ok(output.await??)
}

/// `psql` on a script.
pub async fn psql(url: &str, script: &str) -> Result<Output> {
    run("psql", &["--no-psqlrc", "--quiet", "--dbname", url, "--file=-"], script).await
}

/// What `pg_dump` writes of a database.
pub async fn pg_dump(url: &str) -> Result<String> {
    let output = run("pg_dump", &["--dbname", url], "").await?;
    ensure!(output.status.success(), "pg_dump: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}
