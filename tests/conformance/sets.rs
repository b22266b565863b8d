//! usp_MarkJobsAsProcessing and usp_ArchiveSucceededJobs: start and success of many jobs in one transaction.

use chokaq_tests::{
    Code, Db, Engine, Result, Rows, Scenario, Session, SqlError, Value, args, assert_refused, scenarios,
};
use serde_json::{Value as Json, json};

use crate::arrange::{self, assert_outcomes};

pub const SCENARIOS: &[Scenario] = scenarios![
    several_fetched_jobs_are_started_at_once,
    starting_a_set_again_says_so_and_counts_no_attempt,
    each_job_that_cannot_be_started_says_why,
    a_thousand_ids_are_the_most_of_one_start,
    several_jobs_that_ran_well_are_archived_at_once,
    each_job_that_cannot_be_archived_says_why,
    a_job_mentioned_again_is_archived_as_it_was_mentioned_first,
    a_late_run_in_a_set_ends_nothing,
    a_duration_in_a_set_that_is_none_is_no_value_and_no_error,
    a_poison_row_stops_no_other_job_of_a_set,
    a_thousand_jobs_are_the_most_of_one_archiving,
    a_job_that_is_not_well_formed_is_refused_with_its_place,
    a_set_of_none_does_nothing,
];

async fn start(s: &mut Session, ids: impl Into<Value>) -> Result<Rows> {
    Ok(s.call("MarkJobsAsProcessing", args! { JobIds: ids.into(), WorkerId: "w1" }).await?)
}

async fn archive(s: &mut Session, jobs: Json) -> Result<Rows, SqlError> {
    s.call("ArchiveSucceededJobs", args! { Jobs: jobs, WorkerId: "w1" }).await
}

/// Pending jobs of queue `theirs`, fetched by `w2`.
async fn fetched_by_another(s: &mut Session, id: &str) -> Result<()> {
    arrange::pending(s, "theirs", id).await?;
    assert_eq!(arrange::fetch(s, args! { WorkerId: "w2", Queues: ["theirs"] }).await?, [id]);
    Ok(())
}

async fn several_fetched_jobs_are_started_at_once(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for id in ["a", "b", "c"] {
        arrange::fetched(&mut s, "q", id).await?;
    }
    arrange::backdate(&mut s, "q", "HeartbeatUtc", 100).await?;
    let rows = start(&mut s, ["c", "nobody", "a", "c"]).await?;
    assert_outcomes(&rows, &[("c", "started"), ("nobody", "not_found"), ("a", "started")]);
    assert_eq!(rows.column("AttemptCount"), [Value::Int(1), Value::Null, Value::Int(1)]);
    for id in ["a", "c"] {
        let job = arrange::job(&mut s, id).await?;
        assert_eq!(job["Status"], 2);
        assert_eq!(job["AttemptCount"], 1);
        assert_eq!(job["WorkerId"], "w1");
        assert_eq!(job["HeartbeatUtc"], job["StartedAtUtc"]);
        assert!(arrange::close(job.time("StartedAtUtc"), s.now().await?));
    }
    assert_eq!(arrange::job(&mut s, "b").await?["Status"], 1);
    let stats = arrange::stats(&mut s, "q").await?;
    assert_eq!((stats.int("FetchedCount"), stats.int("ProcessingCount")), (1, 2));
    Ok(())
}

async fn starting_a_set_again_says_so_and_counts_no_attempt(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "running").await?;
    arrange::fetched(&mut s, "q", "fetched").await?;
    for outcome in ["started", "already_started", "already_started"] {
        let rows = start(&mut s, ["running", "fetched"]).await?;
        assert_outcomes(&rows, &[("running", "already_started"), ("fetched", outcome)]);
        assert_eq!(rows.column("AttemptCount"), [1, 1].map(Value::Int));
    }
    /* A second attempt counts on from the first. */
    s.call("RescheduleForRetry", args! { JobId: "fetched" }).await?;
    arrange::take(&mut s, "q", "fetched", false).await?;
    let rows = start(&mut s, ["fetched"]).await?;
    assert_outcomes(&rows, &[("fetched", "started")]);
    assert_eq!(rows.one()["AttemptCount"], 2);
    Ok(())
}

async fn each_job_that_cannot_be_started_says_why(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    fetched_by_another(&mut s, "theirs").await?;
    arrange::archived(&mut s, "q", "done").await?;
    arrange::dead(&mut s, "q", "dead").await?;
    arrange::fetched(&mut s, "q", "fetched").await?;
    arrange::pending(&mut s, "q", "pending").await?;
    let rows = start(&mut s, ["pending", "theirs", "done", "Fetched", "nobody", "dead", "fetched"]).await?;
    let expected = [
        ("pending", "not_fetched", Value::Int(0)),
        ("theirs", "not_owner", Value::Int(0)),
        ("done", "not_found", Value::Null),
        ("Fetched", "not_found", Value::Null),
        ("nobody", "not_found", Value::Null),
        ("dead", "not_found", Value::Null),
        ("fetched", "started", Value::Int(1)),
    ];
    assert_outcomes(&rows, &expected.each_ref().map(|(id, outcome, _)| (*id, *outcome)));
    assert_eq!(rows.column("AttemptCount"), expected.map(|(_, _, attempts)| attempts));
    /* A worker's name compares to the letter. */
    let rows = s.call("MarkJobsAsProcessing", args! { JobIds: ["fetched", "theirs"], WorkerId: "W1" }).await?;
    assert_outcomes(&rows, &[("fetched", "not_owner"), ("theirs", "not_owner")]);
    for (id, status) in [("pending", 0), ("theirs", 1), ("fetched", 2)] {
        assert_eq!(arrange::job(&mut s, id).await?["Status"], status, "{id}");
    }
    Ok(())
}

async fn a_thousand_ids_are_the_most_of_one_start(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let ids = arrange::ids("j", 1_001);
    arrange::many_pending(&mut s, "q", &ids).await?;
    arrange::fetch(&mut s, args! { WorkerId: "w1", BatchSize: 1_000 }).await?;
    let result = s.call("MarkJobsAsProcessing", args! { JobIds: &ids, WorkerId: "w1" }).await;
    assert_refused(result, db.engine, Code::InvalidArgument, "JobIds");
    assert_eq!(arrange::stats(&mut s, "q").await?["FetchedCount"], 1_000);
    let rows = start(&mut s, &ids[..1_000]).await?;
    assert_eq!(rows.texts("JobId"), ids[..1_000]);
    assert!(rows.rows.iter().all(|row| row["Outcome"] == "started"));
    assert_eq!(arrange::stats(&mut s, "q").await?["ProcessingCount"], 1_000);
    Ok(())
}

async fn several_jobs_that_ran_well_are_archived_at_once(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let args = args! {
        Queue: "q", Type: "t", JobId: "a", Payload: "p", Tags: "x", Priority: 4, IdempotencyKey: "k", CreatedBy: "me",
    };
    s.call("Enqueue", args).await?;
    arrange::take(&mut s, "q", "a", true).await?;
    arrange::processing(&mut s, "r", "b").await?;
    arrange::processing(&mut s, "q", "c").await?;
    let before = arrange::job(&mut s, "a").await?;
    let jobs = json!([
        {"jobId": "b"},
        {"jobId": "a", "attempt": 1, "durationMs": 12.5, "resurrectCount": 0},
        {"jobId": "c", "attempt": null, "durationMs": null, "resurrectCount": null},
    ]);
    assert_outcomes(&archive(&mut s, jobs).await?, &[("b", "archived"), ("a", "archived"), ("c", "archived")]);
    let job = arrange::job(&mut s, "a").await?;
    assert_eq!(job["Pillar"], "Archive");
    assert_eq!(job["DurationMs"], Value::Float(12.5));
    assert!(arrange::close(job.time("FinishedAtUtc"), s.now().await?));
    for column in [
        "Queue",
        "Type",
        "Payload",
        "Tags",
        "Priority",
        "IdempotencyKey",
        "CreatedBy",
        "CreatedAtUtc",
        "AttemptCount",
        "WorkerId",
        "StartedAtUtc",
        "ScheduledAtUtc",
        "LastModifiedBy",
        "ResurrectCount",
        "Revision",
    ] {
        assert_eq!(job[column], before[column], "{column}");
    }
    for id in ["b", "c"] {
        assert_eq!(arrange::job(&mut s, id).await?["DurationMs"], Value::Null, "{id}");
    }
    for (queue, succeeded) in [("q", 2), ("r", 1)] {
        let stats = arrange::stats(&mut s, queue).await?;
        assert_eq!((stats.int("SucceededTotal"), stats.int("ProcessingCount")), (succeeded, 0), "{queue}");
    }
    Ok(())
}

async fn each_job_that_cannot_be_archived_says_why(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    fetched_by_another(&mut s, "theirs").await?;
    arrange::archived(&mut s, "q", "done").await?;
    arrange::dead(&mut s, "q", "dead").await?;
    for id in ["running", "stale", "again", "ours"] {
        arrange::processing(&mut s, "q", id).await?;
    }
    arrange::fetched(&mut s, "q", "fetched").await?;
    arrange::pending(&mut s, "q", "pending").await?;
    let jobs = json!([
        {"jobId": "stale", "attempt": 2},
        {"jobId": "theirs"},
        {"jobId": "pending"},
        {"jobId": "done", "attempt": 1},
        {"jobId": "running", "attempt": 1},
        {"jobId": "fetched", "attempt": 1},
        {"jobId": "Running", "attempt": 1},
        {"jobId": "dead", "attempt": 1},
        {"jobId": "nobody"},
        {"jobId": "again", "resurrectCount": 1},
    ]);
    let expected = [
        ("stale", "stale_attempt"),
        ("theirs", "not_owner"),
        ("pending", "not_processing"),
        ("done", "already_archived"),
        ("running", "archived"),
        ("fetched", "not_processing"),
        ("Running", "not_found"),
        ("dead", "not_found"),
        ("nobody", "not_found"),
        ("again", "stale_attempt"),
    ];
    assert_outcomes(&archive(&mut s, jobs).await?, &expected);
    let rows = s.call("ArchiveSucceededJobs", args! { Jobs: json!([{"jobId": "ours"}]), WorkerId: "W1" }).await?;
    assert_outcomes(&rows, &[("ours", "not_owner")]);
    let repeated = json!([{"jobId": "done", "attempt": 2}, {"jobId": "running", "attempt": 1}]);
    let expected = [("done", "stale_attempt"), ("running", "already_archived")];
    assert_outcomes(&archive(&mut s, repeated).await?, &expected);
    for (id, status) in [("stale", 2), ("again", 2), ("ours", 2), ("theirs", 1), ("fetched", 1), ("pending", 0)] {
        assert_eq!(arrange::job(&mut s, id).await?["Status"], status, "{id}");
    }
    assert_eq!(arrange::stats(&mut s, "q").await?["SucceededTotal"], 2);
    Ok(())
}

async fn a_job_mentioned_again_is_archived_as_it_was_mentioned_first(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for id in ["a", "b"] {
        arrange::processing(&mut s, "q", id).await?;
    }
    let jobs = json!([
        {"jobId": "b", "attempt": 2, "durationMs": 1},
        {"jobId": "a", "attempt": 1, "durationMs": 2},
        {"jobId": "b", "attempt": 1, "durationMs": 3},
        {"jobId": "a", "attempt": 2, "durationMs": 4},
    ]);
    assert_outcomes(&archive(&mut s, jobs).await?, &[("b", "stale_attempt"), ("a", "archived")]);
    assert_eq!(arrange::job(&mut s, "a").await?["DurationMs"], Value::Float(2.0));
    assert_eq!(arrange::job(&mut s, "b").await?["Status"], 2);
    Ok(())
}

/// Neither an old attempt nor a run from before a resurrection, whose attempts count from 0 again.
async fn a_late_run_in_a_set_ends_nothing(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for id in ["retried", "resurrected"] {
        arrange::processing(&mut s, id, id).await?;
    }
    s.call("RescheduleForRetry", args! { JobId: "retried" }).await?;
    arrange::take(&mut s, "retried", "retried", true).await?;
    arrange::kill(&mut s, "resurrected").await?;
    s.call("Resurrect", args! { JobId: "resurrected", ResurrectedBy: "ann" }).await?;
    arrange::take(&mut s, "resurrected", "resurrected", true).await?;

    let first = json!([
        {"jobId": "retried", "attempt": 1, "resurrectCount": 0},
        {"jobId": "resurrected", "attempt": 1, "resurrectCount": 0},
    ]);
    let second = json!([
        {"jobId": "retried", "attempt": 2, "resurrectCount": 0},
        {"jobId": "resurrected", "attempt": 1, "resurrectCount": 1},
    ]);
    let all = |outcome| [("retried", outcome), ("resurrected", outcome)];
    assert_outcomes(&archive(&mut s, first.clone()).await?, &all("stale_attempt"));
    assert_outcomes(&archive(&mut s, second.clone()).await?, &all("archived"));
    /* The late run did not do it, and is not told that it did. */
    assert_outcomes(&archive(&mut s, first).await?, &all("stale_attempt"));
    assert_outcomes(&archive(&mut s, second).await?, &all("already_archived"));
    Ok(())
}

async fn a_duration_in_a_set_that_is_none_is_no_value_and_no_error(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for id in ["negative", "zero", "endless", "tiny"] {
        arrange::processing(&mut s, "q", id).await?;
    }
    let jobs = json!([{"jobId": "negative", "durationMs": -0.5}, {"jobId": "zero", "durationMs": 0}]);
    assert_outcomes(&archive(&mut s, jobs).await?, &[("negative", "archived"), ("zero", "archived")]);
    assert_eq!(arrange::job(&mut s, "negative").await?["DurationMs"], Value::Null);
    assert_eq!(arrange::job(&mut s, "zero").await?["DurationMs"], Value::Float(0.0));
    /* JSON has no NaN, but numbers that no double precision holds. */
    let jobs = r#"[{"jobId": "endless", "durationMs": 1e400}, {"jobId": "tiny", "durationMs": 1e-400}]"#;
    s.batch(
        &format!("SELECT * FROM chokaq.archive_succeeded_jobs('{jobs}', 'w1')"),
        &format!("EXECUTE chokaq.usp_ArchiveSucceededJobs @Jobs = N'{jobs}', @WorkerId = N'w1'"),
    )
    .await?;
    assert_eq!(arrange::job(&mut s, "endless").await?["DurationMs"], Value::Null);
    for id in ["endless", "tiny"] {
        assert_eq!(arrange::pillar(&mut s, id).await?, "Archive", "{id}");
    }
    Ok(())
}

async fn a_poison_row_stops_no_other_job_of_a_set(db: &Db<'_>) -> Result<()> {
    db.expect_broken_accounts();
    let mut s = db.session().await?;
    for id in ["a", "b", "c"] {
        arrange::processing(&mut s, "q", id).await?;
    }
    arrange::force(&mut s, "b", "JobsArchive").await?;
    let jobs = || json!([{"jobId": "b"}, {"jobId": "c"}, {"jobId": "a"}]);
    let expected = [("b", "id_conflict"), ("c", "archived"), ("a", "archived")];
    assert_outcomes(&archive(&mut s, jobs()).await?, &expected);
    let hot = "SELECT COUNT(*) AS N FROM chokaq.JobsHot WHERE Id = 'b' AND Status = 2 AND WorkerId = 'w1'";
    assert_eq!(s.count(hot, &[]).await?, 1);
    assert_eq!(arrange::stats(&mut s, "q").await?["SucceededTotal"], 2);
    /* Once the owner has mended the tables, the job goes its way. */
    s.sql("DELETE FROM chokaq.JobsArchive WHERE Id = 'b'", &[]).await?;
    let expected = [("b", "archived"), ("c", "already_archived"), ("a", "already_archived")];
    assert_outcomes(&archive(&mut s, jobs()).await?, &expected);
    Ok(())
}

async fn a_thousand_jobs_are_the_most_of_one_archiving(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let ids = arrange::ids("j", 1_001);
    arrange::many_processing(&mut s, "q", &ids).await?;
    let jobs = |ids: &[String]| json!(ids.iter().map(|id| json!({"jobId": id, "attempt": 1})).collect::<Vec<_>>());
    assert_refused(archive(&mut s, jobs(&ids)).await, db.engine, Code::InvalidArgument, "Jobs");
    assert_eq!(arrange::stats(&mut s, "q").await?["ProcessingCount"], 1_001);
    let rows = archive(&mut s, jobs(&ids[..1_000])).await?;
    assert_eq!(rows.texts("JobId"), ids[..1_000]);
    assert!(rows.rows.iter().all(|row| row["Outcome"] == "archived"));
    let stats = arrange::stats(&mut s, "q").await?;
    assert_eq!((stats.int("SucceededTotal"), stats.int("ProcessingCount")), (1_000, 1));
    Ok(())
}

async fn a_job_that_is_not_well_formed_is_refused_with_its_place(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::processing(&mut s, "q", "a").await?;
    for (job, field) in [
        (json!(1), "must be an object"),
        (json!("b"), "must be an object"),
        (json!(null), "must be an object"),
        (json!([{"jobId": "b"}]), "must be an object"),
        (json!({}), "jobId"),
        (json!({"jobId": null}), "jobId"),
        (json!({"jobId": 7}), "jobId"),
        (json!({"jobId": ""}), "jobId"),
        (json!({"jobId": "b "}), "jobId"),
        (json!({"jobId": "b".repeat(51)}), "jobId"),
        (json!({"jobId": "🙂".repeat(26)}), "jobId"),
        (json!({"jobId": "b", "attempt": "1"}), "attempt"),
        (json!({"jobId": "b", "attempt": 0}), "attempt"),
        (json!({"jobId": "b", "attempt": -1}), "attempt"),
        (json!({"jobId": "b", "attempt": 1.5}), "attempt"),
        (json!({"jobId": "b", "attempt": 2_147_483_648_i64}), "attempt"),
        (json!({"jobId": "b", "attempt": true}), "attempt"),
        (json!({"jobId": "b", "resurrectCount": -1}), "resurrectCount"),
        (json!({"jobId": "b", "resurrectCount": "0"}), "resurrectCount"),
        (json!({"jobId": "b", "resurrectCount": 2_147_483_648_i64}), "resurrectCount"),
        (json!({"jobId": "b", "durationMs": "12"}), "durationMs"),
        (json!({"jobId": "b", "durationMs": "NaN"}), "durationMs"),
        (json!({"jobId": "b", "durationMs": {}}), "durationMs"),
        (json!({"jobId": "b", "workerId": "w1"}), "workerId is not a field"),
        (json!({"jobId": "b", "JobId": "b"}), "JobId is not a field"),
        (json!({"jobId": "b", "attempt ": 1}), "attempt  is not a field"),
    ] {
        let error = archive(&mut s, json!([{"jobId": "a"}, job])).await.expect_err(field);
        assert!(error.is(Code::InvalidArgument, db.engine), "{job}: {error}");
        assert!(error.message.contains(&format!(" element 2: {field}")), "{job}: {error}");
        assert!(error.names("Jobs", db.engine), "{job}: {error}");
    }
    /* PostgreSQL's jsonb is never malformed; T-SQL takes text. */
    if db.engine == Engine::Mssql {
        for text in [r#"[{"jobId": "a"}"#, r#"[{"jobId": "a",}]"#, r#"[{'jobId': 'a'}]"#, "[NaN]"] {
            let result = s.call("ArchiveSucceededJobs", args! { Jobs: text, WorkerId: "w1" }).await;
            assert_refused(result, db.engine, Code::InvalidJson, "Jobs");
        }
    }
    assert_eq!(arrange::job(&mut s, "a").await?["Status"], 2);
    Ok(())
}

async fn a_set_of_none_does_nothing(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::fetched(&mut s, "q", "fetched").await?;
    arrange::processing(&mut s, "q", "running").await?;
    let none: [&str; 0] = [];
    assert!(start(&mut s, none).await?.rows.is_empty());
    assert!(archive(&mut s, json!([])).await?.rows.is_empty());
    assert_eq!(arrange::job(&mut s, "fetched").await?["Status"], 1);
    assert_eq!(arrange::job(&mut s, "running").await?["Status"], 2);
    Ok(())
}
