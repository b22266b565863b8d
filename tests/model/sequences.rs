//! How many sequences, from which seed, and what becomes of one that fails.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use chokaq_tests::{Db, Engine, Scenario, contract, scenario};
use proptest::test_runner::{
    Config, FileFailurePersistence, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner,
};

use crate::draw;
use crate::mutants::each_of_these_mistakes_is_noticed;
use crate::run::System;
use crate::steps::Step;

pub const SCENARIOS: &[Scenario] = &[
    scenario!(every_procedure_is_a_step).only(Engine::Postgres),
    scenario!(every_answer_and_every_table_is_the_models).limit(Duration::from_secs(24 * 3600)),
    scenario!(each_of_these_mistakes_is_noticed).only(Engine::Postgres).limit(Duration::from_secs(3600)),
];

const CASES: &str = "CHOKAQ_MODEL_CASES";

async fn every_procedure_is_a_step(_: &Db<'_>) -> Result<()> {
    let steps: BTreeSet<_> = draw::acts().into_iter().map(|(name, ..)| name).collect();
    let all = contract::PROCEDURES.iter().map(|procedure| &*procedure.name).chain(["TimePasses", "Invalid"]).collect();
    assert_eq!(steps, all);
    Ok(())
}

async fn every_answer_and_every_table_is_the_models(db: &Db<'_>) -> Result<()> {
    let cases = number(CASES)?.unwrap_or(if db.engine == Engine::Postgres { 200 } else { 20 });
    let seed = match number("CHOKAQ_MODEL_SEED")? {
        Some(seed) => seed,
        None => std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_micros() as u64,
    };
    println!("{}: {cases} sequences from CHOKAQ_MODEL_SEED={seed}", db.engine);
    let config = Config {
        cases: cases.try_into()?,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(kept(db.engine)))),
        max_shrink_iters: 2_000,
        max_shrink_time: 300_000,
        ..Config::default()
    };
    let system = RefCell::new(System::new(db).await?);
    let result = run(&system, config, seed);
    let system = system.into_inner();
    match result {
        Ok(()) => {}
        Err(TestError::Fail(reason, _)) => bail!("CHOKAQ_MODEL_SEED={seed}: {reason}"),
        Err(TestError::Abort(reason)) => bail!("CHOKAQ_MODEL_SEED={seed}: {reason}"),
    }
    if is_long()? {
        for ((procedure, answer), count) in &system.answers {
            println!("{}: {procedure} {answer} {count}", db.engine);
        }
    }
    if cases >= 200 {
        let called: BTreeSet<_> = system.answers.keys().map(|(procedure, _)| *procedure).collect();
        assert_eq!(called.len(), contract::PROCEDURES.len(), "only these were called: {called:?}");
    }
    ensure!(system.too_slow * 10 <= cases, "{} of {cases} sequences were too slow to tell", system.too_slow);
    db.expect_archive_purged(system.model.archive_purged);
    Ok(())
}

/// The seeds of sequences that have failed, tried first ever after.
fn kept(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => concat!(env!("CARGO_MANIFEST_DIR"), "/model/failed-postgres.txt"),
        Engine::Mssql => concat!(env!("CARGO_MANIFEST_DIR"), "/model/failed-mssql.txt"),
    }
}

/// Sequence after sequence; the first that fails ends it, as short as it can be made.
pub fn run(system: &RefCell<System>, config: Config, seed: u64) -> Result<(), TestError<Vec<Step>>> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let handle = tokio::runtime::Handle::current();
    tokio::task::block_in_place(|| {
        runner.run(&draw::steps(), |steps| {
            let result = handle.block_on(system.borrow_mut().sequence(&steps));
            result.map_err(|error| TestCaseError::fail(format!("{error:#}")))
        })
    })
}

/// Somebody asked for thousands.
pub fn is_long() -> Result<bool> {
    Ok(number(CASES)?.is_some_and(|cases| cases >= 1_000))
}

fn number(variable: &str) -> Result<Option<u64>> {
    match std::env::var(variable) {
        Ok(text) => Ok(Some(text.parse().with_context(|| format!("{variable}={text}"))?)),
        Err(_) => Ok(None),
    }
}
