//! What the program says of itself: every help text, completions, manual pages.

use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use chokaq_tests::{Db, Engine, Result, Scenario, scenario};
use tempfile::TempDir;

use crate::program::run;
use crate::transcript::Transcript;

pub const SCENARIOS: &[Scenario] = &[
    scenario!(every_command_has_its_help).only(Engine::Postgres),
    scenario!(completions_are_scripts_that_a_shell_takes).only(Engine::Postgres),
    scenario!(every_command_has_a_manual_page).only(Engine::Postgres),
];

/// Every command, the groups too, as its help lists them.
async fn commands() -> Result<Vec<String>> {
    let mut all = vec![String::new()];
    let mut next = 0;
    while let Some(command) = all.get(next).cloned() {
        let help = run(None, &command.split_whitespace().chain(["--help"]).collect::<Vec<_>>()).await?;
        let listed =
            help.lines.iter().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        for line in listed.filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
            let name = line.split_whitespace().next().unwrap_or_default();
            if name != "help" {
                all.push(format!("{command} {name}").trim().to_owned());
            }
        }
        next += 1;
    }
    Ok(all)
}

async fn every_command_has_its_help(_: &Db<'_>) -> Result<()> {
    let mut t = Transcript::new()?;
    for command in commands().await? {
        t.run(0, format!("{command} --help").trim()).await?;
    }
    t.compare_to_the_letter("help")
}

async fn completions_are_scripts_that_a_shell_takes(_: &Db<'_>) -> Result<()> {
    let directory = TempDir::with_prefix("chokaq-desk-")?;
    for shell in ["bash", "zsh", "fish"] {
        let script = run(None, &["completions", shell]).await?;
        assert_eq!(script.code, Some(0), "{}", script.stderr);
        let text = script.lines.join("\n");
        for word in ["resurrect", "what-if", "max-dlq-age"] {
            assert!(text.contains(word), "{shell}: {word}");
        }
        let path = directory.path().join(shell);
        std::fs::write(&path, text)?;
        /* Every shell reads without doing with -n; of the three only bash is everywhere. */
        match Command::new(shell).arg("-n").arg(&path).stdin(Stdio::null()).output() {
            Ok(output) => ensure!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr)),
            Err(error) => ensure!(shell != "bash", "bash: {error}"),
        }
    }
    Ok(())
}

async fn every_command_has_a_manual_page(_: &Db<'_>) -> Result<()> {
    let directory = TempDir::with_prefix("chokaq-desk-")?;
    let pages = directory.path().join("man1");
    let written = run(None, &["man", "--dir", pages.to_str().unwrap_or_default()]).await?;
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    for command in commands().await? {
        let name = format!("chokaq {command}").trim().replace(' ', "-");
        let page = std::fs::read_to_string(pages.join(format!("{name}.1"))).with_context(|| name.clone())?;
        assert!(page.contains(".TH") && page.contains("SYNOPSIS"), "{name}");
    }
    let first = run(None, &["man"]).await?;
    assert_eq!(first.code, Some(0));
    assert!(first.lines.iter().any(|line| line.starts_with(".TH chokaq 1")), "{:?}", &first.lines[..3]);
    Ok(())
}
