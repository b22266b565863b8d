//! Looking: what is in the DLQ, why, what was done to it, and how the queues do.

use chokaq_tests::{Db, Engine, Result, Scenario, Session, args, scenario};

use super::{LIMIT, failed};
use crate::arrange;
use crate::transcript::Transcript;

pub const SCENARIOS: &[Scenario] = &[
    scenario!(dead_letters_are_listed_by_every_filter_and_page_by_page).limit(LIMIT),
    scenario!(dead_letters_are_summed_up).only(Engine::Postgres),
    scenario!(a_dead_letter_is_shown_whole_and_where_its_payload_breaks).only(Engine::Postgres),
    scenario!(the_history_of_a_job_that_is_gone_tells_who_did_what).limit(LIMIT),
    scenario!(health_names_each_threshold_that_is_exceeded).limit(LIMIT),
];

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Five jobs of two queues.
async fn dead_letters(s: &mut Session) -> Result<()> {
    failed(s, ["mail", "welcome", "a1", "{}"], 6, "100%_done and then it broke", 9 * DAY + HOUR).await?;
    failed(s, ["mail", "welcome", "a2", "{}"], 6, "100 percent_done", 2 * DAY + HOUR).await?;
    failed(s, ["mail", "invoice", "a3", "{}"], 2, "100xydone", 3 * HOUR).await?;
    failed(s, ["sms", "welcome", "a4", "{}"], 7, "first line\nsecond line", 10 * MINUTE).await?;
    failed(s, ["sms", "welcome", "it's 5", "{}"], 7, "late", 5 * MINUTE).await
}

async fn dead_letters_are_listed_by_every_filter_and_page_by_page(db: &Db<'_>) -> Result<()> {
    let mut t = Transcript::of(db)?;
    t.run(0, "dlq list").await?;
    dead_letters(&mut db.session().await?).await?;
    t.run(0, "dlq list").await?;
    t.run(0, "--json dlq list --queue sms --type welcome --reason Timeout --from 6m").await?;
    for filter in [
        "--queue mail",
        "--type invoice",
        "--reason fatalerror",
        "--reason 2",
        "--from 1h",
        "--to 1d",
        "--from 1d --to 2026-01-01T00:00:00Z",
        "--search '100%_done'",
        "--search percent_",
    ] {
        t.run(0, &format!("dlq list {filter}")).await?;
    }
    let exact = t.run(0, "--json dlq list --search '100%_done'").await?.json()?;
    assert_eq!((exact.len(), &exact[0]["JobId"]), (1, &"a1".into()));

    t.remark("page by page");
    let mut page = t.run(0, "--json dlq list --limit 2").await?;
    let mut seen = page.json()?;
    while let Some((_, next)) = page.stderr.trim().split_once("the same command with ") {
        page = t.run(0, &format!("--json dlq list --limit 2 {next}")).await?;
        seen.extend(page.json()?);
    }
    let ids: Vec<_> = seen.iter().filter_map(|job| job["JobId"].as_str()).collect();
    assert_eq!(ids, ["it's 5", "a4", "a3", "a2", "a1"]);
    let from = seen[1]["FailedAtUtc"].as_str().unwrap_or_default();
    t.run(0, &format!("dlq list --all --before-failed-at {from} --before-job-id a4")).await?;
    t.compare("dlq_list")
}

async fn dead_letters_are_summed_up(db: &Db<'_>) -> Result<()> {
    let mut t = Transcript::of(db)?;
    t.run(0, "dlq summary").await?;
    dead_letters(&mut db.session().await?).await?;
    t.run(0, "dlq summary").await?;
    for by in ["queue", "type", "reason", "age"] {
        t.run(0, &format!("dlq summary --by {by}")).await?;
        t.run(0, &format!("--json dlq summary --by {by} --queue mail --type welcome")).await?;
    }
    t.compare("dlq_summary")
}

async fn a_dead_letter_is_shown_whole_and_where_its_payload_breaks(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let sound = r#"{"to":"ann@example.com","items":[1,2.50,{}],"ü":null}"#;
    let broken = "{\n  \"subject\": \"Welcome!\"\n  \"body\": \"Hello\"\n}";
    failed(&mut s, ["mail", "t", "a1", sound], 6, "no such customer\n  at send()", HOUR).await?;
    failed(&mut s, ["mail", "t", "a 2", broken], 2, "lost", HOUR).await?;
    s.call("Enqueue", args! { Queue: "mail", Type: "t", JobId: "a3" }).await?;
    let mut t = Transcript::of(db)?;
    t.run(0, "dlq show a1").await?;
    t.run(0, "dlq show 'a 2'").await?;
    let shown = t.run(0, "--json dlq show 'a 2'").await?.json()?;
    assert_eq!(shown[0]["Payload"], broken);
    t.run(1, "dlq show a3").await?;
    t.run(0, "job show a3").await?;
    t.run(1, "--json dlq show nobody").await?;
    t.compare("dlq_show")
}

/// Who did what is on record, with the first payload and the first error, when the job itself is no more.
async fn the_history_of_a_job_that_is_gone_tells_who_did_what(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let mut t = Transcript::of(db)?;
    t.run(0, "job history a1").await?;
    let payload = r#"{"to": "ann@example.com" "subject": "Welcome"}"#;
    t.run(0, &format!("job enqueue --queue mail --type t --job-id a1 --payload '{payload}' --tags new")).await?;
    t.run(0, "job fetch --worker w1 --start-now").await?;
    t.run(0, "job fail a1 --worker w1 --attempt 1 --reason FatalError --error 'a comma is missing'").await?;
    t.run(0, "dlq edit a1 --payload '{}' --tags seen --by ann").await?;
    t.run(0, "dlq resurrect a1 --by bob").await?;
    t.run(0, "job fetch --worker w1 --start-now").await?;
    t.run(0, "job fail a1 --worker w1 --attempt 1 --reason Rejected --error 'the customer is gone'").await?;
    t.run(0, "dlq purge a1 --by carol --yes").await?;
    assert_eq!(arrange::pillar(&mut s, "a1").await?, "");

    t.run(0, "job history a1").await?;
    let history = t.run(0, "--json job history a1").await?.json()?;
    let acts: Vec<_> = history.iter().map(|act| (act["Action"].as_str(), act["Actor"].as_str())).collect();
    let expected = [("edited", "ann"), ("resurrected", "bob"), ("purged", "carol")];
    assert_eq!(acts, expected.map(|(action, actor)| (Some(action), Some(actor))));
    assert_eq!((&history[0]["OldPayload"], &history[0]["OldTags"]), (&payload.into(), &"new".into()));
    assert_eq!(history[0]["ErrorDetails"], "a comma is missing");
    t.compare("job_history")
}

async fn health_names_each_threshold_that_is_exceeded(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let mut t = Transcript::of(db)?;
    t.run(0, "health").await?;
    t.run(0, "stats --summary").await?;
    t.run(0, "queue list").await?;
    failed(&mut s, ["mail", "t", "dead", "{}"], 6, "no", DAY).await?;
    arrange::processing(&mut s, "mail", "running").await?;
    arrange::pending(&mut s, "mail", "late").await?;
    arrange::backdate(&mut s, "mail", "DueAtUtc", 2 * HOUR).await?;
    s.call("Enqueue", args! { Queue: "mail", Type: "t", JobId: "later", DelaySeconds: 3600 }).await?;
    s.call("Enqueue", args! { Queue: "sms", Type: "t", JobId: "scheduled", DelaySeconds: 3600 }).await?;

    t.run(0, "health").await?;
    t.run(0, "--json health --queue mail").await?;
    for (threshold, exceeded, kept) in [
        /* First, while the minute lasts. */
        ("--max-failed-per-second", "0", "100"),
        ("--max-lag", "1h", "3h"),
        ("--max-average-lag", "1h", "3h"),
        ("--max-pending", "0", "1"),
        ("--max-scheduled", "0", "1"),
        ("--max-processing", "0", "1"),
        ("--max-dlq", "0", "1"),
        ("--max-dlq-age", "1h", "2d"),
    ] {
        let run = t.run(1, &format!("health --queue mail {threshold} {exceeded}")).await?;
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        let run = t.run(0, &format!("health --queue mail {threshold} {kept}")).await?;
        assert!(run.stderr.is_empty(), "{}", run.stderr);
    }
    let run = t.run(1, "--json health --max-dlq 0 --max-scheduled 0").await?;
    let exceeded: Vec<_> = run.json()?.iter().map(|queue| queue["Exceeded"].as_array().map(Vec::len)).collect();
    assert_eq!(exceeded, [Some(2), Some(1)]);
    t.run(2, "health --queue nobody").await?;

    t.run(0, "stats").await?;
    t.run(0, "stats --summary").await?;
    t.run(0, "--json stats --summary").await?;
    t.run(1, "stats --queue nobody").await?;
    t.compare("health")
}
