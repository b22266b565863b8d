//! Everyone who takes part, each with a database of its own.

use std::path::Path;

use chokaq_bench::contenders::install::Installed;
use chokaq_bench::contenders::{floor, graphile_worker, pg_boss, pgmq, procrastinate};
use chokaq_bench::{Contender, Database, Result, Server, kit};
use serde::Deserialize;

use super::Options;

/// The contenders and what else the parts need.
pub struct Cast {
    /// The peers, then the floors, then the ways of the kit: the order of every turn.
    pub contenders: Vec<Contender>,
    /// The kit's database.
    pub kit: Database,
    /// How the peers purge; only those that were asked for.
    pub purges: Vec<(String, Database, Purge)>,
}

/// How a peer purges.
pub enum Purge {
    GraphileWorker(String),
    PgBoss { first: String, next: String },
    Procrastinate(String),
}

#[derive(Deserialize)]
struct PythonPeers {
    procrastinate: procrastinate::Statements,
    pgmq: pgmq::Statements,
}

impl Cast {
    pub async fn assemble(server: &Server, folder: &Path, options: &Options) -> Result<Self> {
        let wanted = |name: &str| {
            options.contenders.is_empty() || options.contenders.iter().any(|part| name.contains(part.as_str()))
        };
        let batches = options.batches.iter().chain(&[1, 10]).map(i32::to_string).collect::<Vec<_>>().join(",");
        let mut contenders = Vec::new();
        let mut purges = Vec::new();

        let peers = ["graphile-worker", "pg-boss", "procrastinate", "pgmq"];
        if peers.into_iter().any(wanted) {
            eprintln!("installing the peers");
            let installed = Installed::find(folder)?;
            let python: PythonPeers = installed.ask_python("python_peers.py")?;

            let database = server.create_database("bench_graphile_worker").await?;
            let mut statements = graphile_worker::statements(&installed, &database, &batches)?;
            let purge = Purge::GraphileWorker(std::mem::take(&mut statements.purge));
            let contender = graphile_worker::contender(statements, database);
            purges.push((contender.name.clone(), contender.database.clone(), purge));
            contenders.push(contender);

            let database = server.create_database("bench_pg_boss").await?;
            let mut statements = pg_boss::statements(&installed, &database, &batches)?;
            let purge = Purge::PgBoss {
                first: std::mem::take(&mut statements.purge_first),
                next: std::mem::take(&mut statements.purge_next),
            };
            let contender = pg_boss::contender(statements, database);
            purges.push((contender.name.clone(), contender.database.clone(), purge));
            contenders.push(contender);

            let mut statements = python.procrastinate;
            let purge = Purge::Procrastinate(std::mem::take(&mut statements.purge));
            let database = server.create_database("bench_procrastinate").await?;
            let contender = procrastinate::contender(statements, database).await?;
            purges.push((contender.name.clone(), contender.database.clone(), purge));
            contenders.push(contender);

            let database = server.create_database("bench_pgmq").await?;
            contenders.push(pgmq::contender(python.pgmq, database).await?);
        }

        contenders.push(floor::bare(server.create_database("bench_floor").await?).await?);
        let kit = server.create_kit_database().await?;
        contenders.push(floor::kits_row(&kit));
        contenders.extend(kit::Way::ALL.map(|way| kit::contender(&kit, way)));

        contenders.retain(|contender| wanted(&contender.name));
        purges.retain(|(name, _, _)| wanted(name));
        Ok(Self { contenders, kit, purges })
    }

    /// Whose throughput the others are compared with.
    pub fn is_floor(contender: &Contender) -> bool {
        contender.name == "floor, bare"
    }

    pub fn is_kit(contender: &Contender) -> bool {
        contender.name.starts_with("chokaq")
    }
}
