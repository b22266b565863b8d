//! usp_PurgeDLQJobs, usp_PurgeDLQ, usp_PurgeArchiveBatch and usp_PurgeArchive.

use chokaq_tests::{Db, Result, Rights, Scenario, Session, Value, args, scenarios, values};
use time::{Duration, OffsetDateTime};

use crate::arrange;
use crate::rivals::{End, beside};

pub const SCENARIOS: &[Scenario] = scenarios![
    dead_jobs_are_purged_in_one_transaction,
    a_purge_leaves_the_evidence_without_the_payload,
    any_number_of_dead_jobs_is_purged_in_batches,
    a_purged_id_may_be_enqueued_again,
    the_archive_is_purged_in_batches_to_the_last,
    one_batch_of_the_archive_says_where_to_go_on,
    a_purge_of_the_archive_leaves_the_totals,
    a_purge_may_be_limited_to_some_batches,
    a_purge_of_the_archive_is_in_the_history,
    an_archived_row_held_by_another_session_is_reported,
    a_purge_beside_workers_leaves_nothing_out,
];

async fn dead_jobs_are_purged_in_one_transaction(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::dead(&mut s, "q", "a").await?;
    arrange::dead(&mut s, "r", "b").await?;
    arrange::pending(&mut s, "q", "hot").await?;
    let args = args! { JobIds: ["b", "nobody", "a", "b", "hot"], PurgedBy: "ann" };
    let rows = s.call("PurgeDLQJobs", args).await?;
    assert_eq!(rows.texts("JobId"), ["b", "nobody", "a", "hot"]);
    assert_eq!(rows.texts("Outcome"), ["purged", "not_found", "purged", "not_found"]);
    assert_eq!(arrange::pillar(&mut s, "a").await?, "");
    assert_eq!(arrange::pillar(&mut s, "hot").await?, "Hot");
    let stats = arrange::stats(&mut s, "q").await?;
    assert_eq!(stats["PurgedTotal"], 1);
    assert_eq!(stats["FailedTotal"], 0);
    Ok(())
}

async fn a_purge_leaves_the_evidence_without_the_payload(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    s.call(
        "Enqueue",
        args! { Queue: "q", Type: "t", JobId: "a1", Payload: "secret", Tags: "x", Priority: 3, IdempotencyKey: "k" },
    )
    .await?;
    arrange::kill(&mut s, "a1").await?;
    let dead = arrange::job(&mut s, "a1").await?;
    s.call("PurgeDLQJobs", args! { JobIds: ["a1"], PurgedBy: "ann" }).await?;
    let rows = arrange::history(&mut s, "a1").await?;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["Action"], "purged");
    assert_eq!(rows[0]["Actor"], "ann");
    for column in ["Queue", "Type", "FailureReason", "ErrorDetails", "AttemptCount", "FailedAtUtc"] {
        assert_eq!(rows[0][column], dead[column], "{column}");
    }
    assert_eq!(rows[0]["OldPayload"], Value::Null);
    assert_eq!(rows[0]["OldTags"], "x");
    assert_eq!(rows[0]["OldPriority"], 3);
    assert_eq!(rows[0]["OldIdempotencyKey"], "k");
    Ok(())
}

async fn any_number_of_dead_jobs_is_purged_in_batches(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let mut ids = arrange::ids("j", 25);
    arrange::many_dead(&mut s, "q", &ids).await?;
    ids.extend(["nobody".to_owned(), "j00003".to_owned()]);
    let row = s.call_one("PurgeDLQ", args! { JobIds: &ids, PurgedBy: "ann", CleanupBatchSize: 10 }).await?;
    for (column, value) in [("RequestedCount", 26), ("PurgedCount", 25), ("NotFoundCount", 1), ("BatchCount", 3)] {
        assert_eq!(row[column], value, "{column}");
    }
    assert_eq!(arrange::stats(&mut s, "q").await?["PurgedTotal"], 25);
    Ok(())
}

async fn a_purged_id_may_be_enqueued_again(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::dead(&mut s, "q", "a1").await?;
    s.call("PurgeDLQ", args! { JobIds: ["a1"], PurgedBy: "ann" }).await?;
    arrange::pending(&mut s, "q", "a1").await?;
    assert_eq!(arrange::stats(&mut s, "q").await?["EnqueuedTotal"], 2);
    Ok(())
}

/// Archives the jobs and sets the time they finished.
async fn finished(s: &mut Session, ids: &[String], at: OffsetDateTime) -> Result<()> {
    arrange::many_processing(s, "q", ids).await?;
    for id in ids {
        assert_eq!(s.outcome("ArchiveSucceeded", args! { JobId: id }).await?, "archived");
        s.sql("UPDATE chokaq.JobsArchive SET FinishedAtUtc = @P1 WHERE Id = @P2", &values![at, id]).await?;
    }
    Ok(())
}

async fn the_archive_is_purged_in_batches_to_the_last(db: &Db<'_>) -> Result<()> {
    db.expect_archive_purged(25);
    let mut s = db.session().await?;
    let now = s.now().await?;
    finished(&mut s, &arrange::ids("old", 25), now - Duration::days(100)).await?;
    finished(&mut s, &arrange::ids("new", 3), now).await?;
    let args = args! { OlderThanUtc: now - Duration::days(90), CleanupBatchSize: 10 };
    let row = s.call_one("PurgeArchive", args).await?;
    assert_eq!(row["DeletedCount"], 25);
    assert_eq!(row["BatchCount"], 3);
    assert_eq!(row["SkippedCount"], 0);
    assert_eq!(row["HasMore"], false);
    assert_eq!(s.count("SELECT COUNT(*) AS N FROM chokaq.JobsArchive", &[]).await?, 3);
    Ok(())
}

async fn one_batch_of_the_archive_says_where_to_go_on(db: &Db<'_>) -> Result<()> {
    db.expect_archive_purged(5);
    let mut s = db.session().await?;
    let at = s.now().await? - Duration::days(100);
    finished(&mut s, &arrange::ids("j", 5), at).await?;
    let args = args! { OlderThanUtc: at + Duration::DAY, CleanupBatchSize: 3 };
    let row = s.call_one("PurgeArchiveBatch", args).await?;
    assert_eq!(row["DeletedCount"], 3);
    assert_eq!(row["HasMore"], true);
    assert_eq!(row["LastJobId"], "j00003");
    assert!(arrange::close(row.time("LastFinishedAtUtc"), at));
    let args = args! {
        OlderThanUtc: at + Duration::DAY, CleanupBatchSize: 3, AfterFinishedAtUtc: row.time("LastFinishedAtUtc"),
        AfterJobId: "j00003",
    };
    let row = s.call_one("PurgeArchiveBatch", args).await?;
    assert_eq!(row["DeletedCount"], 2);
    assert_eq!(row["SkippedCount"], 0);
    assert_eq!(row["HasMore"], false);
    Ok(())
}

async fn a_purge_of_the_archive_leaves_the_totals(db: &Db<'_>) -> Result<()> {
    db.expect_archive_purged(2);
    let mut s = db.session().await?;
    arrange::archived(&mut s, "q", "a1").await?;
    arrange::archived(&mut s, "q", "a2").await?;
    let before = arrange::stats(&mut s, "q").await?;
    let later = s.now().await? + Duration::DAY;
    s.call("PurgeArchive", args! { OlderThanUtc: later }).await?;
    let after = arrange::stats(&mut s, "q").await?;
    for column in ["EnqueuedTotal", "SucceededTotal", "FailedTotal", "PurgedTotal", "LastActivityUtc"] {
        assert_eq!(after[column], before[column], "{column}");
    }
    Ok(())
}

async fn a_purge_may_be_limited_to_some_batches(db: &Db<'_>) -> Result<()> {
    db.expect_archive_purged(5);
    let mut s = db.session().await?;
    let at = s.now().await? - Duration::days(100);
    finished(&mut s, &arrange::ids("j", 5), at).await?;
    let purge = || args! { OlderThanUtc: at + Duration::DAY, CleanupBatchSize: 2, MaxBatches: 2 };
    let row = s.call_one("PurgeArchive", purge()).await?;
    assert_eq!(row["DeletedCount"], 4);
    assert_eq!(row["BatchCount"], 2);
    assert_eq!(row["HasMore"], true);
    let row = s.call_one("PurgeArchive", purge()).await?;
    assert_eq!(row["DeletedCount"], 1);
    assert_eq!(row["HasMore"], false);
    Ok(())
}

async fn a_purge_of_the_archive_is_in_the_history(db: &Db<'_>) -> Result<()> {
    db.expect_archive_purged(5);
    let mut s = db.session().await?;
    let at = s.now().await? - Duration::days(100);
    finished(&mut s, &arrange::ids("j", 5), at).await?;
    s.call("PurgeArchive", args! { OlderThanUtc: at + Duration::DAY, CleanupBatchSize: 3, PurgedBy: "ann" }).await?;
    let sql = "SELECT JobCount, Actor FROM chokaq.OperatorHistory WHERE Action = 'archive_purged' ORDER BY HistoryId";
    let rows = s.sql(sql, &[]).await?;
    assert_eq!(rows.column("JobCount"), [3, 2].map(Value::Int));
    assert_eq!(rows.texts("Actor"), ["ann", "ann"]);
    Ok(())
}

async fn an_archived_row_held_by_another_session_is_reported(db: &Db<'_>) -> Result<()> {
    db.expect_archive_purged(5);
    let [mut s, mut holder] = db.sessions().await?;
    let at = s.now().await? - Duration::days(100);
    finished(&mut s, &arrange::ids("j", 5), at).await?;
    holder.begin().await?;
    holder.sql("UPDATE chokaq.JobsArchive SET Tags = 'held' WHERE Id = @P1", &values!["j00002"]).await?;
    let purge = || args! { OlderThanUtc: at + Duration::DAY, CleanupBatchSize: 2 };
    let row = beside(db, (&mut holder, End::Rollback), &mut s, ("PurgeArchive", purge())).await?.one();
    let left = i64::from(s.heeds_lock_hints());
    assert_eq!(row["DeletedCount"], 5 - left);
    assert_eq!(row["SkippedCount"], left);
    let row = s.call_one("PurgeArchive", purge()).await?;
    assert_eq!(row["DeletedCount"], left);
    assert_eq!(row["SkippedCount"], 0);
    Ok(())
}

/// By one who may purge and nothing else: with jobs in hand it takes another way between its batches.
async fn a_purge_beside_workers_leaves_nothing_out(db: &Db<'_>) -> Result<()> {
    db.expect_archive_purged(5);
    let mut s = db.session().await?;
    let at = s.now().await? - Duration::days(100);
    finished(&mut s, &arrange::ids("j", 5), at).await?;
    arrange::processing(&mut s, "q", "held").await?;
    let rights = match s.chains_ownership() {
        true => Rights::Of(&["chokaq_admin"]),
        false => Rights::Everything,
    };
    let login = db.login(rights).await?;
    let mut admin = db.session_as(&login).await?;
    let purge = args! { OlderThanUtc: at + Duration::DAY, CleanupBatchSize: 2 };
    let row = admin.call_one("PurgeArchive", purge).await?;
    assert_eq!(row["DeletedCount"], 5);
    assert_eq!(row["BatchCount"], 3);
    assert_eq!(arrange::pillar(&mut s, "held").await?, "Hot");
    Ok(())
}
