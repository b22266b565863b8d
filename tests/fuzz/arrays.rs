//! The property: an array is answered, row by row in its order, or refused by the parameter's name with nothing changed.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use chokaq_tests::error::parameter_on;
use chokaq_tests::{Args, Code, Db, Engine, Rows, Scenario, Session, SqlError, Value, args, contract, names, scenario};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;

use crate::draw;
use crate::fuzz::fuzz;
use crate::rule::{Kind, Verdict, judge};

pub const SCENARIOS: &[Scenario] =
    &[scenario!(every_array_is_answered_in_order_or_refused_by_name).limit(Duration::from_secs(24 * 3600))];

/// Between two clearings of the tables.
const JOBS_KEPT: i64 = 2_000;

async fn every_array_is_answered_in_order_or_refused_by_name(db: &Db<'_>) -> Result<()> {
    let targets: Vec<_> = contract::PROCEDURES
        .iter()
        .flat_map(|procedure| procedure.parameters.iter().map(move |parameter| (procedure, parameter)))
        .filter_map(|(procedure, parameter)| Some((&*procedure.name, kind_of(&procedure.name, &parameter.name)?)))
        .collect();
    ensure!(targets.len() == 11, "a procedure that takes an array is new, or gone: {targets:?}");
    let strategy = select(targets).prop_flat_map(|(procedure, kind)| (Just(procedure), Just(kind), draw::text(kind)));
    let session = RefCell::new(db.session().await?);
    let taken = Cell::new(0);
    let (target, cases) = match db.engine {
        Engine::Postgres => ("arrays-postgres", 300),
        Engine::Mssql => ("arrays-mssql", 60),
    };
    let handle = tokio::runtime::Handle::current();
    tokio::task::block_in_place(|| {
        fuzz(target, cases, &strategy, |(procedure, kind, text)| {
            let result = handle.block_on(case(&mut session.borrow_mut(), procedure, kind, &text));
            let is_taken =
                result.map_err(|error| TestCaseError::fail(format!("{procedure} of {text:?}: {error:#}")))?;
            taken.set(taken.get() + u32::from(is_taken));
            Ok(())
        });
    });
    ensure!(taken.get() > cases / 10, "of {cases} cases only {} were taken", taken.get());
    session.into_inner().empty_tables().await?;
    Ok(())
}

fn kind_of(procedure: &str, parameter: &str) -> Option<Kind> {
    match (procedure, parameter) {
        ("ArchiveSucceededJobs", "Jobs") => Some(Kind::Succeeded),
        (_, "Jobs") => Some(Kind::Jobs),
        (_, "JobIds") => Some(Kind::Ids),
        (_, "Queues") => Some(Kind::Queues),
        _ => None,
    }
}

/// Whether it was taken.
async fn case(s: &mut Session, procedure: &str, kind: Kind, text: &str) -> Result<bool> {
    let parameter: &'static str = match kind {
        Kind::Jobs | Kind::Succeeded => "Jobs",
        Kind::Ids => "JobIds",
        Kind::Queues => "Queues",
    };
    let verdict = judge(kind, text);
    let before = fingerprint(s).await?;
    let Some(result) = call(s, procedure, parameter, text).await else { return Ok(false) };
    match (result, verdict) {
        (Ok(_), Verdict::Refused) => bail!("was taken"),
        (Ok(rows), Verdict::Taken(ids)) => {
            answers(procedure, &rows, &ids)?;
            if fingerprint(s).await?[0] > JOBS_KEPT {
                s.empty_tables().await?;
            }
            Ok(true)
        }
        (Ok(_), Verdict::Unclear) => Ok(true),
        (Err(error), Verdict::Taken(_)) => bail!("was refused: {error}"),
        (Err(error), _) => {
            let engine = s.engine();
            let is_coded = error.is(Code::InvalidArgument, engine) || error.is(Code::InvalidJson, engine);
            ensure!(is_coded && error.message.contains(&parameter_on(engine, parameter)), "{error}");
            ensure!(s.transaction_count().await? == 0, "a transaction is open after {error}");
            ensure!(fingerprint(s).await? == before, "something was changed, and then {error}");
            Ok(false)
        }
    }
}

/// The call with its array as it stands. None where PostgreSQL's own types refuse it before the procedure begins.
async fn call(s: &mut Session, procedure: &str, parameter: &'static str, text: &str) -> Option<Result<Rows, SqlError>> {
    let array = match s {
        Session::Mssql(_) => Value::from(text),
        Session::Postgres(session) if parameter == "Jobs" => {
            session.query("SELECT $1::text::jsonb IS NULL AS n", &[text.into()]).await.ok()?;
            let name = names::snake_case(procedure);
            let worker = if procedure == "EnqueueMany" { "" } else { ", p_worker_id => 'w1'" };
            let sql = format!("SELECT * FROM chokaq.{name}(p_jobs => $1::text::jsonb{worker})");
            return Some(session.query(&sql, &[text.into()]).await);
        }
        Session::Postgres(_) => {
            let set: Vec<Option<String>> = serde_json::from_str(text).ok()?;
            let holds_nul = set.iter().flatten().any(|it| it.contains('\0'));
            if holds_nul {
                return None;
            }
            Value::Set(set)
        }
    };
    Some(s.call(procedure, [vec![(parameter, array)], others(procedure)].concat()).await)
}

/// A row for each element, or the count of them; of ids each once.
fn answers(procedure: &str, rows: &Rows, ids: &[Option<String>]) -> Result<()> {
    let mut seen = HashSet::new();
    let distinct: Vec<&str> = ids.iter().flatten().map(String::as_str).filter(|id| seen.insert(*id)).collect();
    match procedure {
        "FetchNextBatch" => {}
        "EnqueueMany" => {
            ensure!(rows.rows.len() == ids.len(), "{} rows for {} jobs", rows.rows.len(), ids.len());
            for (n, (row, id)) in rows.rows.iter().zip(ids).enumerate() {
                let is_theirs = id.as_ref().is_none_or(|id| row["JobId"] == *id || row["Outcome"] == "duplicate_key");
                ensure!(row["Ordinal"] == n as i64 + 1 && is_theirs, "{row:?} is row {n}");
            }
        }
        "ResurrectBatch" | "PurgeDLQ" | "ArchiveCancelledBatch" => {
            let counted = rows.rows.iter().map(|row| row.int("RequestedCount")).sum::<i64>();
            ensure!(counted == distinct.len() as i64, "{counted} of {distinct:?}");
        }
        _ => ensure!(rows.texts("JobId") == distinct, "{:?} for {distinct:?}", rows.texts("JobId")),
    }
    Ok(())
}

/// What else the procedure must be given.
fn others(procedure: &str) -> Args {
    match procedure {
        "EnqueueMany" => args! {},
        "ResurrectJobs" | "ResurrectBatch" => args! { ResurrectedBy: "ann" },
        "CancelJobs" | "ArchiveCancelledBatch" => args! { CancelledBy: "ann" },
        "PurgeDLQJobs" | "PurgeDLQ" => args! { PurgedBy: "ann" },
        _ => args! { WorkerId: "w1" },
    }
}

/// Counts that no refused call may change; the first is that of the jobs in Hot.
async fn fingerprint(s: &mut Session) -> Result<Vec<i64>> {
    let sql = "SELECT (SELECT COUNT(*) FROM chokaq.JobsHot) AS A, (SELECT COUNT(*) FROM chokaq.Queues) AS B,
        (SELECT COUNT(*) FROM chokaq.CounterDeltas) AS C, (SELECT COUNT(*) FROM chokaq.OperatorHistory) AS D,
        (SELECT COUNT(*) FROM chokaq.JobsArchive) AS E, (SELECT COUNT(*) FROM chokaq.JobsDLQ) AS F";
    let row = s.sql(sql, &[]).await?.one();
    Ok(["A", "B", "C", "D", "E", "F"].map(|column| row.int(column)).to_vec())
}
