//! Runs every scenario on both engines and says at the end what ran where.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use futures_util::FutureExt;
use libtest_mimic::{Arguments, Failed, Trial};

use crate::database::Db;
use crate::lacks::{Lacks, Need};
use crate::server::Servers;
use crate::session::Engine;
use crate::tally::Tally;

type Run = for<'a> fn(&'a Db<'a>) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// One sentence about the kit, and how to see that it is true.
#[derive(Clone, Copy)]
pub struct Scenario {
    pub name: &'static str,
    pub run: Run,
    pub limit: Duration,
    /// The one engine it is about; without it, both.
    pub only: Option<Engine>,
    /// What it needs, and not every run has.
    pub needs: Option<Need>,
}

impl Scenario {
    /// A case that may take longer than the usual two minutes.
    pub const fn limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// A case about one engine alone.
    pub const fn only(self, engine: Engine) -> Self {
        Self { only: Some(engine), ..self }
    }

    /// A case about what `migrate up` made.
    pub const fn about_deployments(self) -> Self {
        Self { needs: Some(Need::Deployment), ..self }
    }

    /// A case about PostgreSQL's extensions.
    pub const fn about_extensions(self) -> Self {
        Self { only: Some(Engine::Postgres), needs: Some(Need::Extensions), ..self }
    }

    /// A case that starts a server of its own, for what cannot be done to one that others use.
    pub const fn on_a_cluster(self) -> Self {
        Self { needs: Some(Need::Cluster), ..self }
    }

    /// The same with a file system of its own.
    pub const fn on_a_small_disk(self) -> Self {
        Self { needs: Some(Need::SmallDisk), ..self }
    }
}

/// `scenarios![a_sentence, another]`: the functions of a module as scenarios.
#[macro_export]
macro_rules! scenarios {
    ($($name:ident),* $(,)?) => {
        &[$($crate::scenario!($name)),*]
    };
}

#[macro_export]
macro_rules! scenario {
    ($name:ident) => {
        $crate::runner::Scenario {
            name: concat!(module_path!(), "::", stringify!($name)),
            run: |db| Box::pin($name(db)),
            limit: std::time::Duration::from_secs(120),
            only: None,
            needs: None,
        }
    };
}

/// Runs them all; the exit code is libtest's.
pub fn main(scenarios: &[&[Scenario]]) -> ExitCode {
    let arguments = Arguments::from_args();
    let servers = match Servers::find() {
        Ok(servers) => Arc::new(servers),
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    let lacks = Lacks::find(&servers.mssql_source);
    let tally = Arc::new(Tally::default());
    let trials = [Engine::Postgres, Engine::Mssql]
        .into_iter()
        .flat_map(|engine| scenarios.iter().copied().flatten().map(move |scenario| (engine, *scenario)))
        .filter(|(engine, scenario)| scenario.only.is_none_or(|only| only == *engine))
        .map(|(engine, scenario)| {
            let name = scenario.name.split_once("::").map_or(scenario.name, |(_, name)| name);
            let (servers, tally) = (servers.clone(), tally.clone());
            let name = format!("{engine}::{name}");
            Trial::test(name.clone(), move || {
                let began = Instant::now();
                let result = servers.block_on(run(engine, scenario, &servers));
                tally.count(engine, name, began.elapsed());
                result.map_err(|error| Failed::from(format!("{error:#}")))
            })
            .with_ignored_flag(lacks.reason(engine, scenario.needs).is_some())
        })
        .collect();

    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list {
        tally.print_slowest();
        for engine in [Engine::Postgres, Engine::Mssql] {
            let version = servers.version(engine).unwrap_or_else(|| "never started".to_owned());
            println!("{engine}: {} cases ran ({version})", tally.of(engine));
        }
        if conclusion.num_ignored > 0 {
            let why = lacks.told().map(|(what, why)| format!("on {what}: {why}"));
            println!("SKIPPED: {} cases {}\n", conclusion.num_ignored, why.collect::<Vec<_>>().join("; "));
        }
    }
    if let Err(error) = servers.finish() {
        eprintln!("error: the test databases were not dropped: {error:#}");
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}

async fn run(engine: Engine, scenario: Scenario, servers: &Servers) -> Result<()> {
    let db = Db::create(engine, servers).await?;
    let case = AssertUnwindSafe((scenario.run)(&db)).catch_unwind();
    match tokio::time::timeout(scenario.limit, case).await {
        Ok(Ok(result)) => result?,
        Ok(Err(panic)) => anyhow::bail!("{}", message(&*panic)),
        Err(_) => anyhow::bail!("not done after {:?}", scenario.limit),
    }
    db.recount().await.context("the recount at the end")?;
    db.finish().await
}

/// What a panic said.
pub fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("panicked")
}
