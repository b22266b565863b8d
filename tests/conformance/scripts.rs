//! The queries and timetables of `sql/`: what a DBA pastes answers, and what a timer is told to run runs.

use std::collections::BTreeMap;

use chokaq_tests::{Db, Engine, Result, Rows, Scenario, Session, args, scenarios, values};
use time::Duration;

use crate::{arrange, by_hand};

pub const SCENARIOS: &[Scenario] = scenarios![
    the_health_queries_find_what_is_wrong,
    the_triage_queries_say_why_and_who,
    the_timetable_has_five_jobs_once_and_each_does_its_part,
];

/// The answers of a file's queries by their labels, `H1` and so on; each is pasted by itself.
async fn answers(session: &mut Session, name: &str) -> Result<BTreeMap<String, Rows>> {
    let text = by_hand::read(session.engine(), name)?;
    let (preamble, queries) = text.split_once("\n\n").expect("a preamble and queries");
    session.batch(preamble, preamble).await?;
    let mut answers = BTreeMap::new();
    for query in queries.split("\n\n") {
        let label = query.trim_start_matches(['/', '*', '\n', ' ']).split(':').next().unwrap_or_default();
        let rows = match session {
            Session::Postgres(session) => session.query(query, &[]).await?,
            Session::Mssql(session) => session.query(query, &[]).await?,
        };
        assert!(answers.insert(label.to_owned(), rows).is_none(), "{name} has two queries {label}");
    }
    Ok(answers)
}

async fn the_health_queries_find_what_is_wrong(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "paused", "waits").await?;
    s.call("SetQueuePaused", args! { Queue: "paused", IsPaused: true, ModifiedBy: "ann" }).await?;
    s.call("SetQueueMaxWorkers", args! { Queue: "full", MaxWorkers: 1, ModifiedBy: "bob" }).await?;
    arrange::processing(&mut s, "full", "runs").await?;
    arrange::pending(&mut s, "full", "next").await?;
    arrange::processing(&mut s, "stuck", "silent").await?;
    arrange::backdate(&mut s, "stuck", "HeartbeatUtc", 700).await?;
    arrange::dead(&mut s, "broken", "dead").await?;

    let answers = answers(&mut s, "health.sql").await?;
    assert!(answers.keys().eq(["H1", "H2", "H3", "H4", "H5", "H6", "H7", "H8"]), "{:?}", answers.keys());
    assert_eq!(answers["H1"].texts("Queue"), ["broken", "full", "paused", "stuck"]);
    let standing: BTreeMap<_, _> = answers["H2"]
        .rows
        .iter()
        .map(|row| (row.text("Queue"), (row.text("Why"), row.text("LastModifiedBy"))))
        .collect();
    let said = |why: &str, by: &str| (why.to_owned(), by.to_owned());
    assert_eq!(
        standing,
        [("full".to_owned(), said("full", "bob")), ("paused".to_owned(), said("paused", "ann"))].into()
    );
    assert_eq!(answers["H3"].texts("Id"), ["waits", "next"]);
    let workers = &answers["H4"].rows;
    assert_eq!(workers.len(), 1);
    assert_eq!((workers[0].text("WorkerId"), workers[0].int("ProcessingCount")), ("w1".to_owned(), 2));
    assert_eq!(answers["H5"].texts("Id"), ["silent"]);
    assert_eq!(answers["H6"].texts("Id"), ["runs", "silent"]);
    assert_eq!(answers["H7"].rows.iter().map(|row| row.int("DeadLettered")).sum::<i64>(), 1);
    let unfolded = answers["H8"].rows[0].int("UnfoldedCount");
    assert_eq!(unfolded, s.count("SELECT COUNT(*) AS N FROM chokaq.CounterDeltas", &[]).await?);
    Ok(())
}

async fn the_triage_queries_say_why_and_who(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::many_dead(&mut s, "q", &arrange::ids("zombie", 3)).await?;
    arrange::dead(&mut s, "q", "fatal").await?;
    let long_ago = s.now().await? - Duration::days(8);
    s.sql("UPDATE chokaq.JobsDLQ SET FailedAtUtc = @P1 WHERE Id = 'fatal'", &values![long_ago]).await?;
    s.call("SetQueuePaused", args! { Queue: "q", IsPaused: true, ModifiedBy: "ann" }).await?;
    s.call("UpdateDLQJobData", args! { JobId: "fatal", Tags: "seen", ModifiedBy: "bob" }).await?;

    let found = answers(&mut s, "triage.sql").await?;
    let labels = ["T1", "T10", "T11", "T2", "T3", "T4", "T5", "T6", "T7", "T8", "T9"];
    assert!(found.keys().eq(labels), "{:?}", found.keys());
    assert_eq!(found["T1"].texts("FailureReasonName"), ["Zombie", "FatalError"]);
    let families = &found["T2"];
    assert_eq!(families.texts("Family"), ["Zombie", "Fatal"]);
    assert_eq!(families.rows[0].float("Percentage"), 75.0);
    assert_eq!(families.column("FailedLastHour"), values![3, 0]);
    assert_eq!((found["T3"].rows[0].text("Type"), found["T3"].rows[0].int("JobCount")), ("t".to_owned(), 4));
    let old = &found["T4"].rows[0];
    assert_eq!((old.int("OverADay"), old.int("OverAWeek"), old.int("OverAMonth")), (1, 1, 0));
    assert_eq!(found["T5"].texts("Id")[0], "fatal");
    assert_eq!((found["T6"].rows[0].text("WorkerId"), found["T6"].rows[0].int("JobCount")), ("w1".to_owned(), 3));
    assert_eq!(found["T7"].texts("ErrorBegins"), ["it broke"]);
    assert_eq!(found["T8"].texts("Actor"), ["bob", "ann"]);
    assert_eq!(found["T9"].texts("NewSettings"), ["{\"isPaused\": true}"]);
    assert!(found["T10"].rows.is_empty() && found["T11"].rows.is_empty(), "the counters are right");

    /* What somebody did past the procedures shows. */
    db.expect_broken_accounts();
    arrange::pending(&mut s, "q", "double").await?;
    arrange::force(&mut s, "double", "JobsDLQ").await?;
    let found = answers(&mut s, "triage.sql").await?;
    let row = &found["T10"].rows[0];
    assert_eq!((row.int("FailedTotal"), row.int("DLQCount"), row.int("HotCount")), (4, 5, 1));
    assert_eq!(found["T11"].texts("Id"), ["double"]);
    assert_eq!(found["T11"].column("IsInDLQ"), values![true]);
    Ok(())
}

/// What stands in for a timer that this server does not have: it keeps the command of each job, and takes no other call
/// than the real one does.
const PG_CRON: &[&str] = &["
    CREATE SCHEMA cron;
    CREATE TABLE cron.job (jobname text, username text, command text, UNIQUE (jobname, username));
    CREATE FUNCTION cron.schedule_in_database(
        job_name text, schedule text, command text, database text, username text DEFAULT NULL, active boolean DEFAULT true
    )
    RETURNS bigint
    LANGUAGE sql
    AS $$
        INSERT INTO cron.job AS j (jobname, username, command) VALUES ($1, $5, $3)
        ON CONFLICT ON CONSTRAINT job_jobname_username_key DO UPDATE SET command = excluded.command
        RETURNING 1::bigint;
    $$;"];
const AGENT: &[&str] = &[
    "CREATE SCHEMA agent;",
    "CREATE TABLE agent.sysjobs_view (name SYSNAME NOT NULL, command NVARCHAR(MAX) NULL);",
    "CREATE PROCEDURE agent.sp_delete_job @job_name SYSNAME, @delete_unused_schedule BIT AS
    DELETE FROM agent.sysjobs_view WHERE name = @job_name;",
    "CREATE PROCEDURE agent.sp_add_job @job_name SYSNAME, @description NVARCHAR(512) AS
    INSERT INTO agent.sysjobs_view (name) VALUES (@job_name);",
    "CREATE PROCEDURE agent.sp_add_jobstep @job_name SYSNAME, @step_name SYSNAME, @subsystem NVARCHAR(40),
        @database_name SYSNAME, @command NVARCHAR(MAX), @retry_attempts INT, @retry_interval INT AS
    UPDATE agent.sysjobs_view SET command = @command WHERE name = @job_name;",
    "CREATE PROCEDURE agent.sp_add_schedule @schedule_name SYSNAME, @freq_type INT, @freq_interval INT,
        @freq_subday_type INT, @freq_subday_interval INT, @freq_recurrence_factor INT, @active_start_time INT,
        @schedule_id INT OUTPUT AS
    SET @schedule_id = 1;",
    "CREATE PROCEDURE agent.sp_attach_schedule @job_name SYSNAME, @schedule_id INT AS RETURN 0;",
    "CREATE PROCEDURE agent.sp_add_jobserver @job_name SYSNAME AS RETURN 0;",
];
const NO_AGENT: &str = "
    DROP PROCEDURE agent.sp_delete_job; DROP PROCEDURE agent.sp_add_job; DROP PROCEDURE agent.sp_add_jobstep;
    DROP PROCEDURE agent.sp_add_schedule; DROP PROCEDURE agent.sp_attach_schedule; DROP PROCEDURE agent.sp_add_jobserver;
    DROP TABLE agent.sysjobs_view; DROP SCHEMA agent;";

async fn the_timetable_has_five_jobs_once_and_each_does_its_part(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let (timer, name, commands) = match db.engine {
        Engine::Postgres => (PG_CRON, "pg-cron.sql", "SELECT j.jobname AS name, j.command FROM cron.job AS j"),
        Engine::Mssql => {
            (AGENT, "agent-jobs.sql", "SELECT j.name AS Name, j.command AS Command FROM agent.sysjobs_view AS j")
        }
    };
    for batch in timer {
        s.batch(batch, batch).await?;
    }
    let script = by_hand::read(db.engine, name)?.replace("msdb.dbo.", "agent.");
    for _ in 0..2 {
        s.batch(&script, &script).await?;
    }

    arrange::archived(&mut s, "done", "old").await?;
    arrange::fetched(&mut s, "lost", "fetched").await?;
    arrange::processing(&mut s, "lost", "running").await?;
    arrange::backdate(&mut s, "lost", "HeartbeatUtc", 700).await?;
    s.call("SetQueuePaused", args! { Queue: "done", IsPaused: true, ModifiedBy: "ann" }).await?;
    let now = s.now().await?;
    s.sql("UPDATE chokaq.JobsArchive SET FinishedAtUtc = @P1", &values![now - Duration::days(91)]).await?;
    s.sql("UPDATE chokaq.OperatorHistory SET AtUtc = @P1", &values![now - Duration::days(367)]).await?;
    db.expect_archive_purged(1);

    let jobs = match &mut s {
        Session::Postgres(session) => session.query(commands, &[]).await?,
        Session::Mssql(session) => session.query(commands, &[]).await?,
    };
    assert_eq!(jobs.rows.len(), 5, "{:?}", jobs.texts("Name"));
    for command in jobs.texts("Command") {
        s.batch(&command, &command).await?;
    }
    assert_eq!(arrange::job(&mut s, "fetched").await?["Status"], 0);
    assert_eq!(arrange::job(&mut s, "running").await?["FailureReason"], 2);
    assert_eq!(arrange::pillar(&mut s, "old").await?, "");
    let actions = s.sql("SELECT Action FROM chokaq.OperatorHistory ORDER BY Action", &[]).await?.texts("Action");
    assert_eq!(actions, ["archive_purged", "history_purged"]);
    let fold =
        jobs.rows.iter().find(|row| row.text("Name").ends_with(": fold")).expect("a job that folds").text("Command");
    s.batch(&fold, &fold).await?;
    assert_eq!(s.count("SELECT COUNT(*) AS N FROM chokaq.CounterDeltas", &[]).await?, 0);

    /* The database goes on to another case. */
    if db.engine == Engine::Mssql {
        s.batch("", NO_AGENT).await?;
    }
    Ok(())
}
