//! Queues: paused, taken out of service, limited.

use chokaq_tests::{Db, Result, Scenario, scenario};

use super::LIMIT;
use crate::arrange;
use crate::transcript::Transcript;

pub const SCENARIOS: &[Scenario] = &[scenario!(queues_are_listed_stopped_and_set).limit(LIMIT)];

async fn queues_are_listed_stopped_and_set(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "mail", "a1").await?;
    let mut t = Transcript::of(db)?;
    t.run(0, "queue list").await?;
    t.run(0, "queue pause mail").await?;
    t.run(1, "job fetch --worker w1").await?;
    t.run(0, "--json queue pause mail --by bob").await?;
    t.run(0, "queue resume mail").await?;
    t.run(0, "queue deactivate mail").await?;
    t.run(1, "job fetch --worker w1").await?;
    t.run(0, "queue activate mail").await?;
    t.run(0, "job fetch --worker w1").await?;
    t.run(0, "queue set mail --max-workers 4 --zombie-timeout 2m --max-attempts 5 --base-delay 30s").await?;
    let rest = "--backoff-multiplier 1.5 --max-delay 2h --jitter 3s --max-job-age 1d";
    t.run(0, &format!("--json queue set mail {rest}")).await?;
    t.run(0, "queue set mail --max-workers none --zombie-timeout none --max-job-age none").await?;
    t.remark("a slip of the pen");
    t.run(0, "queue pause mial").await?;
    t.run(0, "--json queue list --queue mail").await?;
    t.run(1, "queue list --queue nobody").await?;
    t.remark("refused");
    t.run(2, "queue set mail").await?;
    t.run(2, "queue set mail --max-workers 2 --zombie-timeout 0s --max-attempts 9").await?;
    t.run(2, "queue set mail --max-attempts 0").await?;
    t.run(2, "queue set mail --backoff-multiplier 0.5").await?;
    t.run(2, "queue set mail --max-workers many").await?;
    t.run(2, "queue set mail --base-delay 30").await?;
    t.run(2, "queue pause ' mail'").await?;
    let queues = t.run(0, "--json queue list").await?.json()?;
    assert_eq!((queues.len(), &queues[0]["MaxWorkers"], &queues[0]["MaxAttempts"]), (2, &2.into(), &5.into()));
    t.compare("queue")
}
