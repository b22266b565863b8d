//! A call through the driver against the same call through the bare client library, on each engine that is here.

use std::time::Duration;

use chokaq::{Client, Enqueue, FetchNextBatch};
use chokaq_bench::Scene;
use chokaq_bench::profile::Profile;
use chokaq_tests::Session;
use chokaq_tests::server::Servers;
use chokaq_tests::server::mssql::Source;
use chokaq_tests::session::mssql::Lease;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use futures_util::TryStreamExt;
use tiberius::{Command, CommandItem};
use tokio_postgres::types::ToSql;

const WORKER: &str = "worker-1";

/// Named arguments that are text.
type Texts<'a> = &'a [(&'a str, &'a str)];

fn group<'a>(criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let profile = Profile::from_env();
    let mut group = criterion.benchmark_group(name);
    group.sample_size(profile.samples(100)).measurement_time(profile.time(Duration::from_secs(5)));
    group.warm_up_time(profile.time(Duration::from_secs(1)));
    group
}

/// Ten jobs that run, for calls that may be repeated: what they do the second time is the same.
async fn arrange(client: &Client) -> chokaq::Result<Vec<String>> {
    for _ in 0..10 {
        client
            .enqueue(&Enqueue { payload: Some(r#"{"to": "ann@example.com"}"#), ..Enqueue::new("mail", "mail") })
            .await?;
    }
    let jobs = client.fetch_next_batch(&FetchNextBatch { start_now: true, ..FetchNextBatch::new(WORKER) }).await?;
    Ok(jobs.into_iter().map(|job| job.job_id).collect())
}

fn postgres(criterion: &mut Criterion) {
    let scene = Scene::new().expect("PostgreSQL starts");
    let client = scene.block_on(Client::connect(&scene.database.url())).expect("the driver connects");
    let bare = scene.block_on(scene.database.connect()).expect("a session opens");
    let ids = scene.block_on(arrange(&client)).expect("ten jobs run");
    let calls: [(&str, &str, &[&(dyn ToSql + Sync)]); 3] = [
        ("get_job", "SELECT * FROM chokaq.get_job(p_job_id => $1)", &[&ids[0]]),
        (
            "mark_as_processing",
            "SELECT * FROM chokaq.mark_as_processing(p_job_id => $1, p_worker_id => $2)",
            &[&ids[0], &WORKER],
        ),
        ("keep_alive", "SELECT * FROM chokaq.keep_alive(p_job_ids => $1, p_worker_id => $2)", &[&ids, &WORKER]),
    ];
    for (name, sql, arguments) in calls {
        let mut group = group(criterion, &format!("driver, PostgreSQL, {name}"));
        let statement = scene.block_on(bare.prepare(sql)).expect("the statement is right");
        group.bench_function("bare, prepared", |bencher| {
            bencher.iter(|| scene.block_on(bare.query(&statement, arguments)).expect("the call answers"));
        });
        group.bench_function("bare, not prepared", |bencher| {
            let typed: Vec<_> = arguments.iter().copied().zip(statement.params().iter().cloned()).collect();
            bencher.iter(|| scene.block_on(bare.query_typed(sql, &typed)).expect("the call answers"));
        });
        group.bench_function("driver", |bencher| {
            bencher.iter(|| scene.block_on(call(&client, name, &ids)).expect("the call answers"));
        });
    }
}

fn mssql(criterion: &mut Criterion) {
    if Profile::from_env().is_short() {
        return;
    }
    let servers = Servers::find().expect("the harness starts");
    if let Source::Nothing(why) = &servers.mssql_source {
        eprintln!("no T-SQL server, so the driver is not measured there: {why}");
        return;
    }
    let server = servers.mssql().expect("the server starts");
    let database = servers.block_on(server.take_database()).expect("the kit is deployed");
    let url = server.url(&database.name).expect("it has a URL");
    let client = servers.block_on(Client::connect(&url)).expect("the driver connects");
    let session = servers.block_on(server.connect(&database.name)).expect("a session opens");
    let mut session = Lease::of(session, None);
    let ids = servers.block_on(arrange(&client)).expect("ten jobs run");
    let all = serde_json::json!(ids).to_string();
    let calls: [(&str, &str, Texts); 3] = [
        ("get_job", "chokaq.usp_GetJob", &[("@JobId", &ids[0])]),
        ("mark_as_processing", "chokaq.usp_MarkAsProcessing", &[("@JobId", &ids[0]), ("@WorkerId", WORKER)]),
        ("keep_alive", "chokaq.usp_KeepAlive", &[("@JobIds", &all), ("@WorkerId", WORKER)]),
    ];
    for (name, procedure, arguments) in calls {
        let mut group = group(criterion, &format!("driver, T-SQL, {name}"));
        group.bench_function("bare, RPC", |bencher| {
            bencher.iter(|| servers.block_on(bare_call(session.client(), procedure, arguments)));
        });
        group.bench_function("driver", |bencher| {
            bencher.iter(|| servers.block_on(call(&client, name, &ids)).expect("the call answers"));
        });
    }
    drop(Session::Mssql(session));
    servers.finish().expect("the server is tidied up");
}

async fn call(client: &Client, name: &str, ids: &[String]) -> chokaq::Result<usize> {
    match name {
        "get_job" => Ok(client.get_job(&ids[0]).await?.iter().count()),
        "mark_as_processing" => client.mark_as_processing(&ids[0], WORKER).await.map(|_| 1),
        _ => Ok(client.keep_alive(ids, WORKER).await?.len()),
    }
}

/// The rows that a remote procedure call answers with, read as they come.
async fn bare_call<S>(client: &mut tiberius::Client<S>, procedure: &str, arguments: Texts<'_>) -> usize
where
    S: futures_util::AsyncRead + futures_util::AsyncWrite + Unpin + Send,
{
    let mut command = Command::new(procedure.to_owned());
    for (name, value) in arguments {
        command.bind_param((*name).to_owned(), *value);
    }
    let mut stream = command.exec(client).await.expect("the call is sent");
    let mut rows = 0;
    while let Some(item) = stream.try_next().await.expect("the call answers") {
        if let CommandItem::Row(_) = item {
            rows += 1;
        }
    }
    rows
}

criterion_group!(benches, postgres, mssql);
criterion_main!(benches);
