//! What a session has said before it calls: every answer and every table is the model's all the same, or the call fails
//! with one documented error and has changed nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use chokaq_tests::contract::{self, Kind};
use chokaq_tests::{Db, Engine, Scenario, scenario};

use crate::life::life;
use crate::run::System;
use crate::steps::{How, Step};

pub const SCENARIOS: &[Scenario] = &[
    scenario!(no_setting_of_a_session_changes_an_answer).limit(Duration::from_secs(1200)),
    scenario!(a_call_that_a_setting_stops_has_changed_nothing).only(Engine::Postgres),
];

/// What the session says, how it takes it back, and what it must send after a call.
struct Setting {
    set: &'static str,
    reset: &'static str,
    afterwards: &'static str,
    /// Not where the caller's own BEGIN would mean something else, nor where it would tell nothing new for its time.
    in_transactions: bool,
}

const fn postgres(set: &'static str) -> Setting {
    Setting { set, reset: "RESET ALL", afterwards: "", in_transactions: true }
}

const fn mssql(set: &'static str, reset: &'static str) -> Setting {
    Setting { set, reset, afterwards: "", in_transactions: true }
}

const POSTGRES: [Setting; 15] = [
    postgres("SET application_name = 'nothing else'"),
    postgres("SET default_transaction_isolation = 'read uncommitted'; SET search_path = ''"),
    postgres("SET default_transaction_isolation = 'repeatable read'"),
    postgres("SET default_transaction_isolation = 'serializable'; SET default_transaction_deferrable = on"),
    postgres("SET TimeZone = 'Asia/Kathmandu'; SET extra_float_digits = -15; SET bytea_output = 'escape'"),
    postgres("SET TimeZone = 'America/St_Johns'; SET DateStyle = 'SQL, DMY'; SET IntervalStyle = 'sql_standard'"),
    postgres("SET TimeZone = 'Pacific/Apia'; SET DateStyle = 'German, YMD'; SET IntervalStyle = 'iso_8601'"),
    postgres(
        "SET search_path = chokaq, pg_temp, pg_catalog; SET transform_null_equals = on; SET array_nulls = off;
        SET row_security = off; SET quote_all_identifiers = on",
    ),
    postgres("SET standard_conforming_strings = off; SET backslash_quote = off; SET escape_string_warning = off"),
    postgres("SET plan_cache_mode = 'force_generic_plan'; SET work_mem = '64kB'; SET cursor_tuple_fraction = 0"),
    postgres(
        "SET plan_cache_mode = 'force_custom_plan'; SET enable_indexscan = off; SET enable_bitmapscan = off;
        SET enable_nestloop = off; SET enable_material = off; SET join_collapse_limit = 1; SET geqo_threshold = 2",
    ),
    postgres("SET enable_seqscan = off; SET enable_sort = off; SET enable_hashjoin = off; SET enable_hashagg = off"),
    postgres("SET jit = on; SET jit_above_cost = 0; SET jit_inline_above_cost = 0; SET jit_optimize_above_cost = 0"),
    postgres(
        "SET lc_messages = 'C'; SET lc_numeric = 'C'; SET lc_time = 'POSIX'; SET synchronous_commit = off;
        SET statement_timeout = '10min'; SET lock_timeout = '1ms'",
    ),
    postgres(
        "SET plpgsql.variable_conflict = 'use_column'; SET plpgsql.extra_errors = 'all';
        SET client_min_messages = 'debug1'",
    ),
];

const MSSQL: [Setting; 3] = [
    Setting { in_transactions: false, ..mssql("SET XACT_ABORT ON", "SET XACT_ABORT OFF") },
    mssql(
        "SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER OFF;
        SET NUMERIC_ROUNDABORT ON; SET ROWCOUNT 1; SET NOCOUNT, XACT_ABORT OFF; SET LOCK_TIMEOUT 1; SET TEXTSIZE 1;
        SET DEADLOCK_PRIORITY LOW; SET CURSOR_CLOSE_ON_COMMIT ON; SET LANGUAGE French; SET DATEFORMAT dmy;
        SET DATEFIRST 3",
        "SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER ON;
        SET NUMERIC_ROUNDABORT OFF; SET ROWCOUNT 0; SET LOCK_TIMEOUT 60000; SET TEXTSIZE 2147483647;
        SET DEADLOCK_PRIORITY NORMAL; SET CURSOR_CLOSE_ON_COMMIT OFF; SET LANGUAGE us_english; SET DATEFORMAT mdy;
        SET DATEFIRST 7",
    ),
    Setting {
        afterwards: "IF @@TRANCOUNT > 0 COMMIT TRANSACTION",
        in_transactions: false,
        ..mssql(
            "SET IMPLICIT_TRANSACTIONS, XACT_ABORT ON; SET DATEFORMAT ydm",
            "SET IMPLICIT_TRANSACTIONS, XACT_ABORT OFF; SET DATEFORMAT mdy",
        )
    },
];

const LEVEL: &str = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED";

/// Babelfish does not take some of them, and lets no procedure leave the others.
const MSSQL_LEVELS: [Setting; 4] = [
    mssql("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", LEVEL),
    mssql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", LEVEL),
    mssql("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", LEVEL),
    mssql("SET TRANSACTION ISOLATION LEVEL SNAPSHOT", LEVEL),
];

/// What the session says before every step, which is tried and then made without it. A call may fail with one of these
/// codes, and has then not happened.
pub struct Trial {
    set: &'static str,
    reset: &'static str,
    pub codes: &'static [&'static str],
    /// What somebody else holds meanwhile.
    held: &'static str,
    /// What somebody else changes between the caller's first look at the tables and his call.
    pub after_a_look: Option<&'static str>,
    must_fail: MustFail,
    how: How,
    /// Whoever does not fail passes over what is held, so his answer says nothing. It is rolled back.
    pub passes_over: bool,
}

/// Which procedures must fail.
enum MustFail {
    Writers,
    /// And a slow server may not be done with a reader in time.
    WritersAtLeast,
    Some,
    Nobody,
}

const HOLD: &str = "LOCK TABLE chokaq.queues, chokaq.queue_claims, chokaq.jobs_hot, chokaq.jobs_archive,
    chokaq.jobs_dlq, chokaq.counter_deltas, chokaq.queue_totals, chokaq.metric_buckets, chokaq.operator_history
    IN EXCLUSIVE MODE";

/// Every row becomes another that says the same.
const TOUCH: &str = "UPDATE chokaq.Queues SET Queue = Queue; UPDATE chokaq.QueueClaims SET Queue = Queue;
    UPDATE chokaq.JobsHot SET Type = Type; UPDATE chokaq.JobsArchive SET Type = Type;
    UPDATE chokaq.JobsDLQ SET Type = Type; UPDATE chokaq.CounterDeltas SET Queue = Queue;
    UPDATE chokaq.QueueTotals SET Queue = Queue; UPDATE chokaq.OperatorHistory SET Action = Action";

const STOPPED: Trial = Trial {
    set: "",
    reset: "RESET ALL",
    codes: &[],
    held: "",
    after_a_look: None,
    must_fail: MustFail::Writers,
    how: How::Alone,
    passes_over: false,
};

const OVERTAKEN: Trial =
    Trial { after_a_look: Some(TOUCH), must_fail: MustFail::Some, how: How::RolledBack, ..STOPPED };

const POSTGRES_TRIALS: [Trial; 6] = [
    Trial { set: "SET default_transaction_read_only = on", codes: &["25006"], ..STOPPED },
    Trial { set: "SET lock_timeout = '1ms'", codes: &["55P03"], held: HOLD, ..STOPPED },
    Trial {
        set: "SET statement_timeout = '20ms'",
        codes: &["57014"],
        held: HOLD,
        must_fail: MustFail::WritersAtLeast,
        ..STOPPED
    },
    Trial {
        set: "SET default_transaction_isolation = 'read committed'",
        codes: &["40001"],
        must_fail: MustFail::Nobody,
        ..OVERTAKEN
    },
    Trial { set: "SET default_transaction_isolation = 'repeatable read'", codes: &["40001"], ..OVERTAKEN },
    Trial { set: "SET default_transaction_isolation = 'serializable'", codes: &["40001"], ..OVERTAKEN },
];

const MSSQL_TRIALS: [Trial; 1] = [Trial {
    set: "SET LOCK_TIMEOUT 1",
    reset: "SET LOCK_TIMEOUT 60000",
    /* The second is Babelfish's number of an error that has none. */
    codes: &["1222", "33557097"],
    held: TOUCH,
    after_a_look: None,
    must_fail: MustFail::Some,
    how: How::RolledBack,
    passes_over: true,
}];

/// Babelfish's error when a procedure sets its level in a session of another.
const BABELFISH_TRIALS: [Trial; 1] = [Trial {
    set: "SET TRANSACTION ISOLATION LEVEL SNAPSHOT",
    reset: LEVEL,
    codes: &["33557097"],
    must_fail: MustFail::Some,
    ..STOPPED
}];

type Answers = BTreeMap<(&'static str, String), u64>;

async fn no_setting_of_a_session_changes_an_answer(db: &Db<'_>) -> Result<()> {
    let mut system = System::new(db).await?;
    let mut settings: Vec<&Setting> = match db.engine {
        Engine::Postgres => POSTGRES.iter().collect(),
        Engine::Mssql => MSSQL.iter().collect(),
    };
    if db.engine == Engine::Mssql && !system.owner.is_babelfish() {
        system.batch("ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON").await?;
        settings.extend(&MSSQL_LEVELS);
    }
    for how in [How::Alone, How::Committed] {
        let mut expected = None;
        for setting in settings.iter().filter(|setting| how == How::Alone || setting.in_transactions) {
            system.sessions[0].batch(setting.set, setting.set).await?;
            system.afterwards = setting.afterwards;
            let answers = answers(&mut system, how).await.with_context(|| format!("{how:?} under {}", setting.set))?;
            system.afterwards = "";
            system.sessions[0].batch(setting.reset, setting.reset).await?;
            let expected = expected.get_or_insert_with(|| answers.clone());
            let called: BTreeSet<_> = answers.keys().map(|(procedure, _)| *procedure).collect();
            assert_eq!(called.len(), contract::PROCEDURES.len(), "only these were called: {called:?}");
            ensure!(answers == *expected, "{how:?} under {}: {answers:?}, not {expected:?}", setting.set);
        }
    }
    if db.engine == Engine::Mssql {
        /* Here too, because a server may need minutes to see each procedure for the first time. */
        try_all(&mut system, &MSSQL_TRIALS).await?;
    }
    if system.owner.is_babelfish() {
        try_all(&mut system, &BABELFISH_TRIALS).await?;
    }
    db.expect_archive_purged(system.model.archive_purged);
    Ok(())
}

/// How often each procedure answered what in one life. A server may be slow when it sees a procedure for the first time.
async fn answers(system: &mut System, how: How) -> Result<Answers> {
    for _ in 0..3 {
        let too_slow = system.too_slow;
        system.answers.clear();
        system.sequence(&life(how)).await?;
        if system.too_slow == too_slow {
            return Ok(std::mem::take(&mut system.answers));
        }
    }
    bail!("this was too slow to tell anything")
}

impl System {
    /// The step under the trial, before it is made. When that is over it has not happened.
    pub async fn attempt(&mut self, step: &Step, trial: &'static Trial) -> Result<()> {
        if !trial.held.is_empty() {
            self.owner.begin().await?;
            self.batch(trial.held).await?;
        }
        self.sessions[step.session].batch(trial.set, trial.set).await?;
        let tried = Step { how: trial.how, ..step.clone() };
        self.step(&tried, Some(trial)).await.context("before the step itself")?;
        self.sessions[step.session].batch(trial.reset, trial.reset).await?;
        if !trial.held.is_empty() {
            self.owner.rollback().await?;
        }
        Ok(())
    }
}

async fn a_call_that_a_setting_stops_has_changed_nothing(db: &Db<'_>) -> Result<()> {
    let mut system = System::new(db).await?;
    try_all(&mut system, &POSTGRES_TRIALS).await?;
    db.expect_archive_purged(system.model.archive_purged);
    Ok(())
}

async fn try_all(system: &mut System, trials: &'static [Trial]) -> Result<()> {
    for trial in trials {
        system.trial = Some(trial);
        let answers = answers(system, How::Alone).await.context(trial.set)?;
        system.trial = None;
        let failed = answers.keys().filter(|(_, answer)| trial.codes.contains(&&**answer));
        let failed: BTreeSet<_> = failed.map(|(procedure, _)| *procedure).collect();
        let is_writer = |procedure: &&str| contract::procedure(procedure).kind != Kind::Reading;
        let writers = contract::PROCEDURES.iter().map(|procedure| &*procedure.name).filter(is_writer).collect();
        let is_so = match trial.must_fail {
            MustFail::Writers => failed == writers,
            MustFail::WritersAtLeast => failed.is_superset(&writers),
            MustFail::Some => !failed.is_empty(),
            MustFail::Nobody => failed.is_empty(),
        };
        ensure!(is_so, "{}: these failed: {failed:?}", trial.set);
    }
    Ok(())
}
