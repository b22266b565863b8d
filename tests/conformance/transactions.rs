//! Joining procedures are part of the caller's transaction; looping ones refuse to be.

use chokaq_tests::contract::{self, Kind};
use chokaq_tests::{Args, Code, Db, Engine, Result, Scenario, Session, SqlError, args, scenarios};
use time::Duration;

use crate::{arrange, snapshot};

pub const SCENARIOS: &[Scenario] = scenarios![
    every_joining_procedure_is_rolled_back_with_its_caller,
    every_joining_procedure_is_committed_with_its_caller,
    every_joining_procedure_commits_by_itself_when_it_is_alone,
    every_looping_procedure_refuses_a_transaction,
    an_error_inside_is_the_callers_to_end,
    an_error_inside_leaves_nothing_open_when_alone,
    a_refused_argument_leaves_the_transaction_to_its_caller,
];

/// One job in every state, in queues named after it, and an act of an operator.
pub async fn world(s: &mut Session) -> Result<()> {
    arrange::pending(s, "pending", "pending").await?;
    arrange::fetched(s, "fetched", "fetched").await?;
    arrange::processing(s, "running", "running").await?;
    arrange::dead(s, "dead", "dead").await?;
    arrange::archived(s, "done", "done").await?;
    s.call("UpdateJobData", args! { JobId: "pending", Tags: "x", ModifiedBy: "ann" }).await?;
    arrange::zero_delta(s, "done").await
}

/// For each joining procedure a call that changes something in that world.
pub async fn joining(s: &mut Session) -> Result<Vec<(&'static str, Args)>> {
    let later = s.now().await? + Duration::DAY;
    let owner = || args! { JobId: "running", WorkerId: "w1", Attempt: 1 };
    let and = |mut args: Args, more: Args| {
        args.extend(more);
        args
    };
    let calls = vec![
        ("Enqueue", args! { Queue: "new", Type: "t", JobId: "new" }),
        ("EnqueueMany", args! { Jobs: serde_json::json!([{"queue": "new", "type": "t"}]) }),
        ("FetchNextBatch", args! { WorkerId: "w2" }),
        ("MarkAsProcessing", args! { JobId: "fetched", WorkerId: "w1" }),
        ("MarkJobsAsProcessing", args! { JobIds: ["fetched"], WorkerId: "w1" }),
        ("KeepAlive", args! { JobIds: ["running"], WorkerId: "w1" }),
        ("ReleaseJob", args! { JobId: "fetched", WorkerId: "w1" }),
        ("ReleaseWorker", args! { WorkerId: "w1" }),
        ("ArchiveSucceeded", owner()),
        ("ArchiveSucceededJobs", args! { Jobs: serde_json::json!([{"jobId": "running"}]), WorkerId: "w1" }),
        ("RescheduleForRetry", owner()),
        ("MoveToDLQ", and(owner(), args! { FailureReason: 6 })),
        ("FailJob", and(owner(), args! { FailureReason: 8, ErrorDetails: "e" })),
        ("RecoverAbandonedBatch", args! { TimeoutSeconds: 0 }),
        ("ArchiveZombiesBatch", args! { TimeoutSeconds: 0 }),
        ("UpdateJobData", args! { JobId: "pending", Payload: "1", ModifiedBy: "ann" }),
        ("UpdateDLQJobData", args! { JobId: "dead", Payload: "1", ModifiedBy: "ann" }),
        ("Resurrect", args! { JobId: "dead", ResurrectedBy: "ann" }),
        ("ResurrectJobs", args! { JobIds: ["dead"], ResurrectedBy: "ann" }),
        ("ResurrectByFilterBatch", args! { Queue: "dead", ResurrectedBy: "ann", WhatIf: false }),
        ("CancelJobs", args! { JobIds: ["pending"], CancelledBy: "ann" }),
        ("PurgeDLQJobs", args! { JobIds: ["dead"], PurgedBy: "ann" }),
        ("PurgeDLQByFilterBatch", args! { Queue: "dead", PurgedBy: "ann", WhatIf: false }),
        ("PurgeArchiveBatch", args! { OlderThanUtc: later }),
        ("PurgeHistoryBatch", args! { OlderThanUtc: later }),
        ("SetQueuePaused", args! { Queue: "pending", IsPaused: true, ModifiedBy: "ann" }),
        ("SetQueueActive", args! { Queue: "pending", IsActive: false, ModifiedBy: "ann" }),
        ("SetQueueMaxWorkers", args! { Queue: "new", MaxWorkers: 1, ModifiedBy: "ann" }),
        ("SetQueueZombieTimeout", args! { Queue: "pending", ZombieTimeoutSeconds: 1, ModifiedBy: "ann" }),
        ("SetQueueRetryPolicy", args! { Queue: "pending", MaxAttempts: 1, ModifiedBy: "ann" }),
        ("FoldCounters", args! {}),
    ];
    let listed: Vec<&str> = calls.iter().map(|(name, _)| *name).collect();
    assert_eq!(listed, names(Kind::Joining), "a joining procedure without a case here");
    Ok(calls)
}

/// The call, which finds something to do.
async fn perform(s: &mut Session, procedure: &str, args: Args) -> Result<()> {
    match procedure {
        "FoldCounters" => arrange::fold(s, args).await.map(|_| ()),
        _ => s.call(procedure, args).await.map(|_| ()).map_err(Into::into),
    }
}

pub async fn looping(s: &mut Session) -> Result<Vec<(&'static str, Args)>> {
    let later = s.now().await? + Duration::DAY;
    let calls = vec![
        ("RecoverAbandoned", args! { TimeoutSeconds: 0 }),
        ("ArchiveZombies", args! { TimeoutSeconds: 0 }),
        ("ResurrectBatch", args! { JobIds: ["dead"], ResurrectedBy: "ann" }),
        ("ResurrectByFilter", args! { Queue: "dead", ResurrectedBy: "ann", WhatIf: false }),
        ("ArchiveCancelledBatch", args! { JobIds: ["pending"], CancelledBy: "ann" }),
        ("PurgeDLQ", args! { JobIds: ["dead"], PurgedBy: "ann" }),
        ("PurgeDLQByFilter", args! { Queue: "dead", PurgedBy: "ann", WhatIf: false }),
        ("PurgeArchive", args! { OlderThanUtc: later }),
        ("PurgeHistory", args! { OlderThanUtc: later }),
    ];
    let listed: Vec<&str> = calls.iter().map(|(name, _)| *name).collect();
    assert_eq!(listed, names(Kind::Looping), "a looping procedure without a case here");
    Ok(calls)
}

pub fn names(kind: Kind) -> Vec<&'static str> {
    contract::PROCEDURES.iter().filter(|p| p.kind == kind).map(|p| &*p.name).collect()
}

async fn every_joining_procedure_is_rolled_back_with_its_caller(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    world(&mut s).await?;
    let before = snapshot::take(&mut s).await?;
    for (procedure, args) in joining(&mut s).await? {
        s.begin().await?;
        perform(&mut s, procedure, args).await?;
        assert_eq!(s.transaction_count().await?, 1, "{procedure}");
        assert_ne!(snapshot::take(&mut s).await?, before, "{procedure} changed nothing");
        s.rollback().await?;
        assert_eq!(snapshot::take(&mut s).await?, before, "{procedure}");
    }
    Ok(())
}

async fn every_joining_procedure_is_committed_with_its_caller(db: &Db<'_>) -> Result<()> {
    let [mut s, mut other] = db.sessions().await?;
    for (procedure, args) in joining(&mut s).await? {
        s.empty_tables().await?;
        world(&mut s).await?;
        let before = snapshot::take(&mut other).await?;
        s.begin().await?;
        perform(&mut s, procedure, args).await?;
        assert_eq!(s.transaction_count().await?, 1, "{procedure}");
        s.commit().await?;
        assert_eq!(s.transaction_count().await?, 0, "{procedure}");
        assert_ne!(snapshot::take(&mut other).await?, before, "{procedure}");
    }
    Ok(s.empty_tables().await?)
}

async fn every_joining_procedure_commits_by_itself_when_it_is_alone(db: &Db<'_>) -> Result<()> {
    let [mut s, mut other] = db.sessions().await?;
    for (procedure, args) in joining(&mut s).await? {
        s.empty_tables().await?;
        world(&mut s).await?;
        let before = snapshot::take(&mut other).await?;
        perform(&mut s, procedure, args).await?;
        assert_eq!(s.transaction_count().await?, 0, "{procedure}");
        assert_ne!(snapshot::take(&mut other).await?, before, "{procedure}");
    }
    Ok(s.empty_tables().await?)
}

async fn every_looping_procedure_refuses_a_transaction(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    world(&mut s).await?;
    let before = snapshot::take(&mut s).await?;
    for (procedure, args) in looping(&mut s).await? {
        let (code, count) = caught(&mut s, procedure, args).await?;
        assert_eq!(code, Code::InTransaction.on(db.engine), "{procedure}");
        assert_eq!(count, 1, "{procedure}");
        assert_eq!(snapshot::take(&mut s).await?, before, "{procedure}");
    }
    Ok(())
}

const BROKEN: [&str; 5] = ["JobsHot", "JobsArchive", "JobsDLQ", "CounterDeltas", "OperatorHistory"];

/// From here on every write of a job, a counter or the history fails with error 50099 / TT099.
async fn break_the_tables(s: &mut Session) -> Result<()> {
    s.batch(
        "CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'forced' USING ERRCODE = 'TT099'; END $$",
        "",
    )
    .await?;
    for table in BROKEN {
        let postgres = format!(
            "CREATE TRIGGER fail AFTER INSERT OR UPDATE OR DELETE ON chokaq.{}
            FOR EACH ROW EXECUTE FUNCTION public.fail()",
            chokaq_tests::names::snake_case(table)
        );
        let mssql = format!(
            "CREATE TRIGGER chokaq.tr_{table}_fail ON chokaq.{table} AFTER INSERT, UPDATE, DELETE
            AS BEGIN THROW 50099, N'forced', 1; END"
        );
        s.batch(&postgres, &mssql).await?;
    }
    Ok(())
}

async fn mend_the_tables(s: &mut Session) -> Result<()> {
    for table in BROKEN {
        s.batch("", &format!("DROP TRIGGER chokaq.tr_{table}_fail")).await?;
    }
    Ok(s.batch("DROP FUNCTION public.fail() CASCADE", "").await?)
}

fn forced(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => "TT099",
        Engine::Mssql => "50099",
    }
}

async fn an_error_inside_leaves_nothing_open_when_alone(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    world(&mut s).await?;
    let calls: Vec<_> = joining(&mut s).await?.into_iter().chain(looping(&mut s).await?).collect();
    break_the_tables(&mut s).await?;
    let before = snapshot::take(&mut s).await?;
    for (procedure, args) in calls {
        let error = perform(&mut s, procedure, args).await.expect_err(procedure);
        let code = error.downcast_ref::<SqlError>().map(|error| &*error.code);
        assert_eq!(code, Some(forced(db.engine)), "{procedure}: {error}");
        assert_eq!(s.transaction_count().await?, 0, "{procedure}");
        assert_eq!(snapshot::take(&mut s).await?, before, "{procedure}");
    }
    mend_the_tables(&mut s).await
}

async fn an_error_inside_is_the_callers_to_end(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    world(&mut s).await?;
    let calls = joining(&mut s).await?;
    break_the_tables(&mut s).await?;
    let before = snapshot::take(&mut s).await?;
    for (procedure, args) in calls {
        let (mut code, mut count) = caught(&mut s, procedure, args.clone()).await?;
        while procedure == "FoldCounters" && code == NO_ERROR {
            /* Another folder was at work, as in `arrange::fold`. */
            (code, count) = caught(&mut s, procedure, args.clone()).await?;
        }
        assert_eq!(code, forced(db.engine), "{procedure}");
        assert_eq!(count, 1, "{procedure}");
        assert_eq!(snapshot::take(&mut s).await?, before, "{procedure}");
    }
    mend_the_tables(&mut s).await
}

async fn a_refused_argument_leaves_the_transaction_to_its_caller(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (procedure, args) in [
        ("Enqueue", args! { Queue: "", Type: "t" }),
        ("FetchNextBatch", args! { WorkerId: "w1", BatchSize: 0 }),
        ("ArchiveSucceeded", args! { JobId: "" }),
        ("ResurrectJobs", args! { JobIds: [""], ResurrectedBy: "ann" }),
        ("ArchiveSucceededJobs", args! { Jobs: serde_json::json!([{"jobId": ""}]), WorkerId: "w1" }),
        ("CancelJobs", args! { JobIds: ["a1"], CancelledBy: "" }),
        ("SetQueuePaused", args! { Queue: "", IsPaused: true, ModifiedBy: "ann" }),
    ] {
        let (code, count) = caught(&mut s, procedure, args).await?;
        assert_eq!(code, Code::InvalidArgument.on(db.engine), "{procedure}");
        assert_eq!(count, 1, "{procedure}");
    }
    Ok(())
}

/// What `caught` says of a call that was fine, in T-SQL.
const NO_ERROR: &str = "0";

/// Calls a procedure inside a transaction, catches its error, and ends the transaction: the error's code, and how
/// many transactions were open when it was caught.
async fn caught(s: &mut Session, procedure: &str, args: Args) -> Result<(String, i64)> {
    let (named, values) = s.named_arguments(args.clone());
    match s {
        Session::Postgres(_) => {
            /* An error dooms the transaction, which stays the caller's: nothing but its ROLLBACK is taken now. */
            s.begin().await?;
            let error = s.call(procedure, args).await.expect_err(procedure);
            let after = s.batch("SELECT 1", "").await.expect_err("a doomed transaction");
            assert_eq!(after.code, "25P02");
            s.rollback().await?;
            Ok((error.code, 1))
        }
        Session::Mssql(session) => {
            let sql = format!(
                "DECLARE @Code int, @Count int;
                BEGIN TRANSACTION;
                BEGIN TRY
                    EXECUTE chokaq.usp_{procedure} {named};
                    ROLLBACK TRANSACTION;
                END TRY
                BEGIN CATCH
                    SELECT @Code = ERROR_NUMBER(), @Count = @@TRANCOUNT;
                    ROLLBACK TRANSACTION;
                    SELECT @Code AS Code, @Count AS Count;
                END CATCH;"
            );
            let rows = session.query(&sql, &values).await?;
            if rows.columns[..] != ["Code", "Count"] {
                return Ok((NO_ERROR.to_owned(), 0));
            }
            let row = rows.one();
            Ok((row.int("Code").to_string(), row.int("Count")))
        }
    }
}
