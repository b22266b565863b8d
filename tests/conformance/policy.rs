//! What the usp_SetQueue procedures set is heeded from then on, and by whom they are met on the way.

use chokaq_tests::{Db, Result, Scenario, Value, args, scenarios};
use time::Duration;

use crate::arrange;
use crate::queues::{assert_told, change, queue};
use crate::rivals::{End, beside, while_held};

pub const SCENARIOS: &[Scenario] = scenarios![
    a_limit_holds_exactly_on_a_queue_that_an_operator_made,
    a_queue_that_is_stopped_gives_no_job_until_it_goes_on,
    a_limit_counts_from_the_next_fetch,
    a_zombie_timeout_counts_from_the_next_sweep,
    a_policy_counts_from_the_next_failure,
    two_changes_of_one_queue_take_their_turns,
    two_makers_of_one_queue_make_one,
    a_queue_made_in_a_transaction_goes_with_it,
];

/// The lock that makes a limit exact is a row of its own, which must not wait for the first job.
async fn a_limit_holds_exactly_on_a_queue_that_an_operator_made(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    a.call("SetQueueMaxWorkers", args! { Queue: "q", MaxWorkers: 1, ModifiedBy: "ann" }).await?;
    arrange::many_pending(&mut a, "q", &arrange::ids("j", 2)).await?;
    a.begin().await?;
    assert_eq!(arrange::fetch(&mut a, args! { WorkerId: "w1" }).await?, ["j00001"]);
    let fetch = ("FetchNextBatch", args! { WorkerId: "w2" });
    assert!(beside(db, (&mut a, End::Commit), &mut b, fetch).await?.rows.is_empty());
    assert!(arrange::fetch(&mut b, args! { WorkerId: "w2" }).await?.is_empty());
    a.call("ReleaseJob", args! { JobId: "j00001", WorkerId: "w1" }).await?;
    assert_eq!(arrange::fetch(&mut b, args! { WorkerId: "w2" }).await?, ["j00001"]);
    Ok(())
}

async fn a_queue_that_is_stopped_gives_no_job_until_it_goes_on(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (procedure, setting, stop) in [("SetQueuePaused", "IsPaused", true), ("SetQueueActive", "IsActive", false)] {
        arrange::processing(&mut s, setting, &format!("{setting} runs")).await?;
        arrange::pending(&mut s, setting, setting).await?;
        s.call(procedure, change(setting, setting, stop, "ann")).await?;
        for queues in [Value::Null, [setting].into()] {
            let args = args! { WorkerId: "w1", Queues: queues };
            assert!(arrange::fetch(&mut s, args).await?.is_empty(), "{setting}");
        }
        /* What runs already goes on, and what comes waits. */
        arrange::pending(&mut s, setting, &format!("{setting} waits")).await?;
        assert_eq!(s.outcome("ArchiveSucceeded", args! { JobId: format!("{setting} runs") }).await?, "archived");
        s.call(procedure, change(setting, setting, !stop, "ann")).await?;
        let waited = arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?;
        assert_eq!(waited, [setting.to_owned(), format!("{setting} waits")]);
    }
    Ok(())
}

async fn a_limit_counts_from_the_next_fetch(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let ids = arrange::ids("j", 6);
    arrange::many_pending(&mut s, "q", &ids).await?;
    let mut held = 0;
    for (limit, expected) in
        [(Value::Int(0), 0), (1.into(), 1), (1.into(), 1), (3.into(), 3), (2.into(), 3), (Value::Null, 6)]
    {
        s.call("SetQueueMaxWorkers", change("q", "MaxWorkers", limit.clone(), "ann")).await?;
        held += arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?.len();
        assert_eq!(held, expected, "{limit:?}");
    }
    Ok(())
}

async fn a_zombie_timeout_counts_from_the_next_sweep(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "a1").await?;
    for (timeout, age, moved) in
        [(Value::Int(3_600), 3_000, 0), (Value::Null, 500, 0), (Value::Int(60), 50, 0), (Value::Int(60), 70, 1)]
    {
        arrange::backdate(&mut s, "q", "HeartbeatUtc", age).await?;
        s.call("SetQueueZombieTimeout", change("q", "ZombieTimeoutSeconds", timeout.clone(), "ann")).await?;
        let row = s.call_one("ArchiveZombies", args! {}).await?;
        assert_eq!(row["MovedCount"], moved, "{timeout:?} after {age} seconds");
    }
    Ok(())
}

async fn a_policy_counts_from_the_next_failure(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let fail = |id: &'static str| args! { JobId: id, WorkerId: "w1", Attempt: 1, FailureReason: 8, ErrorDetails: "e" };
    for id in ["once", "later", "old"] {
        arrange::processing(&mut s, "q", id).await?;
    }
    s.call("SetQueueRetryPolicy", args! { Queue: "q", MaxAttempts: 1, ModifiedBy: "ann" }).await?;
    let row = s.call_one("FailJob", fail("once")).await?;
    assert_eq!(row["Outcome"], "moved");
    assert_eq!(row["FailureReason"], 0);

    let args = args! { Queue: "q", MaxAttempts: 2, BaseDelaySeconds: 600, ModifiedBy: "ann" };
    s.call("SetQueueRetryPolicy", args).await?;
    let now = s.now().await?;
    let row = s.call_one("FailJob", fail("later")).await?;
    assert_eq!(row["Outcome"], "rescheduled");
    assert!(arrange::close(row.time("ScheduledAtUtc"), now + Duration::seconds(600)));

    s.call("SetQueueRetryPolicy", args! { Queue: "q", MaxJobAgeSeconds: 300, ModifiedBy: "ann" }).await?;
    let row = s.call_one("FailJob", fail("old")).await?;
    assert_eq!(row["Outcome"], "moved");
    assert_eq!(row["FailureReason"], 10);
    Ok(())
}

async fn two_changes_of_one_queue_take_their_turns(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    for (name, end, second, outcome, paused, limit) in [
        ("q1", End::Commit, ("SetQueueMaxWorkers", "MaxWorkers", Value::Int(4)), "updated", true, Value::Int(4)),
        ("q2", End::Commit, ("SetQueuePaused", "IsPaused", Value::Bool(true)), "unchanged", true, Value::Null),
        ("q3", End::Rollback, ("SetQueuePaused", "IsPaused", Value::Bool(true)), "updated", true, Value::Null),
        ("q4", End::Rollback, ("SetQueueMaxWorkers", "MaxWorkers", Value::Int(4)), "updated", false, Value::Int(4)),
    ] {
        arrange::pending(&mut a, name, name).await?;
        a.begin().await?;
        assert_eq!(a.outcome("SetQueuePaused", change(name, "IsPaused", true, "ann")).await?, "updated");
        let (procedure, setting, value) = second;
        let call = (procedure, change(name, setting, value, "bob"));
        let row = while_held(db, (&mut a, end), &mut b, call).await?.one();
        assert_eq!(row["Outcome"], outcome, "{name}");
        assert_eq!(row["IsPaused"], paused, "{name}");
        assert_eq!(row["MaxWorkers"], limit, "{name}");
        assert_told(&mut b, &row).await?;
    }
    Ok(())
}

async fn two_makers_of_one_queue_make_one(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    for (name, end, outcome, paused) in [("q", End::Commit, "updated", true), ("r", End::Rollback, "created", false)] {
        a.begin().await?;
        assert_eq!(a.outcome("SetQueuePaused", change(name, "IsPaused", true, "ann")).await?, "created");
        let call = ("SetQueueMaxWorkers", change(name, "MaxWorkers", 4, "bob"));
        let row = while_held(db, (&mut a, end), &mut b, call).await?.one();
        assert_eq!(row["Outcome"], outcome, "{name}");
        assert_eq!(row["IsPaused"], paused, "{name}");
        assert_eq!(row["MaxWorkers"], 4, "{name}");
        assert_told(&mut b, &row).await?;
    }
    Ok(())
}

async fn a_queue_made_in_a_transaction_goes_with_it(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    s.begin().await?;
    assert_eq!(s.outcome("SetQueuePaused", change("q", "IsPaused", true, "ann")).await?, "created");
    assert_eq!(queue(&mut s, "q").await?["IsPaused"], true);
    s.rollback().await?;
    assert!(s.call("GetQueues", args! { Queue: "q" }).await?.rows.is_empty());
    assert!(s.call("GetQueueStats", args! { Queue: "q" }).await?.rows.is_empty());
    assert_eq!(s.count("SELECT COUNT(*) AS N FROM chokaq.OperatorHistory", &[]).await?, 0);
    Ok(())
}
