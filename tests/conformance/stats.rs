//! usp_GetQueueStats, usp_FoldCounters and usp_GetVersion.

use chokaq_tests::{Db, Engine, Result, Scenario, args, scenarios};

use crate::arrange;

pub const SCENARIOS: &[Scenario] = scenarios![
    each_queue_has_its_counts_and_totals,
    folding_changes_no_total,
    a_fold_takes_no_more_than_its_batch,
    the_last_activity_is_the_last_transition,
    the_version_names_its_dialect,
];

async fn each_queue_has_its_counts_and_totals(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::archived(&mut s, "q", "done").await?;
    arrange::dead(&mut s, "q", "dead").await?;
    arrange::dead(&mut s, "q", "purged").await?;
    s.call("PurgeDLQ", args! { JobIds: ["purged"], PurgedBy: "ann" }).await?;
    arrange::processing(&mut s, "q", "retried").await?;
    s.call("RescheduleForRetry", args! { JobId: "retried", DelaySeconds: 60 }).await?;
    arrange::dead(&mut s, "q", "back").await?;
    s.call("Resurrect", args! { JobId: "back", ResurrectedBy: "ann" }).await?;
    arrange::take(&mut s, "q", "back", true).await?;
    arrange::fetched(&mut s, "q", "fetched").await?;
    arrange::pending(&mut s, "q", "pending").await?;
    arrange::pending(&mut s, "Q", "other").await?;

    let row = arrange::stats(&mut s, "q").await?;
    for (column, value) in [
        ("PendingCount", 2),
        ("FetchedCount", 1),
        ("ProcessingCount", 1),
        ("EnqueuedTotal", 7),
        ("SucceededTotal", 1),
        ("FailedTotal", 1),
        ("RetriedTotal", 1),
        ("DeadLetteredTotal", 3),
        ("ResurrectedTotal", 1),
        ("PurgedTotal", 1),
    ] {
        assert_eq!(row[column], value, "{column}");
    }
    assert_eq!(s.call("GetQueueStats", args! {}).await?.texts("Queue"), ["Q", "q"]);
    assert!(s.call("GetQueueStats", args! { Queue: "nowhere" }).await?.rows.is_empty());
    Ok(())
}

async fn folding_changes_no_total(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for n in 0..5 {
        arrange::archived(&mut s, "q", &format!("a{n}")).await?;
        arrange::dead(&mut s, "r", &format!("d{n}")).await?;
    }
    arrange::zero_delta(&mut s, "q").await?;
    let mut before = Vec::new();
    for queue in ["q", "r"] {
        before.push(format!("{:?}", arrange::stats(&mut s, queue).await?));
    }
    arrange::fold(&mut s, args! {}).await?;
    assert_eq!(s.count("SELECT COUNT(*) AS N FROM chokaq.CounterDeltas", &[]).await?, 0);
    for (queue, before) in ["q", "r"].into_iter().zip(before) {
        assert_eq!(format!("{:?}", arrange::stats(&mut s, queue).await?), before);
    }
    assert_eq!(s.call_one("FoldCounters", args! {}).await?["FoldedCount"], 0);
    Ok(())
}

async fn a_fold_takes_no_more_than_its_batch(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for n in 0..7 {
        arrange::pending(&mut s, "q", &format!("a{n}")).await?;
    }
    /* A transition may have folded by chance in between. */
    let deltas = s.count("SELECT COUNT(*) AS N FROM chokaq.CounterDeltas", &[]).await?;
    let mut folded = 0;
    while folded < deltas {
        let count = arrange::fold(&mut s, args! { BatchSize: 3 }).await?;
        assert!(count <= 3);
        folded += count;
    }
    assert_eq!(folded, deltas);
    Ok(())
}

async fn the_last_activity_is_the_last_transition(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "q", "a1").await?;
    let first = arrange::stats(&mut s, "q").await?.time("LastActivityUtc");
    assert!(arrange::close(first, s.now().await?));
    arrange::kill(&mut s, "a1").await?;
    let second = arrange::stats(&mut s, "q").await?.time("LastActivityUtc");
    assert!(second > first);
    /* A second queue's, for a delta is an activity of its own. */
    arrange::pending(&mut s, "r", "a2").await?;
    arrange::zero_delta(&mut s, "r").await?;
    arrange::fold(&mut s, args! {}).await?;
    assert_eq!(arrange::stats(&mut s, "q").await?.time("LastActivityUtc"), second);
    Ok(())
}

async fn the_version_names_its_dialect(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let row = s.call_one("GetVersion", args! {}).await?;
    assert_eq!(row["ContractVersion"], 1);
    assert_eq!(row["Dialect"], if db.engine == Engine::Postgres { "postgres" } else { "mssql" });
    assert_eq!(row.text("KitVersion").split('.').count(), 3);
    Ok(())
}
