//! Acting on many jobs: what is meant is shown first, and nothing is done without consent.

use chokaq_tests::{Db, Engine, Result, Scenario, Session, scenario};

use super::{LIMIT, failed};
use crate::arrange;
use crate::transcript::Transcript;

pub const SCENARIOS: &[Scenario] = &[
    scenario!(dead_letters_are_brought_back_by_ids).only(Engine::Postgres),
    scenario!(dead_letters_are_brought_back_by_a_filter).limit(LIMIT),
    scenario!(dead_letters_are_purged_only_when_that_is_meant).limit(LIMIT),
    scenario!(jobs_are_cancelled_before_they_start).limit(LIMIT),
    scenario!(workers_start_and_end_many_jobs_and_are_released).only(Engine::Postgres),
    scenario!(old_history_is_purged).only(Engine::Postgres),
];

/// The ids of the DLQ, oldest first.
async fn dead(s: &mut Session) -> Result<Vec<String>> {
    Ok(s.sql("SELECT Id FROM chokaq.JobsDLQ ORDER BY FailedAtUtc", &[]).await?.texts("Id"))
}

/// Jobs of queue `mail`, the first the oldest.
async fn dead_letters(s: &mut Session, ids: &[&str]) -> Result<()> {
    for (id, age) in ids.iter().zip((1..=ids.len() as i64).rev()) {
        failed(s, ["mail", "t", id, "{}"], 6, "it broke", 60 * age).await?;
    }
    Ok(())
}

async fn dead_letters_are_brought_back_by_ids(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    dead_letters(&mut s, &["a1", "a2", "a3", "a4", "a5", "a6", "a7"]).await?;
    let mut t = Transcript::of(db)?;
    t.remark("one needs no consent, and may be repaired on its way");
    t.run(0, "dlq resurrect a1 --payload '[1]' --tags fixed --priority 3").await?;
    t.run(1, "--json dlq resurrect a1").await?;
    t.run(1, "dlq resurrect a2 --expected-revision 1").await?;
    t.run(2, "dlq resurrect a2 --payload '[1'").await?;
    t.remark("many need it, and are not repaired together");
    t.run(2, "dlq resurrect a2 a3").await?;
    t.feed("a2\na3\n", 2, "dlq resurrect --ids-from -").await?;
    t.run(2, "dlq resurrect a2 a3 --tags fixed --yes").await?;
    assert_eq!(dead(&mut s).await?.len(), 6);
    t.run(1, "dlq resurrect a2 a3 nobody a2 --yes").await?;
    t.feed("a4\r\n\r\na5\n", 0, "dlq resurrect --ids-from - --batch-size 1 --yes").await?;
    t.feed(r#"["a6"]"#, 0, "--json dlq resurrect --ids-from - --yes").await?;
    t.feed(r#"{"JobId":"a7","Queue":"mail"}"#, 0, "dlq resurrect --ids-from - --yes").await?;
    t.feed("[]", 0, "dlq resurrect --ids-from -").await?;
    assert!(dead(&mut s).await?.is_empty());
    t.feed("[1]", 2, "dlq resurrect --ids-from - --yes").await?;
    t.feed("a1\n{\"Id\": 1}\n", 2, "dlq resurrect --ids-from - --yes").await?;
    t.run(2, "dlq resurrect a1 a2 --batch-size 0 --yes").await?;

    t.remark("a live job holds the key");
    t.run(0, "job enqueue --queue sms --type t --job-id b1 --idempotency-key k").await?;
    t.run(0, "dlq move b1 --reason Rejected").await?;
    t.run(0, "job enqueue --queue sms --type t --job-id b2 --idempotency-key k").await?;
    t.run(1, "dlq resurrect b1 --keep-key").await?;
    assert_eq!(dead(&mut s).await?, ["b1"]);
    t.compare("dlq_resurrect")
}

async fn dead_letters_are_brought_back_by_a_filter(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    dead_letters(&mut s, &["a1", "a2", "a3", "a4", "a5", "a6", "a7"]).await?;
    failed(&mut s, ["sms", "t", "b1", "{}"], 2, "lost", 3600).await?;
    let mut t = Transcript::of(db)?;
    t.run(0, "dlq resurrect --queue mail --what-if").await?;
    t.run(0, "--json dlq resurrect --search broke --dry-run --max-jobs 2").await?;
    t.run(0, "dlq resurrect --queue nobody").await?;
    t.run(2, "dlq resurrect --queue mail --reason FatalError --max-jobs 6").await?;
    assert_eq!(dead(&mut s).await?.len(), 8);
    t.run(0, "dlq resurrect --queue mail --max-jobs 6 --yes").await?;
    assert_eq!(dead(&mut s).await?, ["b1", "a7"]);
    t.run(0, "--json dlq resurrect --to 30m --yes").await?;
    assert_eq!(dead(&mut s).await?, ["a7"]);
    t.run(2, "dlq resurrect --queue mail --max-jobs 0 --yes").await?;
    t.compare("dlq_resurrect_by_filter")
}

async fn dead_letters_are_purged_only_when_that_is_meant(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    dead_letters(&mut s, &["a1", "a2", "a3", "a4"]).await?;
    failed(&mut s, ["sms", "t", "b1", "{}"], 6, "100%_done", 10).await?;
    failed(&mut s, ["sms", "t", "b2", "{}"], 6, "100xydone", 10).await?;
    let mut t = Transcript::of(db)?;
    t.run(2, "dlq purge --queue mail").await?;
    t.run(0, "dlq purge --queue mail --what-if --yes").await?;
    t.run(2, "dlq purge a1").await?;
    t.run(2, "dlq purge").await?;
    t.run(2, "dlq purge --yes").await?;
    t.run(2, "dlq purge --max-jobs 5 --yes").await?;
    assert_eq!(dead(&mut s).await?.len(), 6);
    t.run(0, "dlq purge --search '100%_done' --yes").await?;
    t.run(1, "dlq purge a1 nobody --yes").await?;
    t.feed("a2", 0, "--json dlq purge --ids-from - --yes").await?;
    t.run(0, "dlq purge --queue mail --max-jobs 1 --yes").await?;
    assert_eq!(dead(&mut s).await?, ["a4", "b2"]);
    t.run(0, "--json dlq purge --from 1h --cleanup-batch-size 1 --yes").await?;
    assert!(dead(&mut s).await?.is_empty());
    t.run(0, "job history b1").await?;
    t.compare("dlq_purge")
}

async fn jobs_are_cancelled_before_they_start(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "mail", "running").await?;
    for id in ["a1", "a2", "a3", "a4"] {
        arrange::pending(&mut s, "mail", id).await?;
    }
    let mut t = Transcript::of(db)?;
    t.run(0, "job cancel a1 --reason 'sent by hand'").await?;
    t.run(0, "--json job cancel a1").await?;
    t.run(1, "job cancel running").await?;
    t.run(2, "job cancel a2 a3").await?;
    assert_eq!(dead(&mut s).await?, ["a1"]);
    t.run(1, "job cancel a2 nobody --yes").await?;
    t.feed("a3\na4\n", 2, "job cancel --ids-from -").await?;
    t.feed("a3\na4\nrunning\n", 1, "job cancel --ids-from - --yes --batch-size 2").await?;
    t.run(2, "job cancel").await?;
    t.run(0, "dlq list --reason Cancelled --search 'sent by hand'").await?;
    assert_eq!(arrange::history(&mut s, "a4").await?[0]["Action"], "cancelled");
    t.compare("job_cancel")
}

async fn workers_start_and_end_many_jobs_and_are_released(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for id in ["a1", "a2", "a3"] {
        arrange::fetched(&mut s, "mail", id).await?;
    }
    let mut t = Transcript::of(db)?;
    t.run(0, "job start-many a1 a2 --worker w1").await?;
    t.run(1, "--json job start-many a1 nobody --worker w1").await?;
    t.run(2, "job start-many --worker w1").await?;
    t.feed(r#"[{"jobId": "a1", "attempt": 1, "durationMs": 12.5}]"#, 0, "job succeed-many --worker w1").await?;
    let jobs = r#"[{"jobId": "a1"}, {"jobId": "a2", "attempt": 2}, {"jobId": "nobody"}]"#;
    t.feed(jobs, 1, "--json job succeed-many - --worker w1").await?;
    t.feed(r#"[{"jobId": "a2", "attempts": 1}]"#, 2, "job succeed-many --worker w1").await?;
    t.run(0, "worker release w1").await?;
    assert_eq!(arrange::job(&mut s, "a3").await?["Status"], 0);
    t.run(0, "--json worker release w1").await?;
    t.run(0, "worker release nobody").await?;
    t.compare("worker")
}

async fn old_history_is_purged(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    dead_letters(&mut s, &["a1"]).await?;
    let mut t = Transcript::of(db)?;
    t.run(0, "dlq edit a1 --tags seen").await?;
    t.run(2, "history purge").await?;
    t.run(2, "history purge --older-than 0s").await?;
    t.run(0, "history purge --older-than 1h --yes").await?;
    assert_eq!(arrange::history(&mut s, "a1").await?.len(), 1);
    t.run(0, "--json history purge --before 2999-01-01T00:00:00Z --yes").await?;
    assert!(arrange::history(&mut s, "a1").await?.is_empty());
    let left = s.sql("SELECT Action, Actor FROM chokaq.OperatorHistory", &[]).await?;
    assert!(left.texts("Action").iter().all(|action| action == "history_purged"), "{left:?}");
    t.compare("history_purge")
}
