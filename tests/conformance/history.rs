//! usp_PurgeHistoryBatch and usp_PurgeHistory.

use chokaq_tests::{Code, Db, Engine, Result, Scenario, Session, Value, args, assert_refused, scenario, values};
use time::{Duration, OffsetDateTime};

use crate::arrange;
use crate::rivals::{End, beside};

pub const SCENARIOS: &[Scenario] = &[
    scenario!(only_what_is_older_than_the_instant_is_purged),
    scenario!(the_history_is_purged_in_batches_to_the_last),
    scenario!(one_batch_of_the_history_says_where_to_go_on),
    scenario!(metric_buckets_are_purged_with_it_batch_by_batch),
    scenario!(a_purge_of_the_history_is_in_the_history),
    scenario!(a_purge_never_takes_what_it_wrote_itself),
    scenario!(a_purge_of_nothing_leaves_no_trace),
    scenario!(a_row_of_the_history_held_by_another_session_is_left_to_it),
    scenario!(an_endless_time_is_refused).only(Engine::Postgres),
];

const LONG_AGO: OffsetDateTime = time::macros::datetime!(2026-01-01 00:00 UTC);

/// An act of `job`, so many microseconds after the first of January.
async fn acted(s: &mut Session, job: &str, microseconds: i64) -> Result<()> {
    let at = LONG_AGO + Duration::microseconds(microseconds);
    let sql = "INSERT INTO chokaq.OperatorHistory (AtUtc, Action, JobId, Login) VALUES (@P1, 'edited', @P2, 'x')";
    s.sql(sql, &values![at, job]).await?;
    Ok(())
}

/// A metric bucket, so many times ten seconds after the first of January.
async fn bucket(s: &mut Session, number: i64) -> Result<()> {
    let at = LONG_AGO + Duration::seconds(10 * number);
    s.sql("INSERT INTO chokaq.MetricBuckets (BucketUtc, Queue) VALUES (@P1, 'q')", &values![at]).await?;
    Ok(())
}

/// The jobs whose acts are on record, in the order of these.
async fn on_record(s: &mut Session) -> Result<Vec<String>> {
    let sql = "SELECT JobId FROM chokaq.OperatorHistory WHERE Action = 'edited' ORDER BY HistoryId";
    Ok(s.sql(sql, &[]).await?.texts("JobId"))
}

/// How many jobs each purge of the history says that it took, and who did it.
async fn purges(s: &mut Session) -> Result<Vec<(i64, Value)>> {
    let sql = "SELECT JobCount, Actor FROM chokaq.OperatorHistory WHERE Action = 'history_purged' ORDER BY HistoryId";
    Ok(s.sql(sql, &[]).await?.rows.iter().map(|row| (row.int("JobCount"), row["Actor"].clone())).collect())
}

async fn only_what_is_older_than_the_instant_is_purged(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for procedure in ["PurgeHistoryBatch", "PurgeHistory"] {
        s.empty_tables().await?;
        for (job, microseconds) in [("after", 1), ("at", 0), ("before", -1)] {
            acted(&mut s, job, microseconds).await?;
        }
        for number in [-1, 0, 1] {
            bucket(&mut s, number).await?;
        }
        let row = s.call_one(procedure, args! { OlderThanUtc: LONG_AGO }).await?;
        assert_eq!((row.int("DeletedCount"), row.int("DeletedBucketCount")), (1, 1), "{procedure}");
        assert_eq!(on_record(&mut s).await?, ["after", "at"], "{procedure}");
        let buckets = "SELECT COUNT(*) AS N FROM chokaq.MetricBuckets WHERE BucketUtc >= @P1";
        assert_eq!(s.count(buckets, &values![LONG_AGO]).await?, 2, "{procedure}");
    }
    Ok(())
}

async fn the_history_is_purged_in_batches_to_the_last(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (jobs, batch_size, batches) in [(25, 10, 3), (20, 10, 2), (3, 1, 3), (4, 4000, 1)] {
        for n in 1..=jobs {
            /* Several of the same instant. */
            acted(&mut s, &format!("j{n}"), n / 7).await?;
        }
        arrange::dead(&mut s, "q", "kept").await?;
        s.call("UpdateDLQJobData", args! { JobId: "kept", Tags: "x", ModifiedBy: "ann" }).await?;
        let args = args! { OlderThanUtc: LONG_AGO + Duration::DAY, CleanupBatchSize: batch_size };
        let row = s.call_one("PurgeHistory", args).await?;
        assert_eq!((row.int("DeletedCount"), row.int("BatchCount")), (jobs, batches));
        assert_eq!(on_record(&mut s).await?, ["kept"]);
        assert_eq!(purges(&mut s).await?.iter().map(|(count, _)| count).sum::<i64>(), jobs);
        s.empty_tables().await?;
    }
    Ok(())
}

async fn one_batch_of_the_history_says_where_to_go_on(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for job in ["a", "b", "c", "d", "e"] {
        acted(&mut s, job, 7).await?;
    }
    let ids = "SELECT HistoryId FROM chokaq.OperatorHistory ORDER BY HistoryId";
    let ids = s.sql(ids, &[]).await?.column("HistoryId");
    let at = LONG_AGO + Duration::microseconds(7);
    let batch = || args! { OlderThanUtc: LONG_AGO + Duration::DAY, CleanupBatchSize: 2, PurgedBy: "ann" };
    let and_on = |id: &Value| [batch(), args! { AfterAtUtc: at, AfterHistoryId: id.clone() }].concat();
    /* A key in the middle of an instant: what lies before it is passed over, though it is old enough. */
    for (args, deleted, has_more, last) in [
        (and_on(&ids[0]), 2, true, &ids[2]),
        (and_on(&ids[2]), 2, false, &ids[4]),
        (and_on(&ids[4]), 0, false, &ids[4]),
        (batch(), 1, false, &ids[0]),
    ] {
        let row = s.call_one("PurgeHistoryBatch", args).await?;
        assert_eq!((row.int("DeletedCount"), &row["HasMore"]), (deleted, &has_more.into()));
        assert_eq!((row.time("LastAtUtc"), &row["LastHistoryId"]), (at, last));
    }
    assert!(on_record(&mut s).await?.is_empty());
    assert_eq!(purges(&mut s).await?, [(2, "ann".into()), (2, "ann".into()), (1, "ann".into())]);
    Ok(())
}

async fn metric_buckets_are_purged_with_it_batch_by_batch(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for number in 1..=7 {
        bucket(&mut s, number).await?;
    }
    acted(&mut s, "a", 0).await?;
    let args = || args! { OlderThanUtc: LONG_AGO + Duration::DAY, CleanupBatchSize: 3 };
    let row = s.call_one("PurgeHistoryBatch", args()).await?;
    assert_eq!((row.int("DeletedCount"), row.int("DeletedBucketCount")), (1, 3));
    assert_eq!(row["HasMore"], true);
    let row = s.call_one("PurgeHistory", args()).await?;
    assert_eq!((row.int("DeletedCount"), row.int("DeletedBucketCount"), row.int("BatchCount")), (0, 4, 2));
    assert_eq!(s.count("SELECT COUNT(*) AS N FROM chokaq.MetricBuckets", &[]).await?, 0);
    /* Of the buckets alone there is nothing to tell. */
    assert_eq!(purges(&mut s).await?, [(1, Value::Null)]);
    Ok(())
}

async fn a_purge_of_the_history_is_in_the_history(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for n in 0..5 {
        acted(&mut s, "a", n).await?;
    }
    let before = s.now().await?;
    let args = args! { OlderThanUtc: LONG_AGO + Duration::DAY, CleanupBatchSize: 3, PurgedBy: "ann" };
    s.call("PurgeHistory", args).await?;
    assert_eq!(purges(&mut s).await?, [(3, "ann".into()), (2, "ann".into())]);
    let sql = "SELECT AtUtc, JobId, Login FROM chokaq.OperatorHistory";
    for row in s.sql(sql, &[]).await?.rows {
        assert!(row.time("AtUtc") >= before);
        assert_eq!(row["JobId"], Value::Null);
        assert_eq!(row["Login"], arrange::login(&mut s).await?);
    }
    Ok(())
}

/// With an instant that is still to come, it takes everything but its own rows, and ends.
async fn a_purge_never_takes_what_it_wrote_itself(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for n in 0..5 {
        acted(&mut s, "a", n).await?;
    }
    let future = s.now().await? + Duration::DAY;
    let purge = || args! { OlderThanUtc: future, CleanupBatchSize: 2 };
    let row = s.call_one("PurgeHistory", purge()).await?;
    assert_eq!((row.int("DeletedCount"), row.int("BatchCount")), (5, 3));
    assert_eq!(purges(&mut s).await?, [(2, Value::Null), (2, Value::Null), (1, Value::Null)]);
    let row = s.call_one("PurgeHistory", purge()).await?;
    assert_eq!((row.int("DeletedCount"), row.int("BatchCount")), (3, 2));
    let row = s.call_one("PurgeHistoryBatch", purge()).await?;
    assert_eq!((row.int("DeletedCount"), &row["HasMore"]), (2, &false.into()));
    assert_eq!(purges(&mut s).await?, [(2, Value::Null)]);
    Ok(())
}

async fn a_purge_of_nothing_leaves_no_trace(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    acted(&mut s, "a", 0).await?;
    let row = s.call_one("PurgeHistory", args! { OlderThanUtc: LONG_AGO, PurgedBy: "ann" }).await?;
    for column in ["DeletedCount", "DeletedBucketCount", "BatchCount"] {
        assert_eq!(row[column], 0, "{column}");
    }
    let row = s.call_one("PurgeHistoryBatch", args! { OlderThanUtc: LONG_AGO, PurgedBy: "ann" }).await?;
    assert_eq!((row.int("DeletedCount"), &row["HasMore"]), (0, &false.into()));
    assert_eq!((&row["LastAtUtc"], &row["LastHistoryId"]), (&Value::Null, &Value::Null));
    assert!(purges(&mut s).await?.is_empty());
    assert_eq!(on_record(&mut s).await?, ["a"]);
    Ok(())
}

async fn a_row_of_the_history_held_by_another_session_is_left_to_it(db: &Db<'_>) -> Result<()> {
    let [mut s, mut holder] = db.sessions().await?;
    for job in ["a", "b", "c", "d", "e"] {
        acted(&mut s, job, 0).await?;
    }
    holder.begin().await?;
    holder.sql("UPDATE chokaq.OperatorHistory SET JobCount = 2 WHERE JobId = 'b'", &[]).await?;
    let purge = || args! { OlderThanUtc: LONG_AGO + Duration::DAY, CleanupBatchSize: 2 };
    let row = beside(db, (&mut holder, End::Rollback), &mut s, ("PurgeHistory", purge())).await?.one();
    let left = i64::from(s.heeds_lock_hints());
    assert_eq!(row["DeletedCount"], 5 - left);
    assert_eq!(s.call_one("PurgeHistory", purge()).await?["DeletedCount"], left);
    Ok(())
}

/// T-SQL has no such time.
async fn an_endless_time_is_refused(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    acted(&mut s, "a", 0).await?;
    for time in ["infinity", "-infinity"] {
        for call in ["SELECT * FROM chokaq.purge_history_batch", "CALL chokaq.purge_history"] {
            let result = s.batch(&format!("{call}('{time}')"), "").await;
            assert_refused(result, db.engine, Code::InvalidArgument, "OlderThanUtc");
        }
    }
    assert_eq!(on_record(&mut s).await?, ["a"]);
    Ok(())
}
