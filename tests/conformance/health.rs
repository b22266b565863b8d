//! usp_GetHealth, and the metric buckets of usp_FoldCounters that it takes its rates from.

use chokaq_tests::{Db, Result, Row, Scenario, Session, Value, args, scenarios, values};
use time::{Duration, OffsetDateTime};

use crate::arrange;

pub const SCENARIOS: &[Scenario] = scenarios![
    a_fold_sorts_what_happened_into_buckets_of_ten_seconds,
    a_second_fold_adds_to_the_buckets_of_the_first,
    a_fold_drops_the_buckets_of_yesterday,
    each_queue_has_its_own_row_of_health,
    a_job_is_pending_from_the_moment_it_is_due,
    the_lag_is_how_long_due_jobs_have_waited,
    a_starving_job_of_low_priority_shows_in_the_longest_lag,
    rates_are_those_of_the_last_one_and_five_minutes,
    the_oldest_job_of_the_dlq_is_shown,
    a_long_backlog_is_counted_to_ten_thousand_and_no_further,
];

/// What a fold has to fold: so much happened in that queue at that time.
async fn happened(s: &mut Session, queue: &str, at: OffsetDateTime, counts: [i64; 4]) -> Result<()> {
    let [enqueued, succeeded, retried, dead_lettered] = counts;
    let sql = "INSERT INTO chokaq.CounterDeltas (Queue, AtUtc, Enqueued, Succeeded, Retried, DeadLettered)
        VALUES (@P1, @P2, @P3, @P4, @P5, @P6)";
    s.sql(sql, &values![queue, at, enqueued, succeeded, retried, dead_lettered]).await?;
    Ok(())
}

/// What a fold has folded.
async fn bucket(s: &mut Session, queue: &str, at: OffsetDateTime, succeeded: i64, dead_lettered: i64) -> Result<()> {
    let sql =
        "INSERT INTO chokaq.MetricBuckets (BucketUtc, Queue, Succeeded, DeadLettered) VALUES (@P1, @P2, @P3, @P4)";
    s.sql(sql, &values![ten_seconds(at), queue, succeeded, dead_lettered]).await?;
    Ok(())
}

/// The beginning of the ten seconds that an instant lies in.
fn ten_seconds(at: OffsetDateTime) -> OffsetDateTime {
    let beginning = at.unix_timestamp() / 10 * 10;
    OffsetDateTime::UNIX_EPOCH + Duration::seconds(beginning)
}

/// Every bucket, in order: its queue, its beginning, and what it counts.
async fn buckets(s: &mut Session) -> Result<Vec<(String, OffsetDateTime, [i64; 4])>> {
    let sql = "SELECT BucketUtc, Queue, Enqueued, Succeeded, Retried, DeadLettered FROM chokaq.MetricBuckets
        ORDER BY Queue, BucketUtc";
    let counts = |row: &Row| ["Enqueued", "Succeeded", "Retried", "DeadLettered"].map(|column| row.int(column));
    let rows = s.sql(sql, &[]).await?.rows;
    Ok(rows.iter().map(|row| (row.text("Queue"), row.time("BucketUtc"), counts(row))).collect())
}

async fn a_fold_sorts_what_happened_into_buckets_of_ten_seconds(db: &Db<'_>) -> Result<()> {
    db.expect_broken_accounts();
    let mut s = db.session().await?;
    let first = ten_seconds(s.now().await?) - Duration::minutes(10);
    let second = first + Duration::seconds(10);
    happened(&mut s, "q", first, [1, 2, 3, 4]).await?;
    happened(&mut s, "q", second - Duration::MICROSECOND, [10, 20, 30, 40]).await?;
    happened(&mut s, "q", second, [5, 0, 0, 0]).await?;
    happened(&mut s, "r", second, [0, 0, 0, 1]).await?;
    /* What says nothing of a rate makes no bucket. */
    s.sql("INSERT INTO chokaq.CounterDeltas (Queue, Resurrected, Purged) VALUES ('r', 1, 1)", &[]).await?;
    assert_eq!(arrange::fold(&mut s, args! {}).await?, 5);
    let expected = [
        ("q".to_owned(), first, [11, 22, 33, 44]),
        ("q".to_owned(), second, [5, 0, 0, 0]),
        ("r".to_owned(), second, [0, 0, 0, 1]),
    ];
    assert_eq!(buckets(&mut s).await?, expected);
    Ok(())
}

async fn a_second_fold_adds_to_the_buckets_of_the_first(db: &Db<'_>) -> Result<()> {
    db.expect_broken_accounts();
    let mut s = db.session().await?;
    let at = ten_seconds(s.now().await?) - Duration::minutes(10);
    for round in 1..=3 {
        happened(&mut s, "q", at + Duration::seconds(round), [1, 2, 3, 4]).await?;
        happened(&mut s, "q", at + Duration::seconds(10 + round), [0, 1, 0, 0]).await?;
        arrange::fold(&mut s, args! {}).await?;
        let expected = [
            ("q".to_owned(), at, [1, 2, 3, 4].map(|count| count * round)),
            ("q".to_owned(), at + Duration::seconds(10), [0, round, 0, 0]),
        ];
        assert_eq!(buckets(&mut s).await?, expected, "round {round}");
    }
    Ok(())
}

async fn a_fold_drops_the_buckets_of_yesterday(db: &Db<'_>) -> Result<()> {
    db.expect_broken_accounts();
    let mut s = db.session().await?;
    let now = s.now().await?;
    for hours in [23, 25, 26, 27] {
        bucket(&mut s, "q", now - Duration::hours(hours), 1, 1).await?;
    }
    happened(&mut s, "q", now - Duration::hours(25), [7, 7, 7, 7]).await?;
    /* No more than the batch at a time. */
    arrange::fold(&mut s, args! { BatchSize: 2 }).await?;
    assert_eq!(buckets(&mut s).await?.len(), 2);
    arrange::zero_delta(&mut s, "q").await?;
    arrange::fold(&mut s, args! {}).await?;
    assert_eq!(buckets(&mut s).await?, [("q".to_owned(), ten_seconds(now - Duration::hours(23)), [0, 1, 0, 1])]);
    /* What is too old for a bucket counts in the totals all the same. */
    assert_eq!(arrange::stats(&mut s, "q").await?["SucceededTotal"], 7);
    Ok(())
}

async fn health(s: &mut Session, queue: &str) -> Result<Row> {
    Ok(s.call_one("GetHealth", args! { Queue: queue }).await?)
}

fn assert_counts(row: &Row, expected: [(&str, i64); 5]) {
    for (column, value) in expected {
        assert_eq!(row[column], value, "{column}: {row:?}");
    }
}

async fn each_queue_has_its_own_row_of_health(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::archived(&mut s, "q", "done").await?;
    arrange::dead(&mut s, "q", "dead1").await?;
    arrange::dead(&mut s, "q", "dead2").await?;
    arrange::processing(&mut s, "q", "running1").await?;
    arrange::processing(&mut s, "q", "running2").await?;
    arrange::fetched(&mut s, "q", "fetched").await?;
    arrange::pending(&mut s, "q", "due").await?;
    s.call("Enqueue", args! { Queue: "q", Type: "t", DelaySeconds: 3600 }).await?;
    s.call("Enqueue", args! { Queue: "q", Type: "t", DelaySeconds: 7200 }).await?;
    arrange::pending(&mut s, "paused", "p1").await?;
    arrange::set_queue(&mut s, "paused", "IsPaused", true).await?;
    arrange::pending(&mut s, "Q", "i1").await?;
    arrange::set_queue(&mut s, "Q", "IsActive", false).await?;
    arrange::archived(&mut s, "idle", "d1").await?;

    let rows = s.call("GetHealth", args! {}).await?;
    assert_eq!(rows.texts("Queue"), ["Q", "idle", "paused", "q"]);
    for (row, queue, is_paused, is_active, [pending, scheduled, fetched, processing, dlq]) in [
        (&rows.rows[0], "Q", false, false, [1, 0, 0, 0, 0]),
        (&rows.rows[1], "idle", false, true, [0, 0, 0, 0, 0]),
        (&rows.rows[2], "paused", true, true, [1, 0, 0, 0, 0]),
        (&rows.rows[3], "q", false, true, [1, 2, 1, 2, 2]),
    ] {
        assert_eq!((&row["IsPaused"], &row["IsActive"]), (&is_paused.into(), &is_active.into()), "{queue}");
        let counts = [
            ("PendingCount", pending),
            ("ScheduledCount", scheduled),
            ("FetchedCount", fetched),
            ("ProcessingCount", processing),
            ("DLQCount", dlq),
        ];
        assert_counts(row, counts);
        assert_counts(&health(&mut s, queue).await?, counts);
    }
    assert!(s.call("GetHealth", args! { Queue: "nowhere" }).await?.rows.is_empty());
    Ok(())
}

/// Sets when a waiting job falls due, so many seconds ago; no fetch has seen it since.
async fn due_ago(s: &mut Session, id: &str, seconds: i64) -> Result<()> {
    let at = s.now().await? - Duration::seconds(seconds);
    s.sql("UPDATE chokaq.JobsHot SET DueAtUtc = @P1 WHERE Id = @P2", &values![at, id]).await?;
    Ok(())
}

async fn a_job_is_pending_from_the_moment_it_is_due(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for id in ["a1", "a2", "a3"] {
        s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: id, DelaySeconds: 3600 }).await?;
    }
    let counts = |pending, scheduled| {
        [
            ("PendingCount", pending),
            ("ScheduledCount", scheduled),
            ("FetchedCount", 0),
            ("ProcessingCount", 0),
            ("DLQCount", 0),
        ]
    };
    assert_counts(&health(&mut s, "q").await?, counts(0, 3));
    due_ago(&mut s, "a1", 1).await?;
    due_ago(&mut s, "a2", 1000).await?;
    assert_counts(&health(&mut s, "q").await?, counts(2, 1));
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w1", BatchSize: 1 }).await?, ["a2"]);
    s.call("ReleaseJob", args! { JobId: "a2", WorkerId: "w1" }).await?;
    assert_counts(&health(&mut s, "q").await?, counts(2, 1));
    Ok(())
}

/// The value and what a slow machine may add to it.
fn assert_seconds(row: &Row, column: &str, seconds: f64) {
    let value = row.float(column);
    assert!((seconds..seconds + 100.0).contains(&value), "{column} should be {seconds} and a little, not {value}");
}

async fn the_lag_is_how_long_due_jobs_have_waited(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for id in ["a1", "a2", "a3"] {
        arrange::pending(&mut s, "q", id).await?;
    }
    due_ago(&mut s, "a1", 1_000).await?;
    due_ago(&mut s, "a2", 2_000).await?;
    due_ago(&mut s, "a3", 6_000).await?;
    arrange::pending(&mut s, "other", "b1").await?;
    s.call("Enqueue", args! { Queue: "later", Type: "t", DelaySeconds: 3600 }).await?;
    let row = health(&mut s, "q").await?;
    assert_seconds(&row, "AverageLagSeconds", 3_000.0);
    assert_seconds(&row, "MaxLagSeconds", 6_000.0);
    /* One that fell due, and no fetch has noticed. */
    s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: "a4", DelaySeconds: 3600 }).await?;
    due_ago(&mut s, "a4", 11_000).await?;
    let row = health(&mut s, "q").await?;
    assert_seconds(&row, "AverageLagSeconds", 5_000.0);
    assert_seconds(&row, "MaxLagSeconds", 11_000.0);
    let row = health(&mut s, "later").await?;
    assert_eq!((&row["AverageLagSeconds"], &row["MaxLagSeconds"]), (&Value::Float(0.0), &Value::Float(0.0)));
    /* What is held waits no longer. */
    arrange::fetch(&mut s, args! { WorkerId: "w1", Queues: ["q"] }).await?;
    let row = health(&mut s, "q").await?;
    assert_eq!((&row["AverageLagSeconds"], &row["MaxLagSeconds"]), (&Value::Float(0.0), &Value::Float(0.0)));
    Ok(())
}

async fn a_starving_job_of_low_priority_shows_in_the_longest_lag(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (id, priority) in [("high", 30), ("usual", 10), ("low", 1), ("starving", -5), ("lowest", -9)] {
        s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: id, Priority: priority }).await?;
    }
    due_ago(&mut s, "high", 500).await?;
    due_ago(&mut s, "starving", 50_000).await?;
    due_ago(&mut s, "lowest", 1_000).await?;
    assert_seconds(&health(&mut s, "q").await?, "MaxLagSeconds", 50_000.0);
    Ok(())
}

async fn rates_are_those_of_the_last_one_and_five_minutes(db: &Db<'_>) -> Result<()> {
    db.expect_broken_accounts();
    let mut s = db.session().await?;
    s.call("SetQueuePaused", args! { Queue: "q", IsPaused: false, ModifiedBy: "ann" }).await?;
    s.call("SetQueuePaused", args! { Queue: "r", IsPaused: false, ModifiedBy: "ann" }).await?;
    let now = s.now().await?;
    let ago = |seconds| now - Duration::seconds(seconds);
    bucket(&mut s, "q", ago(20), 60, 6).await?;
    bucket(&mut s, "q", ago(200), 300, 30).await?;
    bucket(&mut s, "q", ago(400), 7_000, 700).await?;
    bucket(&mut s, "r", ago(20), 11_000, 0).await?;
    /* Not folded yet. */
    happened(&mut s, "q", ago(5), [0, 20, 0, 2]).await?;
    happened(&mut s, "q", ago(5), [0, 10, 0, 1]).await?;
    happened(&mut s, "q", ago(200), [0, 100, 0, 10]).await?;
    happened(&mut s, "q", ago(400), [0, 7_000, 0, 700]).await?;
    let row = health(&mut s, "q").await?;
    /* A window begins with a bucket, so it may be ten seconds longer than its name. */
    for (column, count, window) in [
        ("CompletedPerSecondOneMinute", 90.0, 60.0),
        ("CompletedPerSecondFiveMinutes", 490.0, 300.0),
        ("FailedPerSecondOneMinute", 9.0, 60.0),
        ("FailedPerSecondFiveMinutes", 49.0, 300.0),
    ] {
        let seconds = count / row.float(column);
        assert!((window - 0.1..window + 10.1).contains(&seconds), "{column}: {count} in {seconds} seconds");
    }
    assert_eq!(health(&mut s, "r").await?["FailedPerSecondFiveMinutes"], Value::Float(0.0));
    Ok(())
}

async fn the_oldest_job_of_the_dlq_is_shown(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "empty", "hot").await?;
    let oldest = time::macros::datetime!(2026-01-01 00:00 UTC);
    for (queue, id, days) in [("q", "a", 2), ("q", "b", 0), ("q", "c", 1), ("r", "d", -1)] {
        arrange::dead(&mut s, queue, id).await?;
        let at = oldest + Duration::days(days);
        s.sql("UPDATE chokaq.JobsDLQ SET FailedAtUtc = @P1 WHERE Id = @P2", &values![at, id]).await?;
    }
    let row = health(&mut s, "q").await?;
    assert_eq!((row.int("DLQCount"), row.time("OldestFailedAtUtc")), (3, oldest));
    s.call("PurgeDLQ", args! { JobIds: ["b"], PurgedBy: "ann" }).await?;
    s.call("ResurrectBatch", args! { JobIds: ["c"], ResurrectedBy: "ann" }).await?;
    let row = health(&mut s, "q").await?;
    assert_eq!((row.int("DLQCount"), row.time("OldestFailedAtUtc")), (1, oldest + Duration::days(2)));
    let row = health(&mut s, "empty").await?;
    assert_eq!((row.int("DLQCount"), &row["OldestFailedAtUtc"]), (0, &Value::Null));
    Ok(())
}

/// So many waiting jobs at once, due so many seconds ago, or later when that is negative.
async fn many_waiting(s: &mut Session, queue: &str, count: i64, priority: i64, due_ago: i64) -> Result<()> {
    let at = s.now().await? - Duration::seconds(due_ago);
    let sql = format!(
        "INSERT INTO chokaq.JobsHot (Id, Queue, Type, Priority, Status, DueAtUtc, IsDue, FirstDueAtUtc, Arrival,
            CreatedAtUtc, LastUpdatedUtc, Revision)
        SELECT CONCAT('{queue}-', {due_ago}, '-', n.N), '{queue}', 't', {priority}, 0, @P1, @P2, @P1, n.N, @P1, @P1, n.N
        FROM (
            SELECT a.D + 10 * b.D + 100 * c.D + 1000 * d.D + 10000 * e.D AS N
            FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS a (D)
            CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS b (D)
            CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS c (D)
            CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS d (D)
            CROSS JOIN (VALUES (0), (1)) AS e (D)
        ) AS n
        WHERE n.N < {count}"
    );
    s.sql(&sql, &values![at, due_ago >= 0]).await?;
    s.sql("INSERT INTO chokaq.CounterDeltas (Queue, Enqueued) VALUES (@P1, @P2)", &values![queue, count]).await?;
    Ok(())
}

async fn a_long_backlog_is_counted_to_ten_thousand_and_no_further(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (queue, due, later) in [("few", 50, 40), ("due", 10_100, 3), ("later", 3, 10_100), ("both", 10_200, 10_100)] {
        s.call("SetQueuePaused", args! { Queue: queue, IsPaused: false, ModifiedBy: "ann" }).await?;
        many_waiting(&mut s, queue, due, 10, 1_000).await?;
        many_waiting(&mut s, queue, later, 10, -86_400).await?;
    }
    /* Behind the ten thousand: in the longest lag, not in the average. */
    many_waiting(&mut s, "due", 500, 1, 90_000).await?;
    /* Of both there are more than it counts: the rest goes to the pending ones. */
    for (queue, pending, scheduled) in
        [("few", 50, 40), ("due", 10_600, 3), ("later", 3, 10_100), ("both", 10_300, 10_000)]
    {
        let row = health(&mut s, queue).await?;
        assert_eq!((row.int("PendingCount"), row.int("ScheduledCount")), (pending, scheduled), "{queue}");
    }
    let row = health(&mut s, "due").await?;
    assert_seconds(&row, "AverageLagSeconds", 1_000.0);
    assert_seconds(&row, "MaxLagSeconds", 90_000.0);
    Ok(())
}
