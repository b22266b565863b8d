//! usp_ResurrectByFilterBatch, usp_ResurrectByFilter, usp_PurgeDLQByFilterBatch and usp_PurgeDLQByFilter: how they act on
//! the jobs that a filter leaves. Which these are is in `filter.rs`.

use std::cell::Cell;

use chokaq_tests::{Args, Code, Db, Engine, Result, Scenario, Session, Value, args, assert_refused, scenario, values};
use time::Duration;

use crate::arrange;
use crate::bulk::{self, Bulk, moment, queue};
use crate::rivals::{End, beside};

pub const SCENARIOS: &[Scenario] = &[
    scenario!(the_oldest_jobs_go_first_and_no_more_than_asked_for),
    scenario!(resurrected_jobs_take_their_turn_in_the_order_they_failed),
    scenario!(one_batch_says_where_to_go_on),
    scenario!(a_key_needs_the_time_that_its_id_belongs_to),
    scenario!(an_error_in_a_later_batch_leaves_the_earlier_ones_done),
    scenario!(a_job_whose_id_is_in_hot_too_stays_and_stops_nobody),
    scenario!(a_row_held_by_another_session_is_skipped_and_counted),
    scenario!(a_row_that_is_let_go_during_the_run_is_taken_after_all).only(Engine::Postgres),
    scenario!(a_job_edited_after_it_matched_is_left_alone).only(Engine::Postgres),
    scenario!(a_job_that_is_edited_while_a_call_comes_to_it_is_left_alone),
    scenario!(a_job_that_fails_after_the_call_began_is_left),
    scenario!(a_job_that_fails_again_at_once_is_not_taken_twice),
    scenario!(bulk_calls_and_workers_share_the_jobs_without_a_deadlock),
    scenario!(the_history_tells_of_every_job_batch_by_batch),
];

/// Seven jobs, `g` the oldest and `a` the newest but for `b` and `c`, which failed at the same instant.
async fn seven(s: &mut Session) -> Result<()> {
    s.empty_tables().await?;
    for (id, seconds) in [("a", 60), ("b", 50), ("c", 50), ("d", 40), ("e", 30), ("f", 20), ("g", 10)] {
        bulk::failed(s, "q", id, seconds).await?;
    }
    Ok(())
}

/// The filter by queue `q`, in batches of that size.
fn sized(bulk: Bulk, batch_size: i64, more: Args) -> Args {
    queue("q").into_iter().chain([(bulk.batch_size, batch_size.into())]).chain(more).collect()
}

async fn the_oldest_jobs_go_first_and_no_more_than_asked_for(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for bulk in bulk::LOOPS {
        seven(&mut s).await?;
        let mut left = vec!["a", "b", "c", "d", "e", "f", "g"];
        for (max_jobs, batch_size, done, batches, has_more, gone) in [
            (3, 2, 3, 2, true, vec!["e", "f", "g"]),
            (2, 4000, 2, 1, true, vec!["b", "d"]),
            (2, 1, 2, 2, false, vec!["a", "c"]),
            (9, 1, 0, 0, false, vec![]),
        ] {
            let row = bulk.act(&mut s, sized(bulk, batch_size, args! { MaxJobs: max_jobs })).await?;
            assert_eq!(row["MatchedCount"], done, "{bulk:?}");
            assert_eq!(row[bulk.done], done, "{bulk:?}");
            assert_eq!(row["BatchCount"], batches, "{bulk:?}");
            assert_eq!(row["HasMore"], has_more, "{bulk:?}");
            left.retain(|id| !gone.contains(id));
            assert_eq!(bulk::in_dlq(&mut s).await?, left, "{bulk:?}");
        }
    }
    Ok(())
}

async fn resurrected_jobs_take_their_turn_in_the_order_they_failed(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (bulk, batch_size) in [(bulk::BATCHES[0], 7), (bulk::LOOPS[0], 3)] {
        seven(&mut s).await?;
        bulk.act(&mut s, sized(bulk, batch_size, args! {})).await?;
        let fetched = arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?;
        assert_eq!(fetched, ["g", "f", "e", "d", "b", "c", "a"], "{bulk:?}");
        for id in fetched {
            let job = arrange::job(&mut s, &id).await?;
            assert_eq!((job.int("ResurrectCount"), job.int("Priority")), (1, 10), "{bulk:?}");
            assert_eq!(job["LastModifiedBy"], "ann", "{bulk:?}");
        }
    }
    Ok(())
}

async fn one_batch_says_where_to_go_on(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for bulk in bulk::BATCHES {
        seven(&mut s).await?;
        /* A key in the middle of an instant: what lies before it is passed over, though it matches. */
        let key = args! { AfterFailedAtUtc: moment(20), AfterJobId: "f" };
        let row = bulk.act(&mut s, sized(bulk, 3, key)).await?;
        assert_eq!((row.int("MatchedCount"), row.int(bulk.done)), (3, 3), "{bulk:?}");
        assert_eq!(row["HasMore"], true, "{bulk:?}");
        assert_eq!((row.time("LastFailedAtUtc"), row.text("LastJobId")), (moment(50), "b".to_owned()), "{bulk:?}");
        assert_eq!(bulk::in_dlq(&mut s).await?, ["a", "c", "f", "g"], "{bulk:?}");
        let key = args! { AfterFailedAtUtc: row.time("LastFailedAtUtc"), AfterJobId: row.text("LastJobId") };
        let row = bulk.act(&mut s, sized(bulk, 3, key)).await?;
        assert_eq!((row.int("MatchedCount"), row.int(bulk.done)), (2, 2), "{bulk:?}");
        assert_eq!(row["HasMore"], false, "{bulk:?}");
        let row = bulk.act(&mut s, sized(bulk, 3, args! { AfterFailedAtUtc: moment(50) })).await?;
        assert_eq!((row.int("MatchedCount"), &row["LastJobId"]), (0, &Value::Null), "{bulk:?}");
        assert_eq!(bulk::in_dlq(&mut s).await?, ["f", "g"], "{bulk:?}");
    }
    Ok(())
}

async fn a_key_needs_the_time_that_its_id_belongs_to(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    seven(&mut s).await?;
    for bulk in bulk::BATCHES {
        let result = bulk.call(&mut s, Some(false), sized(bulk, 3, args! { AfterJobId: "f" })).await;
        assert_refused(result, db.engine, Code::InvalidArgument, "AfterFailedAtUtc");
    }
    assert_eq!(bulk::in_dlq(&mut s).await?.len(), 7);
    Ok(())
}

/// The fourth oldest job can be neither resurrected nor purged.
async fn an_error_in_a_later_batch_leaves_the_earlier_ones_done(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let forced = match db.engine {
        Engine::Postgres => "TT099",
        Engine::Mssql => "50099",
    };
    s.batch(
        "CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'forced' USING ERRCODE = 'TT099'; END $$",
        "",
    )
    .await?;
    for bulk in bulk::LOOPS {
        seven(&mut s).await?;
        s.batch(
            "CREATE TRIGGER fail BEFORE DELETE ON chokaq.jobs_dlq
            FOR EACH ROW WHEN (old.id = 'd') EXECUTE FUNCTION public.fail()",
            "CREATE TRIGGER chokaq.tr_JobsDLQ_fail ON chokaq.JobsDLQ AFTER DELETE
            AS BEGIN IF EXISTS (SELECT 1 FROM deleted WHERE Id = N'd') THROW 50099, N'forced', 1; END",
        )
        .await?;
        let error = bulk.call(&mut s, Some(false), sized(bulk, 2, args! {})).await.expect_err(bulk.procedure);
        assert_eq!(error.code, forced, "{bulk:?}: {error}");
        assert_eq!(s.transaction_count().await?, 0, "{bulk:?}");
        assert_eq!(bulk::in_dlq(&mut s).await?, ["a", "b", "c", "d", "e"], "{bulk:?}");
        s.batch("DROP TRIGGER fail ON chokaq.jobs_dlq", "DROP TRIGGER chokaq.tr_JobsDLQ_fail").await?;
        assert_eq!(bulk.act(&mut s, sized(bulk, 2, args! {})).await?[bulk.done], 5, "{bulk:?}");
        db.recount().await?;
    }
    Ok(())
}

async fn a_job_whose_id_is_in_hot_too_stays_and_stops_nobody(db: &Db<'_>) -> Result<()> {
    db.expect_broken_accounts();
    let mut s = db.session().await?;
    let poisoned = async |s: &mut Session| -> Result<()> {
        seven(s).await?;
        for (id, seconds) in [("f1", 15), ("g1", 5)] {
            arrange::pending(s, "q", id).await?;
            arrange::force(s, id, "JobsDLQ").await?;
            bulk::failed_at(s, id, seconds).await?;
        }
        Ok(())
    };
    let [resurrect, purge] = bulk::LOOPS;
    for batch_size in [1, 2, 1000] {
        poisoned(&mut s).await?;
        let row = resurrect.act(&mut s, sized(resurrect, batch_size, args! {})).await?;
        for (column, value) in [("MatchedCount", 9), ("ResurrectedCount", 7), ("ConflictCount", 2), ("SkippedCount", 0)]
        {
            assert_eq!(row[column], value, "{column} in batches of {batch_size}");
        }
        assert_eq!(row["HasMore"], false);
        assert_eq!(bulk::in_dlq(&mut s).await?, ["f1", "g1"]);
    }
    let row = bulk::BATCHES[0].act(&mut s, queue("q")).await?;
    for (column, value) in [("MatchedCount", 2), ("ResurrectedCount", 0), ("ConflictCount", 2), ("SkippedCount", 0)] {
        assert_eq!(row[column], value, "{column}");
    }
    let untouched = "SELECT COUNT(*) AS N FROM chokaq.JobsHot WHERE Id IN ('f1', 'g1') AND ResurrectCount = 0";
    assert_eq!(s.count(untouched, &[]).await?, 2);
    /* A purge has nothing to do with Hot. */
    poisoned(&mut s).await?;
    assert_eq!(purge.act(&mut s, queue("q")).await?["PurgedCount"], 9);
    assert_eq!(arrange::pillar(&mut s, "f1").await?, "Hot");
    Ok(())
}

async fn a_row_held_by_another_session_is_skipped_and_counted(db: &Db<'_>) -> Result<()> {
    let [mut s, mut holder] = db.sessions().await?;
    let left = i64::from(s.heeds_lock_hints());
    for bulk in bulk::ALL {
        seven(&mut s).await?;
        holder.begin().await?;
        holder.sql("UPDATE chokaq.JobsDLQ SET Tags = 'held' WHERE Id = @P1", &values!["f"]).await?;
        let loops = !bulk.procedure.ends_with("Batch");
        let call = (bulk.procedure, bulk.arguments(Some(false), sized(bulk, if loops { 3 } else { 7 }, args! {})));
        let row = beside(db, (&mut holder, End::Rollback), &mut s, call).await?.one();
        assert_eq!(row["MatchedCount"], 7, "{bulk:?}");
        assert_eq!(row[bulk.done], 7 - left, "{bulk:?}");
        assert_eq!(row["SkippedCount"], left, "{bulk:?}");
        assert_eq!(row["HasMore"], false, "{bulk:?}");
        let row = bulk.act(&mut s, queue("q")).await?;
        assert_eq!((row.int(bulk.done), row.int("SkippedCount")), (left, 0), "{bulk:?}");
    }
    Ok(())
}

/// While the call waits at the history for a second rival, the first lets go of a row it had passed over.
async fn a_row_that_is_let_go_during_the_run_is_taken_after_all(db: &Db<'_>) -> Result<()> {
    let [mut s, mut holder, mut second] = db.sessions().await?;
    for bulk in bulk::LOOPS {
        seven(&mut s).await?;
        holder.begin().await?;
        holder.sql("UPDATE chokaq.JobsDLQ SET Tags = 'held' WHERE Id = @P1", &values!["f"]).await?;
        second.begin().await?;
        second.batch("LOCK TABLE chokaq.operator_history IN SHARE MODE", "").await?;
        let id = s.id().await?;
        let release = async {
            db.until_blocked(id).await?;
            holder.rollback().await?;
            Ok(second.commit().await?)
        };
        let (row, ()) = tokio::try_join!(bulk.act(&mut s, sized(bulk, 1000, args! {})), release)?;
        assert_eq!((row.int("MatchedCount"), row.int(bulk.done), row.int("SkippedCount")), (7, 7, 0), "{bulk:?}");
        assert_eq!(row["BatchCount"], 2, "{bulk:?}");
    }
    Ok(())
}

/// The rival's lock on the table lets the call read, but not lock a row, before the rival's edit is done.
async fn a_job_edited_after_it_matched_is_left_alone(db: &Db<'_>) -> Result<()> {
    let [mut s, mut editor] = db.sessions().await?;
    for bulk in bulk::ALL {
        seven(&mut s).await?;
        editor.begin().await?;
        editor.batch("LOCK TABLE chokaq.jobs_dlq IN EXCLUSIVE MODE", "").await?;
        let id = s.id().await?;
        let edit = async {
            db.until_blocked(id).await?;
            editor.call("UpdateDLQJobData", args! { JobId: "f", Payload: "\"new\"", ModifiedBy: "bob" }).await?;
            Ok(editor.commit().await?)
        };
        let (row, ()) = tokio::try_join!(bulk.act(&mut s, queue("q")), edit)?;
        assert_eq!((row.int(bulk.done), row.int("SkippedCount")), (6, 0), "{bulk:?}");
        assert_eq!(bulk::in_dlq(&mut s).await?, ["f"], "{bulk:?}");
        assert_eq!(arrange::job(&mut s, "f").await?["Payload"], "\"new\"", "{bulk:?}");
    }
    Ok(())
}

/// Whether the filter still leaves it or not. A server that ignores lock hints waits for the edit with the job in hand.
async fn a_job_that_is_edited_while_a_call_comes_to_it_is_left_alone(db: &Db<'_>) -> Result<()> {
    let [mut s, mut editor] = db.sessions().await?;
    for bulk in bulk::ALL {
        for filter in [args! { Search: "before" }, queue("q")] {
            seven(&mut s).await?;
            s.sql("UPDATE chokaq.JobsDLQ SET Tags = 'before'", &[]).await?;
            editor.begin().await?;
            editor.call("UpdateDLQJobData", args! { JobId: "f", Tags: "after", ModifiedBy: "bob" }).await?;
            let call = (bulk.procedure, bulk.arguments(Some(false), filter.clone()));
            let row = beside(db, (&mut editor, End::Commit), &mut s, call).await?.one();
            let skipped = match db.engine {
                Engine::Postgres => 1,
                Engine::Mssql => i64::from(s.heeds_lock_hints() && filter == queue("q")),
            };
            assert_eq!((row.int(bulk.done), row.int("SkippedCount")), (6, skipped), "{bulk:?} {filter:?}");
            assert_eq!(bulk::in_dlq(&mut s).await?, ["f"], "{bulk:?} {filter:?}");
            assert_eq!(arrange::job(&mut s, "f").await?["Tags"], "after", "{bulk:?} {filter:?}");
            assert_eq!(arrange::history(&mut s, "f").await?.len(), 1, "{bulk:?} {filter:?}");
        }
    }
    Ok(())
}

async fn a_job_that_fails_after_the_call_began_is_left(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let later = s.now().await? + Duration::HOUR;
    for bulk in bulk::LOOPS {
        for more in [args! {}, args! { ToUtc: later + Duration::DAY }, args! { FromUtc: moment(0) }] {
            seven(&mut s).await?;
            s.sql("UPDATE chokaq.JobsDLQ SET FailedAtUtc = @P1 WHERE Id = 'a'", &values![later]).await?;
            let row = bulk.act(&mut s, sized(bulk, 3, more)).await?;
            assert_eq!((row.int(bulk.done), &row["HasMore"]), (6, &false.into()), "{bulk:?}");
            assert_eq!(bulk::in_dlq(&mut s).await?, ["a"], "{bulk:?}");
        }
    }
    Ok(())
}

/// Here each job is back in the DLQ before the batch that resurrected it ends.
async fn a_job_that_fails_again_at_once_is_not_taken_twice(db: &Db<'_>) -> Result<()> {
    db.expect_broken_accounts();
    let mut s = db.session().await?;
    let bulk = bulk::LOOPS[0];
    seven(&mut s).await?;
    s.batch(
        "CREATE FUNCTION public.fail_again() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN PERFORM chokaq.move_to_dlq(new.job_id, 6); RETURN NULL; END $$",
        "CREATE TRIGGER chokaq.tr_OperatorHistory_fail_again ON chokaq.OperatorHistory AFTER INSERT
        AS BEGIN
            SET NOCOUNT ON;
            INSERT INTO chokaq.JobsDLQ (Id, Queue, Type, Priority, AttemptCount, FailureReason, FailedAtUtc,
                CreatedAtUtc, LastUpdatedUtc, ResurrectCount, Revision)
            SELECT h.Id, h.Queue, h.Type, h.Priority, h.AttemptCount, 6, SYSUTCDATETIME(), h.CreatedAtUtc,
                h.LastUpdatedUtc, h.ResurrectCount, h.Revision + 100
            FROM chokaq.JobsHot AS h WHERE h.Id IN (SELECT i.JobId FROM inserted AS i);
            DELETE FROM chokaq.JobsHot WHERE Id IN (SELECT i.JobId FROM inserted AS i);
        END",
    )
    .await?;
    s.batch(
        "CREATE TRIGGER fail_again AFTER INSERT ON chokaq.operator_history
        FOR EACH ROW EXECUTE FUNCTION public.fail_again()",
        "",
    )
    .await?;
    let row = bulk.act(&mut s, sized(bulk, 2, args! {})).await?;
    s.batch("", "DROP TRIGGER chokaq.tr_OperatorHistory_fail_again").await?;
    assert_eq!((row.int("ResurrectedCount"), row.int("BatchCount")), (7, 4));
    assert_eq!(row["HasMore"], false);
    let once = "SELECT COUNT(*) AS N FROM chokaq.JobsDLQ WHERE ResurrectCount = 1";
    assert_eq!(s.count(once, &[]).await?, 7);
    Ok(())
}

/// A resurrection and a purge over the same rows, while workers fail whatever comes back.
async fn bulk_calls_and_workers_share_the_jobs_without_a_deadlock(db: &Db<'_>) -> Result<()> {
    let [mut s, mut operator, mut admin, mut w1, mut w2] = db.sessions().await?;
    arrange::many_dead(&mut s, "q", &arrange::ids("j", 300)).await?;
    s.sql("UPDATE chokaq.JobsDLQ SET FailedAtUtc = @P1", &values![moment(0)]).await?;
    let [resurrect, purge] = bulk::LOOPS;
    let running = Cell::new(2);
    let act = async |s: &mut Session, bulk: Bulk, batch_size: i64| {
        let row = bulk.act(s, sized(bulk, batch_size, args! { ToUtc: moment(1) })).await?;
        running.set(running.get() - 1);
        Ok::<_, anyhow::Error>(row.int(bulk.done))
    };
    let work = async |s: &mut Session, worker: &str| {
        let mut failed = 0;
        while running.get() > 0 {
            for id in arrange::fetch(s, args! { WorkerId: worker, StartNow: true }).await? {
                let args = args! { JobId: id, WorkerId: worker, Attempt: 1, FailureReason: 6, ErrorDetails: "e" };
                assert_eq!(s.outcome("FailJob", args).await?, "moved");
                failed += 1;
            }
        }
        Ok(failed)
    };
    let (resurrected, purged, first, second) = tokio::try_join!(
        act(&mut operator, resurrect, 7),
        act(&mut admin, purge, 11),
        work(&mut w1, "w1"),
        work(&mut w2, "w2")
    )?;
    assert_eq!(resurrected + purged, 300, "each of the jobs is taken by one of the two");
    let stats = arrange::stats(&mut s, "q").await?;
    assert_eq!((stats.int("ResurrectedTotal"), stats.int("PurgedTotal")), (resurrected, purged));
    assert_eq!((stats.int("FailedTotal"), stats.int("PendingCount")), (first + second, resurrected - first - second));
    Ok(())
}

async fn the_history_tells_of_every_job_batch_by_batch(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let login = arrange::login(&mut s).await?;
    for bulk in bulk::ALL {
        s.empty_tables().await?;
        let ids = arrange::ids("j", 5);
        for id in &ids {
            let args = args! {
                Queue: "q", Type: "t", JobId: id, Payload: "secret", Tags: "x", Priority: 7, IdempotencyKey: id,
            };
            s.call("Enqueue", args).await?;
            arrange::take(&mut s, "q", id, true).await?;
            arrange::kill(&mut s, id).await?;
        }
        let dead = s.sql("SELECT * FROM chokaq.JobsDLQ ORDER BY Id", &[]).await?.rows;
        let loops = !bulk.procedure.ends_with("Batch");
        bulk.act(&mut s, sized(bulk, if loops { 2 } else { 5 }, args! {})).await?;
        for (id, dead) in ids.iter().zip(&dead) {
            let rows = arrange::history(&mut s, id).await?;
            assert_eq!(rows.len(), 1, "{bulk:?}");
            let row = &rows[0];
            for (column, value) in [("Action", bulk.action), ("Actor", "ann"), ("Login", &login)] {
                assert_eq!(row[column], value, "{bulk:?} {column}");
            }
            for column in ["Queue", "Type", "FailureReason", "ErrorDetails", "AttemptCount", "FailedAtUtc"] {
                assert_eq!(row[column], dead[column], "{bulk:?} {column}");
            }
            assert_eq!((row.int("OldPriority"), row.text("OldIdempotencyKey")), (7, id.clone()), "{bulk:?}");
            assert_eq!(row["OldPayload"], Value::Null, "{bulk:?}");
            let tags = if bulk.action == "purged" { "x".into() } else { Value::Null };
            assert_eq!(row["OldTags"], tags, "{bulk:?}");
        }
        let sizes = "SELECT COUNT(*) AS N FROM chokaq.OperatorHistory GROUP BY BatchId ORDER BY COUNT(*)";
        let expected: &[i64] = if loops { &[1, 2, 2] } else { &[5] };
        let sizes: Vec<i64> = s.sql(sizes, &[]).await?.rows.iter().map(|row| row.int("N")).collect();
        assert_eq!(sizes, expected, "{bulk:?}");
        let stats = arrange::stats(&mut s, "q").await?;
        let total = if bulk.action == "purged" { "PurgedTotal" } else { "ResurrectedTotal" };
        assert_eq!((stats.int(total), stats.int("FailedTotal")), (5, 0), "{bulk:?}");
    }
    Ok(())
}
