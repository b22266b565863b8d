//! usp_ResurrectByFilterBatch, usp_ResurrectByFilter, usp_PurgeDLQByFilterBatch and usp_PurgeDLQByFilter: which jobs a
//! filter leaves. How these are then acted on is in `by_filter.rs`.

use chokaq_tests::{Args, Code, Db, Engine, Result, Scenario, Session, args, assert_refused, scenario, values};
use time::Duration;

use crate::bulk::{self, Bulk, moment, queue};
use crate::{arrange, snapshot};

pub const SCENARIOS: &[Scenario] = &[
    scenario!(a_call_only_previews_unless_told_to_act),
    scenario!(a_preview_counts_no_more_than_would_be_taken),
    scenario!(an_empty_filter_is_refused),
    scenario!(an_endless_time_is_no_filter).only(Engine::Postgres),
    scenario!(each_filter_takes_what_it_says_and_nothing_else),
    scenario!(a_range_takes_its_first_instant_and_not_its_last),
    scenario!(a_filter_that_leaves_nothing_does_nothing),
    scenario!(a_search_is_letters_in_five_columns),
    scenario!(a_destructive_search_takes_exactly_its_letters),
];

async fn a_call_only_previews_unless_told_to_act(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for n in 1..=5 {
        bulk::failed(&mut s, "q", &format!("a{n}"), n).await?;
    }
    bulk::failed(&mut s, "r", "other", 1).await?;
    let before = snapshot::take(&mut s).await?;
    for bulk in bulk::ALL {
        for what_if in [None, Some(true)] {
            let row = bulk.call(&mut s, what_if, queue("q")).await?.one();
            assert_eq!(row["MatchedCount"], 5, "{bulk:?}");
            assert_eq!(row[bulk.done], 0, "{bulk:?}");
            assert_eq!(row["SkippedCount"], 0, "{bulk:?}");
            assert_eq!(row["HasMore"], false, "{bulk:?}");
        }
    }
    for bulk in bulk::LOOPS {
        assert_eq!(bulk.preview(&mut s, queue("q")).await?["BatchCount"], 0, "{bulk:?}");
    }
    assert_eq!(snapshot::take(&mut s).await?, before);
    Ok(())
}

async fn a_preview_counts_no_more_than_would_be_taken(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for n in 1..=5 {
        bulk::failed(&mut s, "q", &format!("a{n}"), n).await?;
    }
    for bulk in bulk::LOOPS {
        for (max_jobs, batch_size, matched, has_more) in
            [(3, 1000, 3, true), (4, 2, 4, true), (4, 3, 4, true), (5, 2, 5, false), (5, 5, 5, false), (9, 1, 5, false)]
        {
            let mut filter = args! { Queue: "q", MaxJobs: max_jobs };
            filter.push((bulk.batch_size, batch_size.into()));
            let row = bulk.preview(&mut s, filter).await?;
            assert_eq!(row["MatchedCount"], matched, "{bulk:?} {max_jobs} {batch_size}");
            assert_eq!(row["HasMore"], has_more, "{bulk:?} {max_jobs} {batch_size}");
        }
    }
    for bulk in bulk::BATCHES {
        for (batch_size, matched, has_more) in [(3, 3, true), (5, 5, false)] {
            let row = bulk.preview(&mut s, vec![("Queue", "q".into()), (bulk.batch_size, batch_size.into())]).await?;
            assert_eq!(row["MatchedCount"], matched, "{bulk:?} {batch_size}");
            assert_eq!(row["HasMore"], has_more, "{bulk:?} {batch_size}");
            assert_eq!(row["LastJobId"], format!("a{matched}"), "{bulk:?} {batch_size}");
            assert_eq!(row.time("LastFailedAtUtc"), moment(matched), "{bulk:?} {batch_size}");
        }
    }
    Ok(())
}

async fn an_empty_filter_is_refused(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    bulk::failed(&mut s, "q", "a1", 1).await?;
    let before = snapshot::take(&mut s).await?;
    for bulk in bulk::ALL {
        for what_if in [None, Some(true), Some(false)] {
            /* Neither a limit nor a key is a filter. */
            let more = match bulk.procedure.ends_with("Batch") {
                true => args! { AfterFailedAtUtc: moment(0), AfterJobId: "a" },
                false => args! { MaxJobs: 1 },
            };
            for more in [args! {}, more] {
                let result = bulk.call(&mut s, what_if, more).await;
                assert_refused(result, db.engine, Code::FilterRequired, "Queue");
                assert_eq!(s.transaction_count().await?, 0, "{bulk:?}");
            }
        }
    }
    assert_eq!(snapshot::take(&mut s).await?, before);
    Ok(())
}

/// It would be one that means everything. T-SQL has no such time.
async fn an_endless_time_is_no_filter(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    bulk::failed(&mut s, "q", "a1", 1).await?;
    for call in [
        "SELECT * FROM chokaq.resurrect_by_filter_batch(p_resurrected_by => 'ann', p_what_if => false",
        "CALL chokaq.resurrect_by_filter(p_resurrected_by => 'ann', p_what_if => false",
        "SELECT * FROM chokaq.purge_dlq_by_filter_batch(p_purged_by => 'ann', p_what_if => false",
        "CALL chokaq.purge_dlq_by_filter(p_purged_by => 'ann', p_what_if => false",
    ] {
        for (parameter, bound) in [("FromUtc", "p_from_utc => '-infinity'"), ("ToUtc", "p_to_utc => 'infinity'")] {
            let result = s.batch(&format!("{call}, {bound})"), "").await;
            assert_refused(result, db.engine, Code::InvalidArgument, parameter);
        }
    }
    assert_eq!(bulk::in_dlq(&mut s).await?, ["a1"]);
    Ok(())
}

/// Five jobs of different kinds: `a` to `e`, failed 10 to 50 seconds after the first of January.
async fn five_kinds(s: &mut Session) -> Result<()> {
    s.empty_tables().await?;
    for (id, queue, kind, reason, seconds) in [
        ("a", "q1", "t1", 6, 10),
        ("b", "q1", "t2", 7, 20),
        ("c", "q2", "t1", 6, 30),
        ("d", "Q1", "T1", 2, 40),
        ("e", "q1", "t1", 7, 50),
    ] {
        s.call("Enqueue", args! { Queue: queue, Type: kind, JobId: id, Tags: format!("tag-{id}") }).await?;
        s.call("MoveToDLQ", args! { JobId: id, FailureReason: reason }).await?;
        bulk::failed_at(s, id, seconds).await?;
    }
    Ok(())
}

/// Acts, and checks that exactly those jobs of the DLQ were acted on.
async fn takes(s: &mut Session, bulk: Bulk, filter: &Args, expected: &[&str]) -> Result<()> {
    let before = bulk::in_dlq(s).await?;
    let row = bulk.act(s, filter.clone()).await?;
    let after = bulk::in_dlq(s).await?;
    let taken: Vec<&String> = before.iter().filter(|id| !after.contains(id)).collect();
    assert_eq!(taken, expected, "{} {filter:?}", bulk.procedure);
    assert_eq!(row[bulk.done], expected.len() as i64, "{} {filter:?}", bulk.procedure);
    assert_eq!(row["MatchedCount"], expected.len() as i64, "{} {filter:?}", bulk.procedure);
    let pillar = if bulk.action == "resurrected" { "Hot" } else { "" };
    for id in expected {
        assert_eq!(arrange::pillar(s, id).await?, pillar, "{} {filter:?}", bulk.procedure);
    }
    Ok(())
}

async fn each_filter_takes_what_it_says_and_nothing_else(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let filters = [
        (args! { Queue: "q1" }, vec!["a", "b", "e"]),
        (args! { Type: "t1" }, vec!["a", "c", "e"]),
        (args! { FailureReason: 6 }, vec!["a", "c"]),
        (args! { FromUtc: moment(30) }, vec!["c", "d", "e"]),
        (args! { ToUtc: moment(30) }, vec!["a", "b"]),
        (args! { Search: "tag-b" }, vec!["b"]),
        (args! { FromUtc: moment(20), ToUtc: moment(40) }, vec!["b", "c"]),
        (args! { Queue: "q1", Type: "t1" }, vec!["a", "e"]),
        (args! { Type: "t1", FailureReason: 6, FromUtc: moment(20) }, vec!["c"]),
        (args! { Queue: "q1", Search: "tag" }, vec!["a", "b", "e"]),
        (
            args! {
                Queue: "q1", Type: "t1", FailureReason: 7, FromUtc: moment(10), ToUtc: moment(51), Search: "tag-",
            },
            vec!["e"],
        ),
    ];
    for bulk in bulk::ALL {
        for (filter, expected) in &filters {
            five_kinds(&mut s).await?;
            takes(&mut s, bulk, filter, expected).await?;
        }
    }
    Ok(())
}

async fn a_range_takes_its_first_instant_and_not_its_last(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    /* What every server keeps; SQL Server alone keeps a tenth of it. */
    let tick = Duration::MICROSECOND;
    let at = moment(0) + Duration::milliseconds(500);
    for bulk in bulk::ALL {
        for (filter, expected) in [
            (args! { FromUtc: at }, vec!["after", "at"]),
            (args! { ToUtc: at }, vec!["before"]),
            (args! { FromUtc: at, ToUtc: at + tick }, vec!["at"]),
            (args! { FromUtc: at, ToUtc: at }, vec![]),
        ] {
            s.empty_tables().await?;
            for (id, when) in [("before", at - tick), ("at", at), ("after", at + tick)] {
                arrange::dead(&mut s, "q", id).await?;
                s.sql("UPDATE chokaq.JobsDLQ SET FailedAtUtc = @P1 WHERE Id = @P2", &values![when, id]).await?;
            }
            takes(&mut s, bulk, &filter, &expected).await?;
        }
    }
    Ok(())
}

async fn a_filter_that_leaves_nothing_does_nothing(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    five_kinds(&mut s).await?;
    let before = snapshot::take(&mut s).await?;
    for bulk in bulk::ALL {
        for filter in [queue("nowhere"), args! { Queue: "q2", FailureReason: 7 }, args! { Search: "tag-f" }] {
            let row = bulk.act(&mut s, filter).await?;
            for column in ["MatchedCount", bulk.done, "SkippedCount"] {
                assert_eq!(row[column], 0, "{bulk:?} {column}");
            }
            assert_eq!(row["HasMore"], false, "{bulk:?}");
        }
    }
    for bulk in bulk::LOOPS {
        assert_eq!(bulk.act(&mut s, queue("nowhere")).await?["BatchCount"], 0, "{bulk:?}");
    }
    assert_eq!(snapshot::take(&mut s).await?, before);
    Ok(())
}

/// Each search inside a transaction that is rolled back, so that the next one finds the same jobs.
async fn a_search_is_letters_in_five_columns(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (id, kind, payload, tags, error) in [
        ("id-needle", "t", "p", "x", "e"),
        ("type", "needle_v1", "p", "x", "e"),
        ("payload", "t", "a needle here", "x", "e"),
        ("tags", "t", "p", "one,needle", "e"),
        ("error", "t", "p", "x", "no needle found"),
        ("case", "t", "a Needle", "x", "e"),
        ("signs", "t", "100%_[done]", "x", "e"),
        ("almost", "t", "100xx1done1", "x", "e"),
        ("quote", "t", "it's", "x", "e"),
        ("slash", "t", "p", "x", "C:\\temp"),
        ("emoji", "t", "p", "🙂", "e"),
        ("blank", "t", "all done ", "x", "e"),
        ("dots", "t", "p", "x", "İstanbul ısı"),
    ] {
        s.call("Enqueue", args! { Queue: "q", Type: kind, JobId: id, Payload: payload, Tags: tags }).await?;
        s.call("MoveToDLQ", args! { JobId: id, FailureReason: 6, ErrorDetails: error }).await?;
    }
    s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: "bare" }).await?;
    s.call("MoveToDLQ", args! { JobId: "bare", FailureReason: 6 }).await?;
    for bulk in bulk::BATCHES {
        for (search, expected) in [
            ("needle", vec!["error", "id-needle", "payload", "tags", "type"]),
            ("Needle", vec!["case"]),
            ("NEEDLE", vec![]),
            ("%", vec!["signs"]),
            ("_", vec!["signs", "type"]),
            ("[", vec!["signs"]),
            ("[done]", vec!["signs"]),
            ("100%_[d", vec!["signs"]),
            ("100%", vec!["signs"]),
            ("'", vec!["quote"]),
            ("\\", vec!["slash"]),
            ("\\t", vec!["slash"]),
            ("🙂", vec!["emoji"]),
            ("🙃", vec![]),
            ("done", vec!["almost", "blank", "signs"]),
            ("done ", vec!["blank"]),
            ("  ", vec![]),
            (" ", vec!["blank", "case", "dots", "error", "payload"]),
            ("ı", vec!["dots"]),
            ("istanbul", vec![]),
            ("bare", vec!["bare"]),
        ] {
            s.begin().await?;
            takes(&mut s, bulk, &args! { Search: search }, &expected).await?;
            s.rollback().await?;
        }
    }
    Ok(())
}

/// Case 14.
async fn a_destructive_search_takes_exactly_its_letters(db: &Db<'_>) -> Result<()> {
    const LETTERS: &str = "100%_done";
    let mut s = db.session().await?;
    let payloads = [LETTERS, "100%xdone", "100x_done", "100xxdone", "100%_DONE", "100%_don", "00%_done", "100%\\_done"];
    for bulk in bulk::LOOPS {
        s.empty_tables().await?;
        let jobs: Vec<_> = (0..1_000)
            .map(|n| serde_json::json!({"queue": "q", "type": "t", "payload": payloads[n % payloads.len()]}))
            .collect();
        s.call("EnqueueMany", args! { Jobs: serde_json::json!(jobs) }).await?;
        s.call("FetchNextBatch", args! { WorkerId: "w1", BatchSize: 1000, StartNow: true }).await?;
        assert_eq!(s.call_one("ArchiveZombies", args! { TimeoutSeconds: 0 }).await?["MovedCount"], 1_000);

        let row = bulk.act(&mut s, args! { Search: LETTERS }).await?;
        assert_eq!((row.int("MatchedCount"), row.int(bulk.done)), (125, 125), "{bulk:?}");
        let left = s.sql("SELECT Payload FROM chokaq.JobsDLQ", &[]).await?.texts("Payload");
        assert_eq!(left.len(), 875, "{bulk:?}");
        assert!(!left.iter().any(|payload| payload.contains(LETTERS)), "{bulk:?}");
    }
    Ok(())
}
