//! Very much of something: text, levels of JSON, ids.

use std::time::Duration;

use chokaq_tests::{
    Args, Code, Db, Engine, Result, Scenario, Session, Value, args, assert_refused, contract, scenario,
};

use crate::{arguments, arrange};

pub const SCENARIOS: &[Scenario] = &[
    scenario!(sixty_four_megabytes_go_all_the_way).limit(Duration::from_secs(300)),
    scenario!(json_may_be_nested_deeper_than_a_server_reads),
    scenario!(a_hundred_thousand_ids_are_one_call).limit(Duration::from_secs(300)),
];

async fn sixty_four_megabytes_go_all_the_way(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    /* Babelfish takes ten times as long for each of them; the rest of the way is the same for an eighth. */
    let size = if s.is_babelfish() { 8 } else { 64 };
    let payload = "0123456789abcdef".repeat(size << 16);
    let other = format!("{payload}x");
    s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: "a", Payload: &payload }).await?;
    let row = s.call_one("FetchNextBatch", args! { WorkerId: "w1", StartNow: true }).await?;
    assert!(row["Payload"] == payload, "as it was fetched");
    let args = args! { JobId: "a", WorkerId: "w1", Attempt: 1, FailureReason: 6, ErrorDetails: &payload };
    assert_eq!(s.outcome("FailJob", args).await?, "moved");
    let row = s.call_one("GetDLQJob", args! { JobId: "a" }).await?;
    assert!(row["Payload"] == payload && row["ErrorDetails"] == payload, "in the DLQ");
    let args = args! { JobId: "a", Payload: &other, ModifiedBy: "ann", AllowInvalidJson: true };
    assert_eq!(s.outcome("UpdateDLQJobData", args).await?, "updated");
    assert_eq!(s.outcome("Resurrect", args! { JobId: "a", ResurrectedBy: "ann" }).await?, "resurrected");
    assert!(arrange::job(&mut s, "a").await?["Payload"] == other, "resurrected");
    Ok(())
}

/// It is kept as a text; where it is to be JSON it is either read or refused as such.
async fn json_may_be_nested_deeper_than_a_server_reads(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    for (levels, n) in [(10_000, 1), (100_000, 2)] {
        let deep = nested(levels);
        let id = format!("a{n}");
        s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: &id, Payload: &deep }).await?;
        let edit = |allow: bool| args! { JobId: &id, Payload: &deep, ModifiedBy: "ann", AllowInvalidJson: allow };
        let resurrection =
            |allow: bool| args! { JobId: &id, NewPayload: &deep, ResurrectedBy: "ann", AllowInvalidJson: allow };
        is_read_or_refused(&mut s, "UpdateJobData", edit(false), "Payload").await?;
        assert_eq!(s.outcome("UpdateJobData", edit(true)).await?, "updated");
        arrange::kill(&mut s, &id).await?;
        is_read_or_refused(&mut s, "UpdateDLQJobData", edit(false), "Payload").await?;
        if !is_read_or_refused(&mut s, "Resurrect", resurrection(false), "NewPayload").await? {
            assert_eq!(s.outcome("Resurrect", resurrection(true)).await?, "resurrected");
        }
        assert!(arrange::job(&mut s, &id).await?["Payload"] == deep, "{levels} levels");
    }
    if db.engine == Engine::Mssql {
        let deep = nested(100_000);
        for procedure in contract::PROCEDURES.iter() {
            for parameter in procedure.parameters.iter().filter(|it| ["Jobs", "JobIds", "Queues"].contains(&&*it.name))
            {
                let args = arguments::with(procedure, &parameter.name, Value::from(&deep));
                assert_refused(s.call(&procedure.name, args).await, db.engine, Code::InvalidJson, &parameter.name);
            }
        }
    }
    Ok(())
}

/// Whether it was read.
async fn is_read_or_refused(s: &mut Session, procedure: &str, args: Args, parameter: &str) -> Result<bool> {
    match s.call(procedure, args).await {
        Ok(_) => Ok(true),
        Err(error) => {
            let is_named = error.is(Code::InvalidJson, s.engine()) && error.names(parameter, s.engine());
            assert!(is_named, "{error}");
            Ok(false)
        }
    }
}

async fn a_hundred_thousand_ids_are_one_call(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    /* Babelfish looks at each id in a loop of its own; more than one batch is enough there. */
    let count = if s.is_babelfish() { 10_000 } else { 100_000 };
    let mut ids = arrange::ids("none", count);
    for (place, id) in [(0, "first"), (count / 2, "middle"), (count - 1, "last")] {
        arrange::pending(&mut s, "q", id).await?;
        ids[place] = id.to_owned();
    }
    let count = count as i64;
    for (procedure, who, column) in [
        ("ArchiveCancelledBatch", "CancelledBy", "CancelledCount"),
        ("ResurrectBatch", "ResurrectedBy", "ResurrectedCount"),
        ("PurgeDLQ", "PurgedBy", "PurgedCount"),
    ] {
        let row = s.call_one(procedure, vec![("JobIds", (&ids).into()), (who, "ann".into())]).await?;
        let counts = ["RequestedCount", column, "NotFoundCount"].map(|it| row.int(it));
        let done = if procedure == "PurgeDLQ" { 0 } else { 3 };
        assert_eq!(counts, [count, done, count - done], "{procedure}");
    }
    for procedure in contract::PROCEDURES.iter().filter(|it| {
        ["KeepAlive", "MarkJobsAsProcessing"].contains(&&*it.name)
            || ["ResurrectJobs", "CancelJobs", "PurgeDLQJobs"].contains(&&*it.name)
    }) {
        let args = arguments::with(procedure, "JobIds", (&ids).into());
        assert_refused(s.call(&procedure.name, args).await, db.engine, Code::InvalidArgument, "JobIds");
    }
    Ok(())
}
