//! usp_Resurrect, usp_ResurrectJobs and usp_ResurrectBatch.

use chokaq_tests::{Code, Db, Result, Scenario, Value, args, assert_refused, scenarios};
use time::Duration;

use crate::arrange;

pub const SCENARIOS: &[Scenario] = scenarios![
    a_resurrected_job_starts_anew,
    a_job_is_repaired_and_resurrected_in_one_step,
    a_resurrection_may_wait,
    a_key_is_cleared_unless_it_is_kept,
    a_kept_key_that_is_taken_leaves_the_job_in_the_dlq,
    a_resurrection_of_a_state_no_longer_there_is_refused,
    what_is_not_in_the_dlq_is_not_found,
    malformed_json_is_refused_unless_allowed,
    a_resurrection_keeps_the_evidence_in_the_history,
    a_resurrected_job_takes_its_turn_by_the_time_it_came_back,
    several_jobs_are_resurrected_in_one_transaction,
    many_resurrections_keep_the_evidence_too,
    any_number_of_jobs_is_resurrected_in_batches,
    a_batch_of_no_ids_does_nothing,
    four_thousand_ids_are_the_most_of_one_transaction,
];

async fn a_resurrected_job_starts_anew(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let args = args! {
        Queue: "q", Type: "t", JobId: "a1", Payload: "{broken", Tags: "x", Priority: 99, IdempotencyKey: "k", CreatedBy: "me",
    };
    s.call("Enqueue", args).await?;
    arrange::take(&mut s, "q", "a1", true).await?;
    s.call("RescheduleForRetry", args! { JobId: "a1", ErrorDetails: "first" }).await?;
    arrange::take(&mut s, "q", "a1", true).await?;
    arrange::kill(&mut s, "a1").await?;
    let before = arrange::job(&mut s, "a1").await?;

    let row = s.call_one("Resurrect", args! { JobId: "a1", ResurrectedBy: "ann" }).await?;
    assert_eq!(row["Outcome"], "resurrected");
    assert_eq!(row["Queue"], "q");
    let job = arrange::job(&mut s, "a1").await?;
    assert_eq!(job["Pillar"], "Hot");
    assert_eq!(job["LastModifiedBy"], "ann");
    for (column, value) in [("Status", 0), ("AttemptCount", 0), ("Priority", 10), ("ResurrectCount", 1)] {
        assert_eq!(job[column], value, "{column}");
    }
    for column in
        ["WorkerId", "HeartbeatUtc", "StartedAtUtc", "FetchedAtUtc", "ScheduledAtUtc", "IdempotencyKey", "ErrorDetails"]
    {
        assert_eq!(job[column], Value::Null, "{column}");
    }
    for column in ["Queue", "Type", "Payload", "Tags", "CreatedAtUtc", "CreatedBy"] {
        assert_eq!(job[column], before[column], "{column}");
    }
    let stats = arrange::stats(&mut s, "q").await?;
    assert_eq!(stats["ResurrectedTotal"], 1);
    assert_eq!(stats["FailedTotal"], 0);
    arrange::take(&mut s, "q", "a1", true).await
}

async fn a_job_is_repaired_and_resurrected_in_one_step(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::dead(&mut s, "q", "a1").await?;
    let args =
        args! { JobId: "a1", NewPayload: r#"{"ok":true}"#, NewTags: "fixed", NewPriority: 30, ResurrectedBy: "ann" };
    assert_eq!(s.outcome("Resurrect", args).await?, "resurrected");
    let job = arrange::job(&mut s, "a1").await?;
    assert_eq!(job["Payload"], r#"{"ok":true}"#);
    assert_eq!(job["Tags"], "fixed");
    assert_eq!(job["Priority"], 30);
    let rows = arrange::history(&mut s, "a1").await?;
    assert_eq!(rows[0]["OldPayload"], "{}");
    assert_eq!(rows[0]["OldPriority"], 10);
    Ok(())
}

async fn a_resurrection_may_wait(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::dead(&mut s, "q", "a1").await?;
    let now = s.now().await?;
    s.call("Resurrect", args! { JobId: "a1", ResurrectedBy: "ann", DelaySeconds: 60 }).await?;
    let job = arrange::job(&mut s, "a1").await?;
    assert!(arrange::close(job.time("DueAtUtc"), now + Duration::MINUTE));
    assert_eq!(job["ScheduledAtUtc"], job["DueAtUtc"]);
    assert!(arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?.is_empty());
    Ok(())
}

async fn a_key_is_cleared_unless_it_is_kept(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (id, keep) in [("a1", false), ("a2", true)] {
        s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: id, IdempotencyKey: id }).await?;
        arrange::kill(&mut s, id).await?;
        s.call("Resurrect", args! { JobId: id, ResurrectedBy: "ann", KeepIdempotencyKey: keep }).await?;
    }
    assert_eq!(arrange::job(&mut s, "a1").await?["IdempotencyKey"], Value::Null);
    assert_eq!(arrange::job(&mut s, "a2").await?["IdempotencyKey"], "a2");
    assert_eq!(arrange::history(&mut s, "a1").await?[0]["OldIdempotencyKey"], "a1");
    Ok(())
}

async fn a_kept_key_that_is_taken_leaves_the_job_in_the_dlq(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: "old", IdempotencyKey: "k" }).await?;
    arrange::kill(&mut s, "old").await?;
    s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: "new", IdempotencyKey: "k" }).await?;
    let row = s.call_one("Resurrect", args! { JobId: "old", ResurrectedBy: "ann", KeepIdempotencyKey: true }).await?;
    assert_eq!(row["Outcome"], "key_conflict");
    assert_eq!(row["Queue"], "q");
    assert_eq!(arrange::pillar(&mut s, "old").await?, "DLQ");
    assert!(arrange::history(&mut s, "old").await?.is_empty());
    assert_eq!(s.outcome("Resurrect", args! { JobId: "old", ResurrectedBy: "ann" }).await?, "resurrected");
    Ok(())
}

async fn a_resurrection_of_a_state_no_longer_there_is_refused(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::dead(&mut s, "q", "a1").await?;
    let read = arrange::job(&mut s, "a1").await?.int("Revision");
    s.call("UpdateDLQJobData", args! { JobId: "a1", Tags: "x", ModifiedBy: "bob" }).await?;
    let row = s.call_one("Resurrect", args! { JobId: "a1", ResurrectedBy: "ann", ExpectedRevision: read }).await?;
    assert_eq!(row["Outcome"], "changed");
    assert_eq!(row["Queue"], "q");
    assert_eq!(arrange::pillar(&mut s, "a1").await?, "DLQ");
    let read = arrange::job(&mut s, "a1").await?.int("Revision");
    let args = args! { JobId: "a1", ResurrectedBy: "ann", ExpectedRevision: read };
    assert_eq!(s.outcome("Resurrect", args).await?, "resurrected");
    Ok(())
}

async fn what_is_not_in_the_dlq_is_not_found(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "q", "hot").await?;
    arrange::archived(&mut s, "r", "done").await?;
    for id in ["hot", "done", "nobody"] {
        let row = s.call_one("Resurrect", args! { JobId: id, ResurrectedBy: "ann" }).await?;
        assert_eq!(row["Outcome"], "not_found", "{id}");
        assert_eq!(row["Queue"], Value::Null, "{id}");
    }
    Ok(())
}

async fn malformed_json_is_refused_unless_allowed(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::dead(&mut s, "q", "a1").await?;
    let result = s.call("Resurrect", args! { JobId: "a1", NewPayload: "{\"a\" 1}", ResurrectedBy: "ann" }).await;
    assert_refused(result, db.engine, Code::InvalidJson, "NewPayload");
    assert_eq!(arrange::pillar(&mut s, "a1").await?, "DLQ");
    let args = args! { JobId: "a1", NewPayload: "{\"a\" 1}", ResurrectedBy: "ann", AllowInvalidJson: true };
    assert_eq!(s.outcome("Resurrect", args).await?, "resurrected");
    assert_eq!(arrange::job(&mut s, "a1").await?["Payload"], "{\"a\" 1}");
    Ok(())
}

async fn a_resurrection_keeps_the_evidence_in_the_history(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "a1").await?;
    arrange::kill(&mut s, "a1").await?;
    let dead = arrange::job(&mut s, "a1").await?;
    s.call("Resurrect", args! { JobId: "a1", ResurrectedBy: "ann" }).await?;
    let rows = arrange::history(&mut s, "a1").await?;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["Action"], "resurrected");
    assert_eq!(rows[0]["Actor"], "ann");
    for column in ["Queue", "Type", "FailureReason", "ErrorDetails", "AttemptCount", "FailedAtUtc"] {
        assert_eq!(rows[0][column], dead[column], "{column}");
    }
    assert_eq!(rows[0]["OldPayload"], Value::Null);
    Ok(())
}

async fn a_resurrected_job_takes_its_turn_by_the_time_it_came_back(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::dead(&mut s, "q", "oldest").await?;
    arrange::pending(&mut s, "q", "second").await?;
    s.call("Resurrect", args! { JobId: "oldest", ResurrectedBy: "ann" }).await?;
    arrange::pending(&mut s, "q", "third").await?;
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?, ["second", "oldest", "third"]);
    Ok(())
}

async fn several_jobs_are_resurrected_in_one_transaction(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::dead(&mut s, "q", "a").await?;
    arrange::dead(&mut s, "r", "b").await?;
    arrange::pending(&mut s, "q", "hot").await?;
    let ids = ["nobody", "b", "a", "b", "hot"];
    let rows = s.call("ResurrectJobs", args! { JobIds: ids, ResurrectedBy: "ann" }).await?;
    assert_eq!(rows.texts("JobId"), ["nobody", "b", "a", "hot"]);
    assert_eq!(rows.texts("Outcome"), ["not_found", "resurrected", "resurrected", "not_found"]);
    for id in ["a", "b"] {
        let job = arrange::job(&mut s, id).await?;
        assert_eq!(job["ResurrectCount"], 1);
        assert_eq!(job["LastModifiedBy"], "ann");
    }
    let sql = "SELECT COUNT(DISTINCT BatchId) AS N FROM chokaq.OperatorHistory WHERE Action = 'resurrected'";
    assert_eq!(s.count(sql, &[]).await?, 1);
    /* In the order of the ids given. */
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?, ["hot", "b", "a"]);
    Ok(())
}

async fn many_resurrections_keep_the_evidence_too(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for procedure in ["ResurrectJobs", "ResurrectBatch"] {
        let enqueue =
            args! { Queue: "q", Type: "t", JobId: procedure, Priority: 7, IdempotencyKey: procedure, Tags: "x" };
        s.call("Enqueue", enqueue).await?;
        arrange::kill(&mut s, procedure).await?;
        let dead = arrange::job(&mut s, procedure).await?;
        s.call(procedure, args! { JobIds: [procedure], ResurrectedBy: "ann" }).await?;
        let job = arrange::job(&mut s, procedure).await?;
        assert_eq!(job["Priority"], 10);
        assert_eq!(job["IdempotencyKey"], Value::Null);
        assert_eq!(job["Tags"], "x");
        let rows = arrange::history(&mut s, procedure).await?;
        assert_eq!(rows.len(), 1);
        for (column, value) in [("Action", "resurrected"), ("Actor", "ann"), ("OldIdempotencyKey", procedure)] {
            assert_eq!(rows[0][column], value, "{column}");
        }
        assert_eq!(rows[0]["OldPriority"], 7);
        for column in ["Queue", "Type", "FailureReason", "ErrorDetails", "AttemptCount", "FailedAtUtc"] {
            assert_eq!(rows[0][column], dead[column], "{column}");
        }
    }
    Ok(())
}

async fn any_number_of_jobs_is_resurrected_in_batches(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let mut ids = arrange::ids("j", 25);
    arrange::many_dead(&mut s, "q", &ids).await?;
    ids.extend(["nobody".to_owned(), "j00003".to_owned()]);
    let row = s.call_one("ResurrectBatch", args! { JobIds: &ids, ResurrectedBy: "ann", BatchSize: 10 }).await?;
    for (column, value) in [
        ("RequestedCount", 26),
        ("ResurrectedCount", 25),
        ("NotFoundCount", 1),
        ("ConflictCount", 0),
        ("BatchCount", 3),
    ] {
        assert_eq!(row[column], value, "{column}");
    }
    assert_eq!(arrange::stats(&mut s, "q").await?["PendingCount"], 25);
    Ok(())
}

async fn a_batch_of_no_ids_does_nothing(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let none: [&str; 0] = [];
    assert!(s.call("ResurrectJobs", args! { JobIds: none, ResurrectedBy: "ann" }).await?.rows.is_empty());
    let row = s.call_one("ResurrectBatch", args! { JobIds: none, ResurrectedBy: "ann" }).await?;
    assert_eq!((row.int("RequestedCount"), row.int("ResurrectedCount"), row.int("BatchCount")), (0, 0, 0));
    let result = s.call("ResurrectBatch", args! { JobIds: none, ResurrectedBy: "" }).await;
    assert_refused(result, db.engine, Code::InvalidArgument, "ResurrectedBy");
    Ok(())
}

async fn four_thousand_ids_are_the_most_of_one_transaction(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let ids = arrange::ids("j", 4_001);
    let result = s.call("ResurrectJobs", args! { JobIds: &ids, ResurrectedBy: "ann" }).await;
    assert_refused(result, db.engine, Code::InvalidArgument, "JobIds");
    let rows = s.call("ResurrectJobs", args! { JobIds: &ids[1..], ResurrectedBy: "ann" }).await?;
    assert_eq!(rows.rows.len(), 4_000);
    Ok(())
}
