//! A call through the driver against the same call through the bare client library, on each engine that is here. The
//! two take turns, so that whatever else the machine does meets both alike.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use chokaq::{Client, Enqueue, FailureReason, FetchNextBatch, FinishedJob, ListDlq, MoveToDlq};
use chokaq_bench::Scene;
use chokaq_bench::profile::Profile;
use chokaq_bench::stats::Sample;
use chokaq_tests::Session;
use chokaq_tests::server::Servers;
use chokaq_tests::server::mssql::Source;
use chokaq_tests::session::mssql::Lease;
use futures_util::{AsyncRead, AsyncWrite, TryStreamExt};
use serde_json::{Value, json};
use tiberius::{ColumnData, Command, CommandItem};
use time::OffsetDateTime;
use tokio_postgres::Statement;
use tokio_postgres::types::{ToSql, Type};

const POSTGRES: &str = "PostgreSQL";
const MSSQL: &str = "T-SQL";
const WORKER: &str = "worker-1";

/// As many calls of one side, then of the other.
const TURN: usize = 10;

const CALLS: [Call; 5] = [Call::GetJob, Call::MarkAsProcessing, Call::KeepAlive, Call::ArchiveMany, Call::ListDlq];

/// Calls that may be repeated: what they do the second time is the same.
#[derive(Clone, Copy)]
enum Call {
    GetJob,
    MarkAsProcessing,
    /// Of ten jobs.
    KeepAlive,
    /// Of a hundred jobs, which are in the Archive already.
    ArchiveMany,
    /// A page of a hundred.
    ListDlq,
}

/// What the calls are about.
struct Jobs {
    running: Vec<String>,
    /// The argument for those in the Archive.
    done: Value,
}

/// `-- T-SQL` measures on one engine alone. A smoke run does without the one that takes long to start.
fn main() -> Result<()> {
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let wants = |engine: &str| only.as_deref().is_none_or(|only| engine.contains(only));
    println!("us per call: bare / driver, ratio; of the medians, then of the tenths");
    if wants(POSTGRES) {
        postgres()?;
    }
    if wants(MSSQL) && !Profile::from_env().is_short() {
        mssql()?;
    }
    Ok(())
}

impl Call {
    fn name(self) -> &'static str {
        match self {
            Self::GetJob => "get_job",
            Self::MarkAsProcessing => "mark_as_processing",
            Self::KeepAlive => "keep_alive (10)",
            Self::ArchiveMany => "archive_succeeded_jobs (100)",
            Self::ListDlq => "list_dlq (100)",
        }
    }

    /// Through the driver; the number of rows.
    async fn driver(self, client: &Client, jobs: &Jobs) -> chokaq::Result<usize> {
        let ids = &jobs.running;
        Ok(match self {
            Self::GetJob => client.get_job(&ids[0]).await?.iter().count(),
            Self::MarkAsProcessing => client.mark_as_processing(&ids[0], WORKER).await.map(|_| 1)?,
            Self::KeepAlive => client.keep_alive(ids, WORKER).await?.len(),
            Self::ArchiveMany => {
                let done: Vec<_> = jobs.done.as_array().into_iter().flatten().filter_map(finished).collect();
                client.archive_succeeded_jobs(&done, WORKER).await?.len()
            }
            Self::ListDlq => client.list_dlq(&ListDlq { limit: Some(100), ..ListDlq::default() }).await?.len(),
        })
    }
}

fn finished(job: &Value) -> Option<FinishedJob<'_>> {
    let job_id = job["jobId"].as_str()?;
    Some(FinishedJob { job_id, attempt: Some(1), resurrect_count: Some(0), ..FinishedJob::default() })
}

/// Ten jobs that run, a hundred in the Archive and a hundred in the DLQ.
async fn arrange(client: &Client) -> Result<Jobs> {
    let take = FetchNextBatch { start_now: true, batch_size: Some(100), ..FetchNextBatch::new(WORKER) };
    let enqueue = async |count: usize| {
        for _ in 0..count {
            let payload = Some(r#"{"to": "ann@example.com"}"#);
            client.enqueue(&Enqueue { payload, ..Enqueue::new("mail", "mail") }).await?;
        }
        let jobs = client.fetch_next_batch(&take).await?;
        anyhow::Ok(jobs.into_iter().map(|job| job.job_id).collect::<Vec<_>>())
    };
    for id in enqueue(100).await? {
        client.move_to_dlq(&MoveToDlq::new(&id, FailureReason::FatalError)).await?;
    }
    let done: Vec<_> = enqueue(100).await?;
    let done = json!(done.iter().map(|id| json!({"jobId": id, "attempt": 1, "resurrectCount": 0})).collect::<Vec<_>>());
    let jobs = Jobs { running: enqueue(10).await?, done };
    Call::ArchiveMany.driver(client, &jobs).await?;
    Ok(jobs)
}

/// Measures both sides in turns and prints a line.
async fn compare(
    engine: &str,
    call: Call,
    mut bare: impl AsyncFnMut() -> Result<usize>,
    mut driver: impl AsyncFnMut() -> Result<usize>,
) -> Result<()> {
    let profile = Profile::from_env();
    /* The first calls of each side are a warm-up: statements are prepared, procedures compiled. */
    for _ in 0..TURN {
        ensure!(bare().await? == driver().await?, "{} answers with other rows", call.name());
    }
    let end = Instant::now() + profile.time(Duration::from_secs(8));
    let (mut bares, mut drivers) = (Vec::new(), Vec::new());
    while Instant::now() < end {
        for _ in 0..TURN {
            bares.push(timed(&mut bare).await?);
        }
        for _ in 0..TURN {
            drivers.push(timed(&mut driver).await?);
        }
    }
    let (bare, driver) = (Sample::from_iter(bares), Sample::from_iter(drivers));
    let of = |part| (bare.quantile(part), driver.quantile(part), driver.quantile(part) / bare.quantile(part));
    let ((bare50, driver50, ratio50), (bare10, driver10, ratio10)) = (of(0.5), of(0.1));
    let name = call.name();
    println!(
        "{engine:<12} {name:<30} {bare50:>9.1} / {driver50:>9.1}, {ratio50:.2};  {bare10:>9.1} / {driver10:>9.1}, {ratio10:.2}"
    );
    Ok(())
}

async fn timed(call: &mut impl AsyncFnMut() -> Result<usize>) -> Result<f64> {
    let begin = Instant::now();
    call().await?;
    Ok(begin.elapsed().as_secs_f64() * 1e6)
}

fn postgres() -> Result<()> {
    let scene = Scene::new()?;
    scene.block_on(async {
        let client = Client::connect(&scene.database.url()).await?;
        let bare = scene.database.connect().await?;
        let jobs = arrange(&client).await?;
        for call in CALLS {
            let id: &(dyn ToSql + Sync) = &jobs.running[0];
            let (sql, arguments): (_, &[&(dyn ToSql + Sync)]) = match call {
                Call::GetJob => ("get_job(p_job_id => $1)", &[id]),
                Call::MarkAsProcessing => ("mark_as_processing(p_job_id => $1, p_worker_id => $2)", &[id, &WORKER]),
                Call::KeepAlive => ("keep_alive(p_job_ids => $1, p_worker_id => $2)", &[&jobs.running, &WORKER]),
                Call::ArchiveMany => {
                    ("archive_succeeded_jobs(p_jobs => $1, p_worker_id => $2)", &[&jobs.done, &WORKER])
                }
                Call::ListDlq => ("list_dlq(p_limit => $1)", &[&100_i32]),
            };
            let statement = bare.prepare(&format!("SELECT * FROM chokaq.{sql}")).await?;
            compare(
                POSTGRES,
                call,
                async || bare_postgres(&bare, &statement, arguments).await,
                async || Ok(call.driver(&client, &jobs).await?),
            )
            .await?;
        }
        Ok(())
    })
}

/// The rows of a prepared statement, each value read and its text kept, as an application would.
async fn bare_postgres(
    client: &tokio_postgres::Client,
    statement: &Statement,
    arguments: &[&(dyn ToSql + Sync)],
) -> Result<usize> {
    let rows = client.query(statement, arguments).await?;
    let mut texts = Vec::new();
    for row in &rows {
        for (position, column) in statement.columns().iter().enumerate() {
            match *column.type_() {
                Type::TEXT => texts.push(row.try_get::<_, Option<String>>(position)?),
                Type::INT2 => std::mem::drop(row.try_get::<_, Option<i16>>(position)?),
                Type::INT4 => std::mem::drop(row.try_get::<_, Option<i32>>(position)?),
                Type::INT8 => std::mem::drop(row.try_get::<_, Option<i64>>(position)?),
                Type::FLOAT8 => std::mem::drop(row.try_get::<_, Option<f64>>(position)?),
                _ => std::mem::drop(row.try_get::<_, Option<OffsetDateTime>>(position)?),
            }
        }
    }
    Ok(rows.len())
}

fn mssql() -> Result<()> {
    let servers = Servers::find()?;
    if let Source::Nothing(why) = &servers.mssql_source {
        eprintln!("no T-SQL server, so the driver is not measured there: {why}");
        return Ok(());
    }
    let server = servers.mssql()?;
    servers.block_on(async {
        let database = server.take_database().await?;
        let client = Client::connect(&server.url(&database.name)?).await?;
        let mut session = Lease::of(server.connect(&database.name).await?, None);
        /* As the driver sets its own sessions up: a plan belongs to the settings that it was made under. */
        let settings = "SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, \
                        QUOTED_IDENTIFIER ON; SET NUMERIC_ROUNDABORT OFF;";
        session.batch(settings).await?;
        let jobs = arrange(&client).await?;
        let (ids, done) = (json!(jobs.running).to_string(), jobs.done.to_string());
        let id = &*jobs.running[0];
        for call in CALLS {
            let worker = ("@WorkerId", text(WORKER));
            let (procedure, arguments) = match call {
                Call::GetJob => ("chokaq.usp_GetJob", vec![("@JobId", text(id))]),
                Call::MarkAsProcessing => ("chokaq.usp_MarkAsProcessing", vec![("@JobId", text(id)), worker]),
                Call::KeepAlive => ("chokaq.usp_KeepAlive", vec![("@JobIds", text(&ids)), worker]),
                Call::ArchiveMany => ("chokaq.usp_ArchiveSucceededJobs", vec![("@Jobs", text(&done)), worker]),
                Call::ListDlq => ("chokaq.usp_ListDLQ", vec![("@Limit", ColumnData::I32(Some(100)))]),
            };
            compare(
                MSSQL,
                call,
                async || bare_mssql(session.client(), procedure, &arguments).await,
                async || Ok(call.driver(&client, &jobs).await?),
            )
            .await?;
        }
        drop(Session::Mssql(session));
        anyhow::Ok(())
    })?;
    servers.finish()
}

fn text(text: &str) -> ColumnData<'_> {
    ColumnData::String(Some(text.into()))
}

/// The rows that a remote procedure call answers with, their texts kept.
async fn bare_mssql<S>(
    client: &mut tiberius::Client<S>,
    procedure: &str,
    arguments: &[(&str, ColumnData<'_>)],
) -> Result<usize>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let mut command = Command::new(procedure);
    for (name, value) in arguments {
        command.bind_param(*name, value.clone());
    }
    let mut stream = command.exec(client).await?;
    let (mut rows, mut texts) = (0, Vec::new());
    while let Some(item) = stream.try_next().await? {
        if let CommandItem::Row(row) = item {
            for value in row {
                if let ColumnData::String(text) = value {
                    texts.push(text.map(|text| text.into_owned()));
                }
            }
            rows += 1;
        }
    }
    Ok(rows)
}
