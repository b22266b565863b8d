//! The driver's connections: to another contract, one of the caller with his transaction, calls out of time, calls undone, calls lost.

use std::time::Duration;

use anyhow::bail;
use chokaq::{
    ArchiveSucceeded, ArchiveSucceededOutcome, CONTRACT_VERSION, Client, Connection, Enqueue, EnqueueOutcome,
    ErrorKind, FetchNextBatch, Retry,
};
use chokaq_tests::proxy::{Cut, Proxy};
use chokaq_tests::{Db, Engine, Result, Rights, Scenario, Session, scenario, until, values};

use crate::arrange;
use crate::program::run;
use crate::rivals::End;

pub const SCENARIOS: &[Scenario] = &[
    scenario!(a_database_of_another_contract_is_refused_at_connect),
    scenario!(connecting_passes_over_no_error_but_a_version_that_cannot_be_asked_for),
    scenario!(calls_on_a_connection_of_the_caller_join_its_transaction),
    scenario!(a_call_out_of_time_is_given_up_and_the_pool_works_on),
    scenario!(a_dropped_call_is_given_up),
    scenario!(a_lock_timeout_and_a_deadlock_are_known_and_have_changed_nothing),
    scenario!(an_undone_call_is_sent_again_unless_it_loops).only(Engine::Postgres),
    scenario!(after_a_lost_connection_a_repeatable_call_is_sent_again).only(Engine::Postgres),
    scenario!(after_a_lost_connection_a_fetch_is_an_error).only(Engine::Postgres),
];

/// As a release of another contract would leave it: newer first, then older.
async fn a_database_of_another_contract_is_refused_at_connect(db: &Db<'_>) -> Result<()> {
    let url = db.url()?;
    let mut s = db.session().await?;
    let ours = CONTRACT_VERSION;
    for (version, advice) in [(ours + 1, "newer driver"), (ours - 1, "older release")] {
        speak(&mut s, version).await?;
        let error = Client::connect(&url).await.expect_err("another contract");
        assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{error}");
        assert_eq!(error.code(), Some(if db.engine == Engine::Postgres { "QC002" } else { "59002" }));
        for part in [format!("version {version} "), format!("driver version {ours}"), advice.to_owned()] {
            assert!(error.message().contains(&part), "{error}");
        }
        let refused = run(Some(&url), &["stats"]).await?;
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains(advice) && refused.stderr.contains("hint:"), "{}", refused.stderr);
        /* Who has come to deploy, or to see what is there, is let in. */
        let unchecked = Client::builder().check_version(false).connect(&url).await?;
        assert_eq!(unchecked.get_version().await?.contract_version, version);
        assert_eq!(run(Some(&url), &["migrate", "status"]).await?.code, Some(0));
        assert_eq!(run(Some(&url), &["version"]).await?.code, Some(0));
    }
    speak(&mut s, ours).await?;
    Client::connect(&url).await?;
    Ok(())
}

/// Nothing deployed and a login without rights are let in, see `privileges` for one that deploys; nothing else is.
async fn connecting_passes_over_no_error_but_a_version_that_cannot_be_asked_for(db: &Db<'_>) -> Result<()> {
    let stranger = Client::connect(&db.url_as(&db.login(Rights::Of(&[])).await?)?).await?;
    let refused = stranger.check_version().await.expect_err("it may not ask");
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{refused}");
    let empty = Client::connect(&db.url_of(&db.empty_database().await?)?).await?;
    let missing = empty.check_version().await.expect_err("there is none");
    assert_eq!(missing.kind(), ErrorKind::SchemaMismatch, "{missing}");

    /* Cut after each of its requests in turn; the last of them is the question. */
    let proxy = Proxy::start(db.engine, &db.url()?).await?;
    for request in 1.. {
        proxy.cut(Cut::After(request));
        let once = Retry { times: 0, ..Retry::default() };
        let connected = Box::pin(Client::builder().retry(once).connect(proxy.url())).await;
        if proxy.waits() {
            connected?;
            assert!(request > 2, "a login and a question are two");
            break;
        }
        assert_eq!(connected.expect_err("it was cut").kind(), ErrorKind::Connection, "request {request}");
    }

    let mut s = db.session().await?;
    s.batch(
        "CREATE OR REPLACE FUNCTION chokaq.get_version()
        RETURNS TABLE (kit_version text, contract_version integer, dialect text, server_time_utc timestamptz)
        LANGUAGE sql AS $$ SELECT '9.9.9', 1 / (1 - count(*)::integer), 'postgres', clock_timestamp() $$",
        "ALTER PROCEDURE chokaq.usp_GetVersion AS THROW 50000, N'out of order', 1;",
    )
    .await?;
    let broken = Client::connect(&db.url()?).await.expect_err("its answer is an error");
    assert_eq!(broken.kind(), ErrorKind::Database, "{broken}");
    Ok(())
}

/// Makes GetVersion say that version of the contract.
async fn speak(s: &mut Session, version: i32) -> Result<()> {
    let postgres = format!(
        "CREATE OR REPLACE FUNCTION chokaq.get_version()
        RETURNS TABLE (kit_version text, contract_version integer, dialect text, server_time_utc timestamptz)
        LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
        AS $$ SELECT '9.9.9', {version}, 'postgres', clock_timestamp(); $$"
    );
    let mssql = include_str!("../../procedures/mssql/usp_GetVersion.sql")
        .replace("CREATE OR ALTER", "ALTER")
        .replace("1 AS ContractVersion", &format!("{version} AS ContractVersion"));
    Ok(s.batch(&postgres, &mssql).await?)
}

/// A whole life of a job, in whatever transaction the connection has.
async fn live<C: Connection>(client: Client<C>, id: &str) -> Result<()> {
    client.enqueue(&Enqueue { job_id: Some(id), ..Enqueue::new("q", "t") }).await?;
    let jobs = client.fetch_next_batch(&FetchNextBatch { start_now: true, ..FetchNextBatch::new("w1") }).await?;
    assert_eq!(jobs.iter().map(|job| &*job.job_id).collect::<Vec<_>>(), [id]);
    let done = ArchiveSucceeded { job_id: id, worker_id: Some("w1"), ..ArchiveSucceeded::default() };
    assert_eq!(client.archive_succeeded(&done).await?.outcome, ArchiveSucceededOutcome::Archived);
    Ok(())
}

async fn calls_on_a_connection_of_the_caller_join_its_transaction(db: &Db<'_>) -> Result<()> {
    let [mut s, mut other] = db.sessions().await?;
    for (id, end, pillar) in [("undone", End::Rollback, ""), ("done", End::Commit, "Archive")] {
        s.begin().await?;
        match &mut s {
            Session::Postgres(session) => live(chokaq::on_postgres(session.client()), id).await?,
            Session::Mssql(session) => live(chokaq::on_mssql(session.client()), id).await?,
        }
        assert_eq!(s.transaction_count().await?, 1);
        match end {
            End::Rollback => s.rollback().await?,
            End::Commit => s.commit().await?,
        }
        assert_eq!(arrange::pillar(&mut other, id).await?, pillar);
    }
    s.begin().await?;
    let refused = match &mut s {
        Session::Postgres(session) => chokaq::on_postgres(session.client()).recover_abandoned(None, None).await,
        Session::Mssql(session) => chokaq::on_mssql(session.client()).recover_abandoned(None, None).await,
    };
    assert_eq!(refused.expect_err("a loop in a transaction").kind(), ErrorKind::InTransaction);
    Ok(s.rollback().await?)
}

/// The first attempt of `w1` at `a1` ends well.
const DONE: ArchiveSucceeded<'_> = ArchiveSucceeded {
    job_id: "a1",
    worker_id: Some("w1"),
    attempt: Some(1),
    duration_ms: None,
    resurrect_count: Some(0),
};

/// Another's open transaction has the row of `a1`, which `w1` runs.
async fn hold_a1(s: &mut Session, holder: &mut Session) -> Result<()> {
    arrange::processing(s, "q", "a1").await?;
    holder.begin().await?;
    holder.sql("UPDATE chokaq.JobsHot SET Tags = 'held' WHERE Id = @P1", &values!["a1"]).await?;
    Ok(())
}

async fn a_call_out_of_time_is_given_up_and_the_pool_works_on(db: &Db<'_>) -> Result<()> {
    let [mut s, mut holder] = db.sessions().await?;
    hold_a1(&mut s, &mut holder).await?;
    let patient = Client::builder().pool_size(1).timeout(None).connect(&db.url()?).await?;
    /* Long enough for the call to be at the row: one that has not begun is not cancelled. */
    let error = patient.with_timeout(Duration::from_secs(2)).archive_succeeded(&DONE).await.expect_err("a held row");
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert_eq!(error.procedure(), Some("archive_succeeded"));
    assert_eq!(patient.get_queue_stats(Some("q")).await?[0].processing_count, 1);
    if s.is_babelfish() {
        /* It does not look up from its wait: the call goes on, and it or the next one has the row. */
        holder.rollback().await?;
        patient.archive_succeeded(&DONE).await?;
    } else {
        until_nothing_waits(&mut s).await?;
        holder.rollback().await?;
        assert_eq!(patient.archive_succeeded(&DONE).await?.outcome, ArchiveSucceededOutcome::Archived);
    }
    assert_eq!(arrange::pillar(&mut s, "a1").await?, "Archive");
    Ok(())
}

/// As `select!` drops the branch that was not done.
async fn a_dropped_call_is_given_up(db: &Db<'_>) -> Result<()> {
    let [mut s, mut holder] = db.sessions().await?;
    hold_a1(&mut s, &mut holder).await?;
    let program = format!("dropped {}", db.name);
    let url = format!("{}&application_name={}", db.url()?, program.replace(' ', "%20"));
    let client = Client::builder().pool_size(1).timeout(None).connect(&url).await?;
    let session = arrange::session_of(&mut s, &program).await?;
    tokio::select! {
        answer = client.archive_succeeded(&DONE) => bail!("the row is held: {answer:?}"),
        blocked = db.until_blocked(session) => blocked?,
    }
    assert_eq!(client.get_queue_stats(Some("q")).await?[0].processing_count, 1);
    if !s.is_babelfish() {
        until_nothing_waits(&mut s).await?;
    }
    holder.rollback().await?;
    let outcome = client.archive_succeeded(&DONE).await?.outcome;
    /* Babelfish does not look up from its wait: there the dropped call goes on, and it or the next one has the row. */
    assert!(s.is_babelfish() || outcome == ArchiveSucceededOutcome::Archived, "{outcome}");
    assert_eq!(arrange::pillar(&mut s, "a1").await?, "Archive");
    Ok(())
}

/// The server has given up every call of this database that waited for a lock.
async fn until_nothing_waits(s: &mut Session) -> Result<()> {
    until("no call waits", async || {
        let waiting = match s {
            Session::Postgres(session) => {
                let sql = "SELECT count(*) AS n FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event_type = 'Lock'";
                session.query(sql, &[]).await?
            }
            Session::Mssql(session) => {
                let sql = "SELECT COUNT(*) AS N FROM sys.dm_exec_requests AS r
                    WHERE r.database_id = DB_ID() AND r.blocking_session_id <> 0";
                session.query(sql, &[]).await?
            }
        };
        Ok((waiting.one().int("N") == 0).then_some(()))
    })
    .await
}

async fn archive(s: &mut Session, done: &ArchiveSucceeded<'_>) -> chokaq::Result<ArchiveSucceededOutcome> {
    let answer = match s {
        Session::Postgres(session) => chokaq::on_postgres(session.client()).archive_succeeded(done).await,
        Session::Mssql(session) => chokaq::on_mssql(session.client()).archive_succeeded(done).await,
    };
    Ok(answer?.outcome)
}

async fn a_lock_timeout_and_a_deadlock_are_known_and_have_changed_nothing(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    hold_a1(&mut a, &mut b).await?;
    a.batch("SET lock_timeout = '100ms'", "SET LOCK_TIMEOUT 100").await?;
    let error = archive(&mut a, &DONE).await.expect_err("a held row");
    a.batch("SET lock_timeout = '60s'", "SET LOCK_TIMEOUT 60000").await?;
    assert!(error.kind() == ErrorKind::LockTimeout && error.is_retryable(), "{error:?}");
    assert_eq!(arrange::pillar(&mut a, "a1").await?, "Hot");
    b.rollback().await?;
    assert_eq!(archive(&mut a, &DONE).await?, ArchiveSucceededOutcome::Archived);

    /* Each has one of two jobs and wants the other's. */
    for (s, id) in [(&mut a, "a2"), (&mut b, "a3")] {
        arrange::processing(s, "q", id).await?;
        s.begin().await?;
        s.sql("UPDATE chokaq.JobsHot SET Tags = 'held' WHERE Id = @P1", &values![id]).await?;
    }
    let first = a.id().await?;
    let end_other = async |s: &mut Session, job_id| {
        let answer = archive(s, &ArchiveSucceeded { job_id, ..DONE }).await;
        s.rollback().await?;
        Ok::<_, anyhow::Error>(answer)
    };
    let then = async {
        db.until_blocked(first).await?;
        end_other(&mut b, "a2").await
    };
    let (first, second) = tokio::try_join!(end_other(&mut a, "a3"), then)?;
    let (won, lost) = match (first, second) {
        (Ok(won), Err(lost)) | (Err(lost), Ok(won)) => (won, lost),
        neither => bail!("one of the two is undone: {neither:?}"),
    };
    assert_eq!(won, ArchiveSucceededOutcome::Archived);
    assert!(lost.kind() == ErrorKind::Deadlock && lost.is_retryable(), "{lost:?}");
    for id in ["a2", "a3"] {
        assert_eq!(arrange::pillar(&mut a, id).await?, "Hot", "{id}");
    }
    Ok(())
}

/// The first two writes of a job are undone as a deadlock's victim is.
async fn an_undone_call_is_sent_again_unless_it_loops(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::dead(&mut s, "q", "dead").await?;
    for statement in [
        "CREATE SEQUENCE public.tries",
        "CREATE FUNCTION public.undo() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF nextval('public.tries') <= 2 THEN
                RAISE EXCEPTION 'deadlock' USING ERRCODE = '40P01';
            END IF;
            RETURN NULL;
        END $$",
        "CREATE TRIGGER undo AFTER INSERT OR DELETE ON chokaq.jobs_hot EXECUTE FUNCTION public.undo()",
        "CREATE TRIGGER undo AFTER INSERT OR DELETE ON chokaq.jobs_dlq EXECUTE FUNCTION public.undo()",
    ] {
        s.batch(statement, "").await?;
    }
    let client = Client::connect(&db.url()?).await?;
    let error = client.purge_dlq(&["dead"], "ann", None).await.expect_err("a loop is not repeated");
    assert_eq!(error.kind(), ErrorKind::Deadlock);
    assert!(error.is_retryable());
    s.batch("ALTER SEQUENCE public.tries RESTART", "").await?;
    assert_eq!(client.enqueue(&Enqueue::new("q", "t")).await?.outcome, EnqueueOutcome::Enqueued);
    assert_eq!(s.count("SELECT last_value AS n FROM public.tries", &[]).await?, 3);
    Ok(())
}

/// The server process of a call that waits for a lock, other than `known`.
async fn waiting(s: &mut Session, known: Option<i64>) -> Result<i64> {
    let sql = "SELECT pid::bigint AS pid FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid IS DISTINCT FROM @P1";
    let known = known.unwrap_or_default();
    until("a call waits", async || Ok(s.sql(sql, &values![known]).await?.rows.first().map(|row| row.int("Pid")))).await
}

async fn terminate(s: &mut Session, pid: i64) -> Result<()> {
    s.sql("SELECT pg_terminate_backend(@P1::integer) AS done", &values![pid]).await?;
    Ok(())
}

async fn after_a_lost_connection_a_repeatable_call_is_sent_again(db: &Db<'_>) -> Result<()> {
    let [mut s, mut holder] = db.sessions().await?;
    hold_a1(&mut s, &mut holder).await?;
    let client = Client::connect(&db.url()?).await?;
    let call = async { Ok::<_, anyhow::Error>(client.archive_succeeded(&DONE).await?) };
    let trouble = async {
        let first = waiting(&mut s, None).await?;
        terminate(&mut s, first).await?;
        waiting(&mut s, Some(first)).await?;
        Ok(holder.rollback().await?)
    };
    let (answer, ()) = tokio::try_join!(call, trouble)?;
    assert_eq!(answer.outcome, ArchiveSucceededOutcome::Archived);
    Ok(())
}

/// It may have claimed jobs that nobody saw, and would claim others.
async fn after_a_lost_connection_a_fetch_is_an_error(db: &Db<'_>) -> Result<()> {
    let [mut s, mut holder] = db.sessions().await?;
    arrange::pending(&mut s, "q", "a1").await?;
    holder.begin().await?;
    holder.batch("LOCK TABLE chokaq.jobs_hot", "").await?;
    let client = Client::connect(&db.url()?).await?;
    let fetch = FetchNextBatch::new("w1");
    let trouble = async {
        let pid = waiting(&mut s, None).await?;
        terminate(&mut s, pid).await
    };
    let (answer, trouble) = tokio::join!(client.fetch_next_batch(&fetch), trouble);
    trouble?;
    assert_eq!(answer.expect_err("a lost answer").kind(), ErrorKind::Connection);
    holder.rollback().await?;
    assert_eq!(client.fetch_next_batch(&fetch).await?[0].job_id, "a1");
    Ok(())
}
