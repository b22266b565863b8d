//! Whatever is refused says what is wrong and what to do about it, and ends with exit code 2.

use chokaq_tests::{Db, Engine, Result, Rights, Scenario, scenario};

use super::failed;
use crate::snapshot;
use crate::transcript::Transcript;

pub const SCENARIOS: &[Scenario] = &[
    scenario!(a_wrong_command_line_is_refused_before_a_database_is_needed).only(Engine::Postgres),
    scenario!(a_wrong_argument_is_refused_with_its_name).only(Engine::Postgres),
    scenario!(a_database_that_is_not_there_is_told_with_a_hint).only(Engine::Postgres),
    scenario!(a_reader_may_look_and_is_told_what_it_lacks).only(Engine::Postgres),
];

async fn a_wrong_command_line_is_refused_before_a_database_is_needed(_: &Db<'_>) -> Result<()> {
    let mut t = Transcript::new()?;
    for line in [
        "dlq",
        "dlq lost",
        "dlq list --limt 5",
        "dlq list --reason Broken",
        "dlq list --from yesterday",
        "dlq list --before-job-id a1",
        "dlq list --all --limit 5",
        "dlq summary --by day",
        "dlq show",
        "dlq edit a1 --payload x --payload-file y",
        "dlq edit a1 --tags x --clear-tags",
        "dlq edit a1 --resurrect --clear-payload",
        "dlq edit a1 --delay 1h",
        "dlq resurrect",
        "dlq resurrect a1 --queue mail",
        "dlq resurrect a1 --ids-from ids.txt",
        "dlq resurrect a1 --what-if",
        "dlq resurrect --queue mail --tags x",
        "dlq resurrect --ids-from no-such-file",
        "dlq purge a1 --search x",
        "dlq purge --max-jobs many",
        "job cancel",
        "job start-many --worker w1",
        "job succeed-many no-such-file --worker w1",
        "queue set mail --max-job-age 1",
        "health --max-failed-per-second -1",
        "health --max-lag 5",
        "stats --summary --queue mail",
        "history purge --older-than 1d --before 2026-01-31T08:00:00Z",
        "completions tcsh",
        "man --dir /dev/null/man",
        "--timeout 5 stats",
    ] {
        t.run(2, line).await?;
    }
    t.remark("right, but for the database");
    t.run(2, "stats").await?;
    t.compare_to_the_letter("usage")
}

async fn a_wrong_argument_is_refused_with_its_name(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    failed(&mut s, ["mail", "t", "a1", "{}"], 6, "no", 60).await?;
    let before = snapshot::take(&mut s).await?;
    let mut t = Transcript::of(db)?;
    t.run(2, "dlq list --limit 1001").await?;
    t.run(2, "dlq list --queue ''").await?;
    t.run(2, "dlq list --from 99999999999d").await?;
    t.run(2, "dlq show ''").await?;
    t.run(2, "dlq edit a1 --tags x --by ''").await?;
    t.run(2, "dlq resurrect a1 --delay 0s --by ' ann'").await?;
    t.run(2, "dlq resurrect --queue mail --batch-size 4001 --yes").await?;
    t.run(2, "dlq purge --queue mail --max-jobs -1 --yes").await?;
    t.run(2, "dlq purge --search '' --yes").await?;
    t.run(2, "job cancel '' --yes").await?;
    t.run(2, "job history ''").await?;
    t.run(2, "job start-many '' --worker w1").await?;
    t.run(2, "worker release ''").await?;
    t.run(2, "history purge --older-than 1d --cleanup-batch-size 0 --yes").await?;
    t.set("CHOKAQ_OPERATOR", "");
    t.run(2, "queue pause mail").await?;
    t.compare("arguments")?;

    /* Where it breaks is told in each engine's own words. */
    let mut t = Transcript::of(db)?;
    let broken = t.feed(r#"[{"queue": "mail" "type": "t"}]"#, 2, "job enqueue-many").await?;
    assert!(broken.stderr.contains("hint: mend the JSON"), "{}", broken.stderr);
    assert_eq!(snapshot::take(&mut s).await?, before);
    Ok(())
}

async fn a_database_that_is_not_there_is_told_with_a_hint(db: &Db<'_>) -> Result<()> {
    let mut t = Transcript::new()?;
    t.remark("nothing listens");
    t.on("postgres://nobody@127.0.0.1:1/nowhere?sslmode=disable".to_owned());
    t.run(2, "dlq list").await?;
    t.on("mssql://nobody:x@127.0.0.1:1/nowhere".to_owned());
    t.run(2, "dlq list").await?;
    t.remark("no URL");
    t.on("nowhere".to_owned());
    t.run(2, "dlq list").await?;
    t.remark("no such database");
    t.on(db.url_of("nowhere")?);
    t.run(2, "dlq list").await?;
    t.remark("the kit is not deployed");
    t.on(db.url_of(&db.empty_database().await?)?);
    for line in ["dlq list", "dlq purge --queue mail --yes", "job cancel a1", "queue list", "health", "version"] {
        t.run(2, line).await?;
    }
    t.compare("connection")
}

async fn a_reader_may_look_and_is_told_what_it_lacks(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    failed(&mut s, ["mail", "t", "a1", "{}"], 6, "no", 60).await?;
    let before = snapshot::take(&mut s).await?;
    let login = db.login(Rights::Of(&["chokaq_reader"])).await?;
    let mut t = Transcript::new()?;
    t.on(db.url_as(&login)?);
    for line in ["dlq list", "dlq summary", "dlq show a1", "job history a1", "queue list", "health", "stats --summary"]
    {
        t.run(0, line).await?;
    }
    for line in [
        "dlq edit a1 --tags x",
        "dlq resurrect a1",
        "dlq resurrect a1 a2 --yes",
        "dlq resurrect --queue mail --yes",
        "dlq resurrect --queue mail --what-if",
        "dlq purge a1 --yes",
        "dlq purge --queue mail --yes",
        "job cancel a1",
        "job start-many a1 --worker w1",
        "worker release w1",
        "queue pause mail",
        "queue set mail --max-workers 1",
        "history purge --older-than 1d --yes",
        "migrate up",
    ] {
        t.run(2, line).await?;
    }
    assert_eq!(snapshot::take(&mut s).await?, before);
    t.compare("permission")
}
