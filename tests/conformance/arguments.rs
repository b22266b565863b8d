//! Every parameter of every procedure refuses what the contract does not allow, naming itself, and changes nothing.

use chokaq_tests::contract::{self, Parameter, Procedure};
use chokaq_tests::error::parameter_on;
use chokaq_tests::{Args, Code, Db, Engine, Result, Scenario, SqlError, Value, args, scenarios};

use crate::{arrange, snapshot};

pub const SCENARIOS: &[Scenario] = scenarios![
    every_parameter_refuses_what_is_not_allowed,
    every_name_may_be_as_long_as_its_column,
    names_in_sets_and_of_queues_may_be_as_long,
    sets_that_are_no_json_array_are_refused,
];

async fn every_parameter_refuses_what_is_not_allowed(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "q", "a1").await?;
    arrange::dead(&mut s, "q", "a2").await?;
    arrange::archived(&mut s, "r", "a3").await?;
    let before = snapshot::take(&mut s).await?;
    let mut problems = Vec::new();
    for procedure in contract::PROCEDURES.iter() {
        for parameter in &procedure.parameters {
            for value in refused(procedure, parameter) {
                let result = s.call(&procedure.name, with(procedure, &parameter.name, value.clone())).await;
                if let Some(problem) = problem(db.engine, &parameter.name, result.map(|_| ())) {
                    problems.push(format!("{} {} = {value:.60?}: {problem}", procedure.name, parameter.name));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert_eq!(snapshot::take(&mut s).await?, before);
    Ok(())
}

/// The longest names there are, once in plain letters and once in emoji, which are two UTF-16 units each.
async fn every_name_may_be_as_long_as_its_column(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for letter in ["ä", "🙂"] {
        let long = |limit: usize| letter.repeat(limit / letter.encode_utf16().count());
        let args = args! {
            Queue: long(255), Type: long(255), JobId: long(50), Tags: long(1000), IdempotencyKey: long(255),
            CreatedBy: long(100),
        };
        assert_eq!(s.outcome("Enqueue", args).await?, "enqueued");
        let row = s.call_one("FetchNextBatch", args! { WorkerId: long(100), Queues: [&*long(255)] }).await?;
        for (column, limit) in
            [("JobId", 50), ("Queue", 255), ("Type", 255), ("Tags", 1000), ("IdempotencyKey", 255), ("CreatedBy", 100)]
        {
            assert_eq!(row[column], long(limit), "{column}");
        }
        assert_eq!(s.outcome("MarkAsProcessing", args! { JobId: long(50), WorkerId: long(100) }).await?, "started");
        let args = args! { JobId: long(50), FailureReason: 6, WorkerId: long(100), MovedBy: long(100) };
        assert_eq!(s.outcome("MoveToDLQ", args).await?, "moved");
        let args = args! { JobId: long(50), Tags: long(1000), ModifiedBy: long(100) };
        assert_eq!(s.outcome("UpdateDLQJobData", args).await?, "updated");
        let args = args! { JobId: long(50), NewTags: long(1000), ResurrectedBy: long(100) };
        assert_eq!(s.outcome("Resurrect", args).await?, "resurrected");
        assert_eq!(arrange::job(&mut s, &long(50)).await?["LastModifiedBy"], long(100));
    }
    Ok(())
}

/// The same where names come in sets, and where no job is.
async fn names_in_sets_and_of_queues_may_be_as_long(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for letter in ["ä", "🙂"] {
        let long = |limit: usize| letter.repeat(limit / letter.encode_utf16().count());
        let [queue, actor, id] = [255, 100, 50].map(long);
        let args = args! { Queue: &queue, IsPaused: false, ModifiedBy: &actor };
        assert_eq!(s.outcome("SetQueuePaused", args).await?, "created");
        let row = s.call_one("GetQueues", args! { Queue: &queue }).await?;
        assert_eq!((row.text("Queue"), row.text("LastModifiedBy")), (queue.clone(), actor.clone()));

        s.call("Enqueue", args! { Queue: &queue, Type: long(255), JobId: &id, Tags: long(1000) }).await?;
        let fetch = args! { WorkerId: &actor, Queues: [&*queue] };
        let ids = || args! { JobIds: [&*id] };
        let and = |mut args: Args, more: Args| {
            args.extend(more);
            args
        };
        s.call("FetchNextBatch", fetch.clone()).await?;
        let row = s.call_one("ReleaseWorker", args! { WorkerId: &actor }).await?;
        assert_eq!(row["ReleasedCount"], 1);
        assert_eq!(s.outcome("CancelJobs", and(ids(), args! { CancelledBy: &actor })).await?, "cancelled");
        let row = s.call_one("SummarizeDLQ", args! { Queue: &queue, Type: long(255) }).await?;
        assert_eq!((row.text("Queue"), row.text("Type")), (queue.clone(), long(255)));
        assert_eq!(s.outcome("ResurrectJobs", and(ids(), args! { ResurrectedBy: &actor })).await?, "resurrected");
        let acts = s.call("GetJobHistory", args! { JobId: &id }).await?;
        assert_eq!(acts.texts("Actor"), [&*actor, &*actor]);

        s.call("FetchNextBatch", fetch).await?;
        let started = s.outcome("MarkJobsAsProcessing", and(ids(), args! { WorkerId: &actor })).await?;
        assert_eq!(started, "started");
        let jobs = serde_json::json!([{"jobId": id, "attempt": 1}]);
        assert_eq!(s.outcome("ArchiveSucceededJobs", args! { Jobs: jobs, WorkerId: &actor }).await?, "archived");
        let job = arrange::job(&mut s, &id).await?;
        for (column, limit) in [("Queue", 255), ("Type", 255), ("Tags", 1000), ("WorkerId", 100)] {
            assert_eq!(job[column], long(limit), "{column}");
        }
    }
    Ok(())
}

/// PostgreSQL's driver already refuses these by type; in T-SQL a set arrives as text.
async fn sets_that_are_no_json_array_are_refused(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let mut problems = Vec::new();
    for procedure in contract::PROCEDURES.iter() {
        for parameter in procedure.parameters.iter().filter(|p| ["JobIds", "Queues", "Jobs"].contains(&&*p.name)) {
            let values: Vec<Value> = match db.engine {
                Engine::Mssql => {
                    ["", "a1", "{\"a\": 1}", "[\"a\"", "[1]", "[[\"a\"]]", "[{}]", "null"].map(Value::from).into()
                }
                Engine::Postgres if parameter.name == "Jobs" => ["{}", "1", "\"a\"", "null", "[1]", "[[]]"]
                    .map(|text| Value::Json(serde_json::from_str(text).unwrap_or_default()))
                    .into(),
                Engine::Postgres => vec![],
            };
            for value in values {
                let result = s.call(&procedure.name, with(procedure, &parameter.name, value.clone())).await;
                if let Some(problem) = problem(db.engine, &parameter.name, result.map(|_| ())) {
                    problems.push(format!("{} {} = {value:?}: {problem}", procedure.name, parameter.name));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

fn problem(engine: Engine, parameter: &str, result: Result<(), SqlError>) -> Option<String> {
    match result {
        Ok(()) => Some("was taken".to_owned()),
        Err(error) => {
            /* A malformed array of arguments is InvalidJson or InvalidArgument, as far as it could be read. */
            let is_array = ["JobIds", "Queues", "Jobs"].contains(&parameter);
            let coded = error.is(Code::InvalidArgument, engine) || is_array && error.is(Code::InvalidJson, engine);
            let name = parameter_on(engine, parameter);
            let said = if is_array { &["must", "element 1:", "is not valid JSON:"][..] } else { &["must"] };
            let named = said.iter().any(|said| error.message.contains(&format!("{name} {said}")));
            (!coded || !named).then(|| error.to_string())
        }
    }
}

/// A call that would be fine, but for the one argument.
pub fn with(procedure: &'static Procedure, parameter: &str, value: Value) -> Args {
    let mut args: Args = procedure
        .parameters
        .iter()
        .filter(|p| p.name != parameter)
        .filter_map(|p| Some((&*p.name, fine(p)?)))
        .collect();
    if let Some(p) = procedure.parameters.iter().find(|p| p.name == parameter) {
        args.push((&p.name, value));
    }
    args
}

/// Given although they need not be: without a payload an edit has nothing to do, without a number a policy changes
/// nothing, without a time a page has no beginning, and without a filter there is no bulk call.
const GIVEN: [&str; 5] = ["Payload", "MaxAttempts", "BeforeFailedAtUtc", "AfterFailedAtUtc", "FailureReason"];

/// A value for each parameter that must be given, and for some more.
fn fine(parameter: &Parameter) -> Option<Value> {
    if parameter.default.is_some() && !GIVEN.contains(&&*parameter.name) {
        return None;
    }
    Some(match &*parameter.name {
        "Payload" => "{}".into(),
        "Queue" => "q".into(),
        "Type" => "t".into(),
        "JobId" => "a2".into(),
        "ErrorDetails" => "e".into(),
        "FailureReason" => 6.into(),
        "Attempt" => 1.into(),
        "JobIds" => ["a2"].into(),
        "Jobs" => serde_json::json!([]).into(),
        "IsPaused" | "IsActive" => true.into(),
        "MaxWorkers" | "ZombieTimeoutSeconds" | "MaxAttempts" => 3.into(),
        "OlderThanUtc" | "BeforeFailedAtUtc" | "AfterFailedAtUtc" => {
            time::macros::datetime!(2020-01-01 00:00 UTC).into()
        }
        "WorkerId" | "ModifiedBy" | "ResurrectedBy" | "CancelledBy" | "PurgedBy" => "ann".into(),
        other => unreachable!("no value is known for {other}"),
    })
}

/// What each parameter must refuse. A new parameter has to be named here, if only to say that it takes anything.
fn refused(procedure: &Procedure, parameter: &Parameter) -> Vec<Value> {
    let mut values: Vec<Value> = match &*parameter.name {
        "JobId" => bad_names(50),
        "Queue" | "Type" | "IdempotencyKey" => bad_names(255),
        "WorkerId" | "CreatedBy" | "MovedBy" | "ModifiedBy" | "ResurrectedBy" | "CancelledBy" | "PurgedBy" => {
            bad_names(100)
        }
        "Tags" | "NewTags" => vec!["x".repeat(1001).into(), "🙂".repeat(501).into()],
        "BatchSize" | "CleanupBatchSize" => {
            let most = match &*procedure.name {
                "FetchNextBatch" => 1000,
                "FoldCounters" => 100_000,
                _ => 4000,
            };
            vec![0.into(), (-1).into(), (most + 1).into(), Value::Null]
        }
        "Limit" => vec![0.into(), 1001.into(), Value::Null],
        "MaxBatches" => vec![0.into(), (-1).into()],
        "MaxJobs" => vec![0.into(), (-1).into(), Value::Null],
        "FailureReason" => vec![(-1).into(), 12.into()],
        "Attempt" => vec![if procedure.name == "MoveToDLQ" { (-1).into() } else { 0.into() }],
        "DelaySeconds" => vec![(-1).into(), Value::Null],
        "RetryAfterSeconds" | "TimeoutSeconds" => vec![(-1).into()],
        "Priority" if procedure.name == "Enqueue" => vec![Value::Null],
        "ResurrectCount" => vec![(-1).into()],
        "Search" => vec!["".into(), "x".repeat(4001).into()],
        "AfterQueue" => vec!["x".repeat(256).into(), "🙂".repeat(128).into()],
        "AfterJobId" | "BeforeJobId" => vec!["x".repeat(51).into(), "🙂".repeat(26).into()],
        "StartNow" | "ClearPayload" | "ClearTags" | "AllowInvalidJson" | "KeepIdempotencyKey" | "WhatIf"
        | "IsPaused" | "IsActive" | "ClearMaxJobAge" => vec![Value::Null],
        "MaxAttempts" | "MaxJobAgeSeconds" => vec![0.into(), (-1).into()],
        "BackoffMultiplier" => vec![0.999.into(), 1_000.001.into()],
        "BaseDelaySeconds" | "MaxDelaySeconds" | "JitterSeconds" => vec![(-1).into()],
        /* NULL is a value of these: no limit, the usual timeout. */
        "MaxWorkers" => return vec![(-1).into()],
        "ZombieTimeoutSeconds" => return vec![0.into(), (-1).into()],
        "JobIds" => [Value::Null]
            .into_iter()
            .chain(bad_names(50).into_iter().map(in_a_set))
            .chain([in_a_set(Value::Null)])
            .collect(),
        "Queues" => bad_names(255).into_iter().map(in_a_set).chain([in_a_set(Value::Null)]).collect(),
        "Jobs" => vec![Value::Null],
        "OlderThanUtc" => vec![],
        "AfterAtUtc" | "AfterFailedAtUtc" | "AfterFinishedAtUtc" | "AfterHistoryId" | "BeforeFailedAtUtc"
        | "DurationMs" | "ErrorDetails" | "ExpectedRevision" | "FromUtc" | "NewPayload" | "NewPriority" | "Payload"
        | "Priority" | "Reason" | "ScheduledAtUtc" | "ToUtc" => return vec![],
        other => unreachable!("nothing is known of {other}"),
    };
    let must_be_given = parameter.default.is_none()
        || procedure.name == "RecoverAbandoned" && parameter.name == "TimeoutSeconds"
        || procedure.name == "RecoverAbandonedBatch" && parameter.name == "TimeoutSeconds";
    if must_be_given && !values.contains(&Value::Null) {
        values.push(Value::Null);
    }
    values
}

/// Empty, too long by one and beyond any type, in letters and in UTF-16 units, and with white space of several kinds at
/// an end.
fn bad_names(limit: usize) -> Vec<Value> {
    let mut names = vec![String::new(), "x".repeat(limit + 1), "🙂".repeat(limit / 2 + 1), " ".to_owned()];
    names.extend(["x".repeat(9_000), "🙂".repeat(4_500)]);
    for space in [" ", "\t", "\n", "\u{a0}", "\u{3000}", "\u{2003}"] {
        names.push(format!("{space}x"));
        names.push(format!("x{space}"));
    }
    names.into_iter().map(Value::from).collect()
}

fn in_a_set(value: Value) -> Value {
    let element = match value {
        Value::Text(text) => Some(text),
        _ => None,
    };
    Value::Set(vec![Some("a1".to_owned()), element])
}
