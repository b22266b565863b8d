//! The model can fail: procedures that are wrong in one place, each noticed within so many sequences.

use std::cell::RefCell;

use anyhow::{Result, bail, ensure};
use chokaq_tests::{Db, Session, values};
use proptest::test_runner::{Config, TestError};

use crate::run::System;
use crate::sequences;

/// The function, what stands in it, what stands there instead. The first are noticed soon.
const MUTANTS: [(&str, &str, &str); 14] = [
    /* A job in two tables. */
    ("enqueue", "p_job_id IS NOT NULL AND chokaq.has_ended(p_job_id)", "false"),
    /* Counters. */
    ("archive_succeeded", "SELECT a.queue, 1 FROM added", "SELECT a.queue, 0 FROM added"),
    ("purge_rows", "SELECT g.queue, count(*)", "SELECT g.queue, count(DISTINCT g.queue)"),
    /* History, revision. */
    ("purge_rows", "ORDER BY g.id;", "ORDER BY g.id LIMIT 1;"),
    ("update_dlq_job_data", "revision = update_dlq_job_data.revision,", ""),
    /* Rules. */
    ("cancel_jobs", "h.status IN (0, 1)", "h.status IN (0, 1, 2)"),
    ("fail_job", "p_attempt >= v_job.max_attempts", "p_attempt > v_job.max_attempts"),
    ("resurrect_rows", "d.resurrect_count + 1", "d.resurrect_count"),
    /* Order. */
    ("resurrect_rows", "v_now, v_number + i.place,", "v_now, v_number - i.place,"),
    ("list_dlq", "ORDER BY d.failed_at_utc DESC, d.id DESC", "ORDER BY d.failed_at_utc DESC, d.id"),
    /* Fences. */
    ("release_job", "AND h.worker_id = p_worker_id AND", "AND"),
    ("archive_succeeded", "AND (p_attempt IS NULL OR h.attempt_count = p_attempt)", ""),
    ("archive_succeeded", "AND (p_resurrect_count IS NULL OR h.resurrect_count = p_resurrect_count)", ""),
    /* Time. */
    ("recover_abandoned_batch", "h.heartbeat_utc <= v_limit", "h.fetched_at_utc <= v_limit"),
];

/// So many are tried unless the run is a long one.
const SOON: usize = 8;

/// What chance brings with this seed is the same every time.
const SEED: u64 = 4711;
const MOST: u32 = 2_000;

pub async fn each_of_these_mistakes_is_noticed(db: &Db<'_>) -> Result<()> {
    let system = RefCell::new(System::new(db).await?);
    let mut owner = db.session().await?;
    let mut unnoticed = vec![];
    let count = if sequences::is_long()? { MUTANTS.len() } else { SOON };
    for (function, right, wrong) in MUTANTS.into_iter().take(count) {
        let sql = "SELECT pg_get_functiondef(oid) AS definition FROM pg_proc
            WHERE proname = @P1 AND pronamespace = 'chokaq'::regnamespace";
        let definition = owner.sql(sql, &values![function]).await?.one().text("Definition");
        ensure!(definition.contains(right), "{function} has no {right:?} to be mistaken in");
        replace(&mut owner, &definition.replace(right, wrong)).await?;
        match noticed_after(&system)? {
            Some(count) => println!("{function}, {wrong:?} for {right:?}: noticed by sequence {count}"),
            None => unnoticed.push(format!("{function}, {wrong:?} for {right:?}")),
        }
        replace(&mut owner, &definition).await?;
    }
    ensure!(unnoticed.is_empty(), "not noticed in {MOST} sequences: {}", unnoticed.join("; "));
    /* What the last mistake left is no matter of the counters. */
    db.expect_broken_accounts();
    Ok(())
}

async fn replace(owner: &mut Session, definition: &str) -> Result<()> {
    Ok(owner.batch(definition, "").await?)
}

/// Which sequence notices.
fn noticed_after(system: &RefCell<System>) -> Result<Option<u64>> {
    let config = Config { cases: MOST, failure_persistence: None, max_shrink_iters: 0, ..Config::default() };
    let before = system.borrow().count;
    match sequences::run(system, config, SEED) {
        Ok(()) => Ok(None),
        Err(TestError::Fail(..)) => Ok(Some(system.borrow().count - before)),
        Err(TestError::Abort(reason)) => bail!("{reason}"),
    }
}
