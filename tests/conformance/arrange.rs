//! Short ways to bring jobs where a scenario begins. Every job is of type `t`; the worker is `w1`.

use chokaq_tests::{Args, Result, Row, Rows, Session, Value, args, until, values};
use time::{Duration, OffsetDateTime};

/// `prefix` followed by 1 to `count`, padded so that they sort.
pub fn ids(prefix: &str, count: usize) -> Vec<String> {
    (1..=count).map(|n| format!("{prefix}{n:05}")).collect()
}

/// A pending job.
pub async fn pending(session: &mut Session, queue: &str, id: &str) -> Result<()> {
    let outcome = session.outcome("Enqueue", args! { Queue: queue, Type: "t", Payload: "{}", JobId: id }).await?;
    assert_eq!(outcome, "enqueued");
    Ok(())
}

/// Many pending jobs at once.
pub async fn many_pending(session: &mut Session, queue: &str, ids: &[String]) -> Result<()> {
    for chunk in ids.chunks(5_000) {
        let jobs: Vec<_> = chunk
            .iter()
            .map(|id| serde_json::json!({"queue": queue, "type": "t", "jobId": id, "payload": "{}"}))
            .collect();
        let rows = session.call("EnqueueMany", args! { Jobs: serde_json::json!(jobs) }).await?;
        assert!(rows.rows.iter().all(|row| row["Outcome"] == "enqueued"));
    }
    Ok(())
}

/// A job that `w1` has fetched.
pub async fn fetched(session: &mut Session, queue: &str, id: &str) -> Result<()> {
    pending(session, queue, id).await?;
    take(session, queue, id, false).await
}

/// A job that `w1` runs, in its first attempt.
pub async fn processing(session: &mut Session, queue: &str, id: &str) -> Result<()> {
    pending(session, queue, id).await?;
    take(session, queue, id, true).await
}

/// Many jobs that `w1` runs, in their first attempt.
pub async fn many_processing(session: &mut Session, queue: &str, ids: &[String]) -> Result<()> {
    many_pending(session, queue, ids).await?;
    let mut taken = 0;
    while taken < ids.len() {
        let args = args! { WorkerId: "w1", BatchSize: 1000, Queues: [queue], StartNow: true };
        taken += session.call("FetchNextBatch", args).await?.rows.len();
    }
    Ok(())
}

/// Fetches the head of the queue, which must be that job.
pub async fn take(session: &mut Session, queue: &str, id: &str, start_now: bool) -> Result<()> {
    let args = args! { WorkerId: "w1", BatchSize: 1, Queues: [queue], StartNow: start_now };
    assert_eq!(session.call_one("FetchNextBatch", args).await?["JobId"], id);
    Ok(())
}

/// A job in the Archive.
pub async fn archived(session: &mut Session, queue: &str, id: &str) -> Result<()> {
    processing(session, queue, id).await?;
    let outcome = session.outcome("ArchiveSucceeded", args! { JobId: id, WorkerId: "w1", Attempt: 1 }).await?;
    assert_eq!(outcome, "archived");
    Ok(())
}

/// A job in the DLQ.
pub async fn dead(session: &mut Session, queue: &str, id: &str) -> Result<()> {
    pending(session, queue, id).await?;
    kill(session, id).await
}

/// Moves a job to the DLQ as a FatalError.
pub async fn kill(session: &mut Session, id: &str) -> Result<()> {
    let outcome = session.outcome("MoveToDLQ", args! { JobId: id, FailureReason: 6, ErrorDetails: "it broke" }).await?;
    assert_eq!(outcome, "moved");
    Ok(())
}

/// Many jobs in the DLQ, as zombies.
pub async fn many_dead(session: &mut Session, queue: &str, ids: &[String]) -> Result<()> {
    many_processing(session, queue, ids).await?;
    let row = session.call_one("ArchiveZombies", args! { TimeoutSeconds: 0 }).await?;
    assert_eq!(row["MovedCount"], ids.len() as i64);
    Ok(())
}

/// The row of a job in Hot, forced into another table by the owner of the tables.
pub async fn force(session: &mut Session, id: &str, table: &str) -> Result<()> {
    let sql = match table {
        "JobsDLQ" => {
            "INSERT INTO chokaq.JobsDLQ (Id, Queue, Type, Priority, AttemptCount, FailureReason, FailedAtUtc,
                CreatedAtUtc, LastUpdatedUtc, ResurrectCount, Revision)
            SELECT h.Id, h.Queue, h.Type, h.Priority, h.AttemptCount, 6, h.CreatedAtUtc, h.CreatedAtUtc,
                h.LastUpdatedUtc, h.ResurrectCount, h.Revision
            FROM chokaq.JobsHot AS h WHERE h.Id = @P1"
        }
        _ => {
            "INSERT INTO chokaq.JobsArchive (Id, Queue, Type, Priority, AttemptCount, FinishedAtUtc, CreatedAtUtc,
                ResurrectCount, Revision)
            SELECT h.Id, h.Queue, h.Type, h.Priority, h.AttemptCount, h.CreatedAtUtc, h.CreatedAtUtc,
                h.ResurrectCount, h.Revision
            FROM chokaq.JobsHot AS h WHERE h.Id = @P1"
        }
    };
    session.sql(sql, &values![id]).await?;
    Ok(())
}

/// The row of one job, wherever it is.
pub async fn job(session: &mut Session, id: &str) -> Result<Row> {
    Ok(session.call_one("GetJob", args! { JobId: id }).await?)
}

/// The table the job is in: `Hot`, `Archive`, `DLQ`; empty when it is in none.
pub async fn pillar(session: &mut Session, id: &str) -> Result<String> {
    let rows = session.call("GetJob", args! { JobId: id }).await?;
    Ok(rows.texts("Pillar").join(" and "))
}

/// Sets a time of the jobs of a queue that are in Hot back by so many seconds.
pub async fn backdate(session: &mut Session, queue: &str, column: &str, seconds: i64) -> Result<()> {
    let then = session.now().await? - Duration::seconds(seconds);
    session.sql(&format!("UPDATE chokaq.JobsHot SET {column} = @P1 WHERE Queue = @P2"), &values![then, queue]).await?;
    Ok(())
}

/// Sets a column of a queue's row, which exists since its first enqueue.
pub async fn set_queue(session: &mut Session, queue: &str, column: &str, value: impl Into<Value>) -> Result<()> {
    let sql = format!("UPDATE chokaq.Queues SET {column} = @P1 WHERE Queue = @P2");
    session.sql(&sql, &[value.into(), queue.into()]).await?;
    assert_eq!(
        session.count("SELECT COUNT(*) AS N FROM chokaq.Queues WHERE Queue = @P1", &values![queue]).await?,
        1,
        "{queue} has no row yet"
    );
    Ok(())
}

/// The counters of one queue.
pub async fn stats(session: &mut Session, queue: &str) -> Result<Row> {
    Ok(session.call_one("GetQueueStats", args! { Queue: queue }).await?)
}

/// The ids of one fetch of all queues.
pub async fn fetch(session: &mut Session, args: Args) -> Result<Vec<String>> {
    Ok(session.call("FetchNextBatch", args).await?.texts("JobId"))
}

/// Appends a counter delta that counts nothing. Any transition may by chance fold what is there, its own delta included;
/// after this there is something to fold until the next one.
pub async fn zero_delta(session: &mut Session, queue: &str) -> Result<()> {
    session.sql("INSERT INTO chokaq.CounterDeltas (Queue) VALUES (@P1)", &values![queue]).await?;
    Ok(())
}

/// Folds one batch of counter deltas, of which there are some. Another folder at work is no error but a count of 0; on
/// Babelfish, whose databases share their application locks, it may be another case's.
pub async fn fold(session: &mut Session, args: Args) -> Result<i64> {
    until("something was folded", async || {
        let folded = session.call_one("FoldCounters", args.clone()).await?.int("FoldedCount");
        Ok((folded > 0).then_some(folded))
    })
    .await
}

/// The login of this session, as the history shows it.
pub async fn login(session: &mut Session) -> Result<String> {
    let rows = match session {
        Session::Postgres(session) => session.query("SELECT session_user::text AS login", &[]).await?,
        Session::Mssql(session) => session.query("SELECT ORIGINAL_LOGIN() AS Login", &[]).await?,
    };
    Ok(rows.one().text("Login"))
}

/// What operators did to a job, oldest first.
pub async fn history(session: &mut Session, id: &str) -> Result<Vec<Row>> {
    let sql = "SELECT Action, Queue, Type, Actor, Login, FailureReason, ErrorDetails, AttemptCount, FailedAtUtc,
            OldPayload, OldTags, OldPriority, OldIdempotencyKey
        FROM chokaq.OperatorHistory WHERE JobId = @P1 ORDER BY HistoryId";
    Ok(session.sql(sql, &values![id]).await?.rows)
}

/// What became of each job of a set, in the order of the set.
pub fn assert_outcomes(rows: &Rows, expected: &[(&str, &str)]) {
    let found: Vec<_> = rows.texts("JobId").into_iter().zip(rows.texts("Outcome")).collect();
    let found: Vec<_> = found.iter().map(|(id, outcome)| (&**id, &**outcome)).collect();
    assert_eq!(found, expected);
}

/// True when two instants are less than five seconds apart.
pub fn close(a: OffsetDateTime, b: OffsetDateTime) -> bool {
    (a - b).abs() < Duration::seconds(5)
}

/// The one session of the program of that name.
pub async fn session_of(s: &mut Session, program: &str) -> Result<i64> {
    match sessions_of(s, program).await?[..] {
        [id] => Ok(id),
        ref sessions => anyhow::bail!("{} sessions of {program}", sessions.len()),
    }
}

/// The sessions of the program of that name.
pub async fn sessions_of(s: &mut Session, program: &str) -> Result<Vec<i64>> {
    let rows = match s {
        Session::Postgres(session) => {
            let sql = "SELECT pid::bigint AS id FROM pg_stat_activity WHERE application_name = $1";
            session.query(sql, &values![program]).await?
        }
        Session::Mssql(session) => {
            let sql = "SELECT CAST(s.session_id AS bigint) AS Id FROM sys.dm_exec_sessions AS s
                WHERE s.program_name = @P1";
            session.query(sql, &values![program]).await?
        }
    };
    Ok(rows.rows.iter().map(|row| row.int("Id")).collect())
}
