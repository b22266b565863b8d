//! Texts that mean something to somebody: SQL, letters that look like others, letters that cannot be stored.

use chokaq::{Client, Enqueue, ErrorKind, FailJob, FailureReason, MoveToDlq, RescheduleForRetry};
use chokaq_tests::error::parameter_on;
use chokaq_tests::{Code, Db, Engine, Result, Scenario, Session, Value, args, assert_refused, contract, scenario};

use crate::{arguments, arrange, snapshot};

pub const SCENARIOS: &[Scenario] = &[
    scenario!(sql_in_any_text_is_a_text),
    scenario!(ids_that_look_alike_are_other_jobs_to_every_procedure),
    scenario!(a_failure_is_recorded_whatever_its_text),
    scenario!(a_letter_that_cannot_be_stored_is_refused_by_name),
    scenario!(half_a_letter_is_recorded_too).only(Engine::Mssql),
];

/// What would be SQL, were it ever put into a statement; the last looks like apostrophes, and is some in a code page.
const SQL: [&str; 4] = [
    "x'; DROP TABLE chokaq.JobsHot; --",
    "$$; DROP SCHEMA chokaq CASCADE; $$ \\'); /*",
    "]; DROP TABLE jobs_hot; -- \"} %s $(x) ${y}",
    "xʼ＇; DROP TABLE chokaq.JobsHot；－－",
];

/// Every parameter that takes a text, of every procedure: it is that text, which nobody has, or no JSON.
async fn sql_in_any_text_is_a_text(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let objects = "SELECT (SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'chokaq') +
        (SELECT COUNT(*) FROM INFORMATION_SCHEMA.ROUTINES WHERE ROUTINE_SCHEMA = 'chokaq') AS N";
    let before = s.count(objects, &[]).await?;
    let mut problems = Vec::new();
    let mut count = 0;
    for procedure in contract::PROCEDURES.iter() {
        for parameter in &procedure.parameters {
            for text in SQL {
                let Some(value) = hostile(&procedure.name, &parameter.name, text) else { continue };
                count += 1;
                let args = arguments::with(procedure, &parameter.name, value);
                if let Err(error) = s.call(&procedure.name, args).await {
                    let is_payload = parameter.name.ends_with("Payload") && error.is(Code::InvalidJson, db.engine);
                    if !is_payload || !error.names(&parameter.name, db.engine) {
                        problems.push(format!("{} {} = {text}: {error}", procedure.name, parameter.name));
                    }
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(count > 4 * 90, "{count} calls");
    assert_eq!(s.count(objects, &[]).await?, before);
    snapshot::take(&mut s).await?;

    /* And it comes back to the letter. */
    for text in SQL {
        let id = format!("1{text}");
        let args = args! { Queue: text, Type: text, Payload: text, JobId: &id, Tags: text, IdempotencyKey: &id };
        assert_eq!(s.outcome("Enqueue", args).await?, "enqueued");
        let args = args! { JobId: &id, FailureReason: 6, ErrorDetails: text, MovedBy: text };
        assert_eq!(s.outcome("MoveToDLQ", args).await?, "moved");
        for search in [text, &text[..6], &text[text.len() - 6..]] {
            let found = s.call("ListDLQ", args! { Queue: text, Search: search }).await?.texts("JobId");
            assert!(found.contains(&id), "{search} is not found in {found:?}");
        }
        let job = arrange::job(&mut s, &id).await?;
        for column in ["Queue", "Type", "Payload", "Tags", "ErrorDetails", "LastModifiedBy"] {
            assert_eq!(job[column], text, "{column}");
        }
        assert_eq!(job["IdempotencyKey"], id);
        /* An apostrophe is one, and its look-alikes are others. */
        let straight = text.replace(['ʼ', '＇'], "'");
        if straight != text {
            assert!(s.call("ListDLQ", args! { Queue: &straight }).await?.rows.is_empty());
            assert!(s.call("ListDLQ", args! { Search: &straight }).await?.rows.is_empty());
        }
    }
    Ok(())
}

/// The text as that parameter takes it; None for one that takes no text.
fn hostile(procedure: &str, parameter: &str, text: &str) -> Option<Value> {
    let job = match procedure {
        "EnqueueMany" => serde_json::json!([{"queue": text, "type": text, "payload": text, "tags": text}]),
        _ => serde_json::json!([{"jobId": text}]),
    };
    match parameter {
        name if name.starts_with("Clear") => None,
        "Jobs" => Some(job.into()),
        "JobIds" | "Queues" => Some([text].into()),
        name if name.ends_with("By") || name.ends_with("Payload") || name.ends_with("Tags") => Some(text.into()),
        "Queue" | "Type" | "JobId" | "IdempotencyKey" | "WorkerId" | "ErrorDetails" | "Reason" | "Search"
        | "AfterQueue" | "AfterJobId" | "BeforeJobId" => Some(text.into()),
        _ => None,
    }
}

/// Each two that some collation, normalization or eye takes for one.
const ALIKE: [[&str; 2]; 17] = [
    ["a", "A"],
    ["é", "e\u{301}"],
    ["e", "ё"],
    ["ß", "ss"],
    ["ẞ", "SS"],
    ["i", "ı"],
    ["I", "İ"],
    ["ｂ", "b"],
    ["c", "c\u{200b}"],
    ["d", "d\u{ad}"],
    ["ﬁ", "fi"],
    ["K", "\u{212a}"],
    ["ſ", "s"],
    ["Ω", "\u{2126}"],
    ["1", "¹"],
    ["🙂", "🙃"],
    ["か", "カ"],
];

async fn ids_that_look_alike_are_other_jobs_to_every_procedure(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let [one, other] = [0, 1].map(|side| ALIKE.map(|pair| pair[side]));
    let set = |ids: [&str; ALIKE.len()], who: &'static str| vec![("JobIds", ids.into()), (who, Value::from("ann"))];
    let each = |ids: [&'static str; ALIKE.len()], outcome: &'static str| ids.map(|id| (id, outcome));
    for id in ALIKE.concat() {
        arrange::pending(&mut s, "q", id).await?;
    }

    let rows = s.call("CancelJobs", set(one, "CancelledBy")).await?;
    arrange::assert_outcomes(&rows, &each(one, "cancelled"));
    all_are(&mut s, one, "DLQ").await?;
    all_are(&mut s, other, "Hot").await?;
    let rows = s.call("ResurrectJobs", set(other, "ResurrectedBy")).await?;
    arrange::assert_outcomes(&rows, &each(other, "not_found"));
    for (procedure, args, column) in [
        ("ResurrectBatch", set(one, "ResurrectedBy"), "ResurrectedCount"),
        ("ArchiveCancelledBatch", set(other, "CancelledBy"), "CancelledCount"),
    ] {
        assert_eq!(s.call_one(procedure, args).await?[column], ALIKE.len() as i64, "{procedure}");
    }
    all_are(&mut s, one, "Hot").await?;
    all_are(&mut s, other, "DLQ").await?;
    s.call("ResurrectJobs", set(other, "ResurrectedBy")).await?;

    let fetched = s.call("FetchNextBatch", args! { WorkerId: "ann", BatchSize: 1000 }).await?;
    assert_eq!(fetched.rows.len(), 2 * ALIKE.len());
    let rows = s.call("MarkJobsAsProcessing", set(one, "WorkerId")).await?;
    arrange::assert_outcomes(&rows, &each(one, "started"));
    for (id, status) in [(one, 2), (other, 1)].into_iter().flat_map(|(ids, status)| ids.map(|id| (id, status))) {
        assert_eq!(arrange::job(&mut s, id).await?["Status"], status, "{id}");
    }
    arrange::assert_outcomes(&s.call("KeepAlive", set(other, "WorkerId")).await?, &each(other, "alive"));
    let jobs: Vec<_> = one.iter().map(|id| serde_json::json!({"jobId": id, "attempt": 1})).collect();
    let args = args! { Jobs: serde_json::json!(jobs), WorkerId: "ann" };
    let rows = s.call("ArchiveSucceededJobs", args).await?;
    arrange::assert_outcomes(&rows, &each(one, "archived"));
    for id in other {
        let args = args! { JobId: id, Tags: id, ModifiedBy: "ann" };
        assert_eq!(s.outcome("ReleaseJob", args! { JobId: id, WorkerId: "ann" }).await?, "released");
        assert_eq!(s.outcome("UpdateJobData", args.clone()).await?, "updated");
        arrange::kill(&mut s, id).await?;
        assert_eq!(s.outcome("UpdateDLQJobData", args).await?, "updated");
        assert_eq!(s.call_one("GetDLQJob", args! { JobId: id }).await?["Tags"], id);
        assert_eq!(s.call("GetJobHistory", args! { JobId: id }).await?.texts("JobId"), [id; 4]);
    }
    all_are(&mut s, one, "Archive").await?;
    let rows = s.call("PurgeDLQJobs", set(one, "PurgedBy")).await?;
    arrange::assert_outcomes(&rows, &each(one, "not_found"));
    assert_eq!(s.call_one("PurgeDLQ", set(other, "PurgedBy")).await?["PurgedCount"], ALIKE.len() as i64);
    all_are(&mut s, one, "Archive").await?;
    all_are(&mut s, other, "").await
}

async fn all_are<const N: usize>(s: &mut Session, ids: [&str; N], pillar: &str) -> Result<()> {
    for id in ids {
        assert_eq!(arrange::pillar(s, id).await?, pillar, "{id}");
    }
    Ok(())
}

/// U+0000, which PostgreSQL has not, escapes that are none, what JSON and a terminal would trip over.
const ERRORS: [&str; 5] =
    ["a\0b", "\0", "\\u0000 \\ud800 \\x \\", "\u{1b}[2J\u{7f}\u{80}\u{feff}\u{ffff}\u{10ffff}", "%s %n {} '; --"];

async fn a_failure_is_recorded_whatever_its_text(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let client = Client::connect(&db.url()?).await?;
    let keeps_nul = db.engine == Engine::Mssql && !s.is_babelfish();
    for (error, n) in ERRORS.into_iter().zip(1..) {
        let kept = if keeps_nul { error.to_owned() } else { error.replace('\0', "\u{fffd}") };
        let [moved, failed, retried, cancelled] =
            ["moved", "failed", "retried", "cancelled"].map(|it| format!("{it}{n}"));
        for id in [&moved, &failed, &retried] {
            arrange::processing(&mut s, id, id).await?;
        }
        arrange::pending(&mut s, &cancelled, &cancelled).await?;
        let details = Some(error);
        client
            .move_to_dlq(&MoveToDlq { error_details: details, ..MoveToDlq::new(&moved, FailureReason::Timeout) })
            .await?;
        let fail = FailJob {
            job_id: &failed,
            worker_id: "w1",
            attempt: 1,
            failure_reason: FailureReason::FatalError,
            error_details: details,
            retry_after_seconds: None,
            resurrect_count: None,
        };
        client.fail_job(&fail).await?;
        let retry = RescheduleForRetry { job_id: &retried, error_details: details, ..RescheduleForRetry::default() };
        client.reschedule_for_retry(&retry).await?;
        client.cancel_jobs(&[&cancelled], "ann", details).await?;
        for (id, pillar) in [(moved, "DLQ"), (failed, "DLQ"), (retried, "Hot"), (cancelled, "DLQ")] {
            let job = arrange::job(&mut s, &id).await?;
            assert_eq!((job.text("Pillar"), job.text("ErrorDetails")), (pillar.to_owned(), kept.clone()), "{id}");
        }
    }
    Ok(())
}

/// Nothing but a failure is changed to be stored.
async fn a_letter_that_cannot_be_stored_is_refused_by_name(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    if db.engine == Engine::Mssql && !s.is_babelfish() {
        return Ok(());
    }
    let client = Client::connect(&db.url()?).await?;
    let bad = "a\0b";
    let job = Enqueue::new("q", "t");
    for (parameter, job) in [
        ("Queue", Enqueue::new(bad, "t")),
        ("Type", Enqueue::new("q", bad)),
        ("Payload", Enqueue { payload: Some(bad), ..job }),
        ("JobId", Enqueue { job_id: Some(bad), ..job }),
        ("Tags", Enqueue { tags: Some(bad), ..job }),
        ("IdempotencyKey", Enqueue { idempotency_key: Some(bad), ..job }),
        ("CreatedBy", Enqueue { created_by: Some(bad), ..job }),
    ] {
        for (error, parameter) in [
            (client.enqueue(&job).await.map(|_| ()), parameter),
            (client.enqueue_many(std::slice::from_ref(&job)).await.map(|_| ()), "Jobs"),
        ] {
            let error = error.expect_err("U+0000");
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            assert!(error.message().contains(&parameter_on(db.engine, parameter)), "{error}");
        }
    }
    let error = client.resurrect_jobs(&["a", bad], "ann").await.expect_err("U+0000");
    assert!(error.message().contains(&parameter_on(db.engine, "JobIds")), "{error}");
    unstorable_json(&mut s).await
}

/// Escaped, in a payload it is only text; in an array PostgreSQL's own type refuses it, and in T-SQL the procedure does.
async fn unstorable_json(s: &mut Session) -> Result<()> {
    arrange::pending(s, "q", "a1").await?;
    for letter in ["\\u0000", "\\ud83d"] {
        let payload = format!("{{\"a\": \"{letter}\"}}");
        assert_eq!(
            s.outcome("UpdateJobData", args! { JobId: "a1", Payload: &payload, ModifiedBy: "ann" }).await?,
            "updated"
        );
        assert_eq!(arrange::job(s, "a1").await?["Payload"], payload);
        if s.engine() == Engine::Mssql {
            for (procedure, parameter) in
                [("KeepAlive", "JobIds"), ("FetchNextBatch", "Queues"), ("EnqueueMany", "Jobs")]
            {
                let array = Value::from(format!("[\"{letter}\"]"));
                let args = arguments::with(contract::procedure(procedure), parameter, array);
                assert_refused(s.call(procedure, args).await, Engine::Mssql, Code::InvalidJson, parameter);
            }
        }
    }
    Ok(())
}

/// SQL Server keeps half of a surrogate pair; Babelfish, like PostgreSQL, has no way to say one.
async fn half_a_letter_is_recorded_too(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    if s.is_babelfish() {
        return Ok(());
    }
    arrange::processing(&mut s, "q", "a1").await?;
    let sql = "DECLARE @Error NVARCHAR(MAX) = N'a' + NCHAR(55357) + N'b';
        EXECUTE chokaq.usp_MoveToDLQ @JobId = N'a1', @FailureReason = 6, @ErrorDetails = @Error;";
    s.batch("", sql).await?;
    let kept = "SELECT COUNT(*) AS N FROM chokaq.JobsDLQ AS d WHERE DATALENGTH(d.ErrorDetails) = 6
        AND CONVERT(VARBINARY(2), SUBSTRING(CONVERT(VARBINARY(6), d.ErrorDetails), 3, 2)) = 0x3DD8";
    assert_eq!(s.count(kept, &[]).await?, 1);
    Ok(())
}
