//! What is asked on a terminal, and what becomes of the answer.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Stdio;

use anyhow::Context;
use chokaq_tests::{Db, Engine, Result, Scenario, scenario};
use nix::pty::openpty;

use super::failed;
use crate::arrange;
use crate::program::command;

pub const SCENARIOS: &[Scenario] = &[
    scenario!(a_purge_waits_for_a_yes).only(Engine::Postgres),
    scenario!(a_broken_payload_is_edited_again).only(Engine::Postgres),
];

/// Runs the program on a terminal of its own, where somebody answers each question; its exit code and what was shown.
async fn run(db: &Db<'_>, arguments: &[&str], editor: &str, answers: &[(&str, &str)]) -> Result<(Option<i32>, String)> {
    let pty = openpty(None, None)?;
    let mut program = command(Some(&db.url()?), arguments)?;
    program.env_remove("VISUAL").env("EDITOR", editor).env("NO_COLOR", "1").env("TERM", "xterm").stdout(Stdio::null());
    program.stdin(pty.slave.try_clone()?).stderr(pty.slave);
    let mut terminal = File::from(pty.master);
    let answers: Vec<_> = answers.iter().map(|(question, answer)| (question.to_string(), answer.to_string())).collect();
    tokio::task::spawn_blocking(move || {
        let mut child = program.spawn()?;
        /* With the command go the last ends of the terminal that are not the program's. */
        drop(program);
        let mut shown = String::new();
        let mut seen = 0;
        for (question, answer) in answers {
            seen =
                read(&mut terminal, &mut shown, |shown| Some(seen + shown[seen..].find(&question)? + question.len()))
                    .with_context(|| format!("{question} is not asked: {shown}"))?;
            terminal.write_all(answer.as_bytes())?;
        }
        read(&mut terminal, &mut shown, |_| None);
        Ok((child.wait()?.code(), shown))
    })
    .await?
}

/// Reads on until something is found; None at the end.
fn read(terminal: &mut File, shown: &mut String, find: impl Fn(&str) -> Option<usize>) -> Option<usize> {
    let mut buffer = [0; 4096];
    loop {
        if let Some(found) = find(shown) {
            return Some(found);
        }
        /* A terminal that nobody holds any more is an error on some systems. */
        match terminal.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(count) => shown.push_str(&String::from_utf8_lossy(&buffer[..count])),
        }
    }
}

async fn a_purge_waits_for_a_yes(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for id in ["a1", "a2"] {
        failed(&mut s, ["mail", "t", id, "{}"], 6, "no", 60).await?;
    }
    let purge = ["dlq", "purge", "--queue", "mail"];
    let question = "delete 2 jobs from the DLQ for good? [y/N]";
    for (answer, code, pillar) in [("n", 1, "DLQ"), ("\r", 1, "DLQ"), ("y", 0, "")] {
        let (ended, shown) = run(db, &purge, "false", &[(question, answer)]).await?;
        assert_eq!(ended, Some(code), "{answer:?}: {shown}");
        assert!(shown.contains("2 jobs match") && shown.contains("a1"), "{shown}");
        assert_eq!(arrange::pillar(&mut s, "a1").await?, pillar, "{answer:?}");
    }
    Ok(())
}

async fn a_broken_payload_is_edited_again(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    failed(&mut s, ["mail", "t", "a1", "{}"], 6, "no", 60).await?;
    /* The first time it breaks the payload, the second time it mends it. */
    let editor = "sed -i 's/^{$/[1]/; s/^{}$/{/'";
    let again = ("edit it again? [Y/n]", "n");
    let (ended, shown) = run(db, &["dlq", "edit", "a1"], editor, &[again]).await?;
    assert_eq!(ended, Some(1), "{shown}");
    assert_eq!(arrange::job(&mut s, "a1").await?["Payload"], "{}");
    for (save, code, payload) in [("n", 1, "{}"), ("y", 0, "[1]")] {
        let answers = [("at line 1, column 1", ""), ("edit it again? [Y/n]", "\r"), ("save this? [y/N]", save)];
        let (ended, shown) = run(db, &["dlq", "edit", "a1"], editor, &answers).await?;
        assert_eq!(ended, Some(code), "{shown}");
        assert_eq!(arrange::job(&mut s, "a1").await?["Payload"], payload);
    }
    Ok(())
}
