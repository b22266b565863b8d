//! usp_MarkAsProcessing, usp_KeepAlive and usp_ReleaseJob: what a worker does between fetch and end.

use chokaq_tests::{Db, Result, Scenario, Value, args, scenarios};

use crate::arrange;

pub const SCENARIOS: &[Scenario] = scenarios![
    a_fetched_job_is_started_by_its_owner,
    starting_again_says_so_and_counts_no_attempt,
    what_cannot_be_started_says_why,
    a_heartbeat_is_renewed_for_the_owner_only,
    a_repeated_id_is_kept_alive_once,
    a_fetched_job_is_released_to_its_old_place,
    what_cannot_be_released_says_why,
];

async fn a_fetched_job_is_started_by_its_owner(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::fetched(&mut s, "q", "a1").await?;
    arrange::backdate(&mut s, "q", "HeartbeatUtc", 100).await?;
    let row = s.call_one("MarkAsProcessing", args! { JobId: "a1", WorkerId: "w1" }).await?;
    assert_eq!(row["Outcome"], "started");
    assert_eq!(row["AttemptCount"], 1);
    let job = arrange::job(&mut s, "a1").await?;
    assert_eq!(job["Status"], 2);
    assert_eq!(job["AttemptCount"], 1);
    assert_eq!(job["HeartbeatUtc"], job["StartedAtUtc"]);
    assert!(arrange::close(job.time("StartedAtUtc"), s.now().await?));
    Ok(())
}

async fn starting_again_says_so_and_counts_no_attempt(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::fetched(&mut s, "q", "a1").await?;
    for outcome in ["started", "already_started", "already_started"] {
        let row = s.call_one("MarkAsProcessing", args! { JobId: "a1", WorkerId: "w1" }).await?;
        assert_eq!(row["Outcome"], outcome);
        assert_eq!(row["AttemptCount"], 1);
    }
    Ok(())
}

async fn what_cannot_be_started_says_why(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::fetched(&mut s, "q", "fetched").await?;
    arrange::processing(&mut s, "q", "running").await?;
    arrange::pending(&mut s, "q", "pending").await?;
    for (id, worker, outcome, attempts) in [
        ("fetched", "w2", "not_owner", Value::Int(0)),
        ("fetched", "W1", "not_owner", Value::Int(0)),
        ("running", "w2", "not_owner", Value::Int(1)),
        ("pending", "w1", "not_fetched", Value::Int(0)),
        ("nobody", "w1", "not_found", Value::Null),
        ("Fetched", "w1", "not_found", Value::Null),
    ] {
        let row = s.call_one("MarkAsProcessing", args! { JobId: id, WorkerId: worker }).await?;
        assert_eq!(row["Outcome"], outcome, "{id} by {worker}");
        assert_eq!(row["AttemptCount"], attempts, "{id} by {worker}");
    }
    assert_eq!(arrange::job(&mut s, "fetched").await?["Status"], 1);
    Ok(())
}

async fn a_heartbeat_is_renewed_for_the_owner_only(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::fetched(&mut s, "q", "fetched").await?;
    arrange::processing(&mut s, "q", "running").await?;
    arrange::pending(&mut s, "q", "pending").await?;
    arrange::backdate(&mut s, "q", "HeartbeatUtc", 100).await?;
    let ids = ["running", "nobody", "fetched", "pending"];

    let rows = s.call("KeepAlive", args! { JobIds: ids, WorkerId: "w2" }).await?;
    assert_eq!(rows.texts("JobId"), ids);
    assert!(rows.rows.iter().all(|row| row["Outcome"] == "lost"));
    let now = s.now().await?;
    assert!(arrange::job(&mut s, "running").await?.time("HeartbeatUtc") < now - time::Duration::seconds(90));

    let rows = s.call("KeepAlive", args! { JobIds: ids, WorkerId: "w1" }).await?;
    assert_eq!(rows.texts("JobId"), ids);
    assert_eq!(rows.texts("Outcome"), ["alive", "lost", "alive", "lost"]);
    for id in ["fetched", "running"] {
        assert!(arrange::close(arrange::job(&mut s, id).await?.time("HeartbeatUtc"), now), "{id}");
    }
    assert_eq!(arrange::job(&mut s, "pending").await?["Status"], 0);
    Ok(())
}

async fn a_repeated_id_is_kept_alive_once(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "a").await?;
    let rows = s.call("KeepAlive", args! { JobIds: ["b", "a", "b", "a", "A"], WorkerId: "w1" }).await?;
    assert_eq!(rows.texts("JobId"), ["b", "a", "A"]);
    assert_eq!(rows.texts("Outcome"), ["lost", "alive", "lost"]);
    let none: [&str; 0] = [];
    assert!(s.call("KeepAlive", args! { JobIds: none, WorkerId: "w1" }).await?.rows.is_empty());
    Ok(())
}

async fn a_fetched_job_is_released_to_its_old_place(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for id in ["a1", "a2"] {
        arrange::pending(&mut s, "q", id).await?;
    }
    arrange::take(&mut s, "q", "a1", false).await?;
    let row = s.call_one("ReleaseJob", args! { JobId: "a1", WorkerId: "w1" }).await?;
    assert_eq!(row["Outcome"], "released");
    assert_eq!(row["JobId"], "a1");
    let job = arrange::job(&mut s, "a1").await?;
    assert_eq!(job["Status"], 0);
    assert_eq!(job["AttemptCount"], 0);
    for column in ["WorkerId", "FetchedAtUtc", "HeartbeatUtc"] {
        assert_eq!(job[column], Value::Null, "{column}");
    }
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w2" }).await?, ["a1", "a2"]);
    Ok(())
}

async fn what_cannot_be_released_says_why(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::fetched(&mut s, "q", "fetched").await?;
    arrange::processing(&mut s, "q", "running").await?;
    arrange::pending(&mut s, "q", "pending").await?;
    for (id, worker, outcome) in [
        ("fetched", "w2", "not_owner"),
        ("running", "w2", "not_owner"),
        ("running", "w1", "not_fetched"),
        ("pending", "w1", "not_fetched"),
        ("nobody", "w1", "not_found"),
    ] {
        let found = s.outcome("ReleaseJob", args! { JobId: id, WorkerId: worker }).await?;
        assert_eq!(found, outcome, "{id} by {worker}");
    }
    assert_eq!(arrange::job(&mut s, "running").await?["Status"], 2);
    assert_eq!(arrange::job(&mut s, "fetched").await?["WorkerId"], "w1");
    Ok(())
}
