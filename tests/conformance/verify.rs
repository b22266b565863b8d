//! `migrate verify`: a database as it was shipped is clean, and whatever somebody did to it is named.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use chokaq::{Client, DriftKind};
use chokaq_tests::{Db, Engine, Result, Rights, Scenario, Session, args, scenario, values};

use crate::program::run;

/* Deployed to a database of their own, which takes its time where procedures are slow to make. */
const LIMIT: Duration = Duration::from_secs(900);

pub const SCENARIOS: &[Scenario] = &[
    scenario!(exactly_the_listed_facts_are_deployed).limit(LIMIT),
    scenario!(a_database_as_it_was_deployed_has_no_drift).limit(LIMIT),
    scenario!(each_change_by_hand_is_named).limit(LIMIT),
    scenario!(a_database_without_the_kit_has_no_schema),
    scenario!(a_login_without_any_right_sees_the_catalog_but_not_the_history).only(Engine::Postgres),
    scenario!(every_module_has_the_set_options_that_filtered_indexes_need).only(Engine::Mssql),
];

/// The list that the program holds, `driver/src/deploy/verify/<dialect>/shipped.txt`, written anew by a run with
/// `CHOKAQ_UPDATE_INVENTORY=1`.
async fn exactly_the_listed_facts_are_deployed(db: &Db<'_>) -> Result<()> {
    let found = Client::connect(&db.url()?).await?.deploy().facts().await?;
    let list = format!("../driver/src/deploy/verify/{}/shipped.txt", db.engine);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(list);
    if std::env::var_os("CHOKAQ_UPDATE_INVENTORY").is_some() {
        std::fs::write(&path, &found)?;
    }
    let list = std::fs::read_to_string(&path)?;
    let gone: Vec<_> = list.lines().filter(|line| !found.lines().any(|it| it == *line)).collect();
    let new: Vec<_> = found.lines().filter(|line| !list.lines().any(|it| it == *line)).collect();
    assert!(found == list, "listed and not deployed: {gone:#?}, deployed and not listed: {new:#?}");
    Ok(())
}

async fn a_database_as_it_was_deployed_has_no_drift(db: &Db<'_>) -> Result<()> {
    let verification = Client::connect(&db.url()?).await?.deploy().verify().await?;
    assert_eq!(verification.drift, []);
    assert!(verification.compared > 300, "{}", verification.compared);
    Ok(())
}

/// One thing that somebody does, and the line that tells it.
struct Change {
    postgres: &'static str,
    mssql: &'static str,
    /// Kind, object in PostgreSQL, object in T-SQL, drift, part of the detail.
    told: (&'static str, &'static str, &'static str, &'static str, &'static str),
}

const CHANGES: &[Change] = &[
    Change {
        postgres: "DROP INDEX chokaq.ix_jobs_dlq_type_failed_at_utc_id",
        mssql: "DROP INDEX IX_JobsDLQ_Type_FailedAtUtc_Id ON chokaq.JobsDLQ",
        told: (
            "index",
            "jobs_dlq.ix_jobs_dlq_type_failed_at_utc_id",
            "jobsdlq.ix_jobsdlq_type_failedatutc_id",
            "missing",
            "not there",
        ),
    },
    Change {
        postgres: "DROP INDEX chokaq.ix_jobs_archive_finished_at_utc_id;
            CREATE INDEX ix_jobs_archive_finished_at_utc_id ON chokaq.jobs_archive (finished_at_utc DESC, id)",
        mssql: "DROP INDEX IX_JobsArchive_FinishedAtUtc_Id ON chokaq.JobsArchive;
            CREATE INDEX IX_JobsArchive_FinishedAtUtc_Id ON chokaq.JobsArchive (FinishedAtUtc DESC, Id)",
        told: (
            "index",
            "jobs_archive.ix_jobs_archive_finished_at_utc_id",
            "jobsarchive.ix_jobsarchive_finishedatutc_id",
            "changed",
            " desc, id, not finished",
        ),
    },
    Change {
        postgres: "DROP INDEX chokaq.ix_jobs_hot_queue_id;
            CREATE INDEX ix_jobs_hot_queue_id ON chokaq.jobs_hot (queue, id)",
        mssql: "DROP INDEX IX_JobsHot_Queue_Id ON chokaq.JobsHot;
            CREATE INDEX IX_JobsHot_Queue_Id ON chokaq.JobsHot (Queue, Id)",
        told: (
            "index",
            "jobs_hot.ix_jobs_hot_queue_id",
            "jobshot.ix_jobshot_queue_id",
            "changed",
            "where is none, not ",
        ),
    },
    Change {
        postgres: "CREATE INDEX ix_by_hand ON chokaq.jobs_hot (created_by)",
        mssql: "CREATE INDEX IX_ByHand ON chokaq.JobsHot (CreatedBy)",
        told: ("index", "jobs_hot.ix_by_hand", "jobshot.ix_byhand", "extra", "no such index"),
    },
    Change {
        postgres: "REVOKE EXECUTE ON ROUTINE chokaq.release_worker FROM chokaq_worker",
        mssql: "REVOKE EXECUTE ON OBJECT::chokaq.usp_ReleaseWorker FROM chokaq_worker",
        told: (
            "grant",
            "release_worker(text) to chokaq_worker",
            "usp_releaseworker to chokaq_worker",
            "missing",
            "execute is not granted",
        ),
    },
    Change {
        postgres: "GRANT SELECT ON chokaq.jobs_dlq TO chokaq_worker",
        mssql: "GRANT SELECT ON OBJECT::chokaq.JobsDLQ TO chokaq_worker",
        told: ("grant", "jobs_dlq to chokaq_worker", "jobsdlq to chokaq_worker", "extra", "select is not granted by"),
    },
    Change {
        postgres: "CREATE PROCEDURE chokaq.by_hand() LANGUAGE sql AS 'SELECT 1'",
        mssql: "CREATE PROCEDURE chokaq.usp_ByHand AS SELECT 1 AS N",
        told: ("procedure", "by_hand()", "usp_byhand", "extra", "no such procedure"),
    },
    Change {
        postgres: "ALTER TABLE chokaq.jobs_archive ALTER COLUMN tags TYPE varchar(2000)",
        mssql: "ALTER TABLE chokaq.JobsArchive ALTER COLUMN Tags NVARCHAR(2000)",
        told: ("column", "jobs_archive.tags", "jobsarchive.tags", "changed", "type is "),
    },
    Change {
        postgres: "ALTER TABLE chokaq.queues ADD COLUMN note text",
        mssql: "ALTER TABLE chokaq.Queues ADD Note NVARCHAR(10) NULL",
        told: ("column", "queues.note", "queues.note", "extra", "no such column"),
    },
    Change {
        postgres: "ALTER TABLE chokaq.queues DROP CONSTRAINT ck_queues_max_attempts",
        mssql: "ALTER TABLE chokaq.Queues DROP CONSTRAINT CK_Queues_MaxAttempts",
        told: ("constraint", "queues.ck_queues_max_attempts", "queues.ck_queues_maxattempts", "missing", "not there"),
    },
    Change {
        postgres: "DROP TABLE chokaq.metric_buckets",
        mssql: "DROP TABLE chokaq.MetricBuckets",
        told: ("table", "metric_buckets", "metricbuckets", "missing", "not there"),
    },
    Change {
        postgres: "CREATE OR REPLACE VIEW chokaq.stats_summary AS
            SELECT t.queue, t.succeeded AS succeeded_total, t.succeeded AS failed_total, t.retried AS retried_total,
                t.last_activity_utc, t.enqueued AS enqueued_total, t.dead_lettered AS dead_lettered_total,
                t.resurrected AS resurrected_total, t.purged AS purged_total
            FROM chokaq.queue_totals AS t",
        mssql: "DROP VIEW chokaq.StatsSummary; EXECUTE (N'CREATE VIEW chokaq.StatsSummary AS SELECT 1 AS N')",
        told: ("view", "stats_summary", "statssummary", "changed", " is "),
    },
    Change {
        postgres: "DELETE FROM chokaq_schema_history WHERE version = 250",
        mssql: "DELETE FROM chokaq_schema_history WHERE version = 250",
        told: ("migration", "V0250__permissions", "V0250__permissions", "older", "not applied"),
    },
    Change {
        postgres: "UPDATE chokaq_schema_history SET checksum = '1' WHERE version = 2",
        mssql: "UPDATE chokaq_schema_history SET checksum = '1' WHERE version = 2",
        told: ("migration", "V0002__tables", "V0002__tables", "changed", "another text"),
    },
    /* Before the newest that is known, so that none of ours counts as skipped. */
    Change {
        postgres: "UPDATE chokaq_schema_history SET name = 'later', version = 199 WHERE version = 228",
        mssql: "UPDATE chokaq_schema_history SET name = 'later', version = 199 WHERE version = 228",
        told: ("migration", "V0199__later", "V0199__later", "newer", "does not know"),
    },
];

/// Changes of PostgreSQL alone: what it has and T-SQL has not, or what Babelfish does not keep.
const POSTGRES_CHANGES: &[[&str; 5]] = &[
    [
        "ALTER FUNCTION chokaq.get_job(text) RESET search_path",
        "function",
        "get_job(text)",
        "changed",
        "set is none, not search_path=pg_catalog, pg_temp",
    ],
    [
        "ALTER FUNCTION chokaq.get_job_history(text) SECURITY INVOKER VOLATILE",
        "function",
        "get_job_history(text)",
        "changed",
        "security is invoker, not definer; volatility is volatile, not stable",
    ],
    [
        "GRANT EXECUTE ON FUNCTION chokaq.utf16_length(text) TO PUBLIC",
        "grant",
        "utf16_length(text) to PUBLIC",
        "extra",
        "execute is not granted by",
    ],
    [
        "CREATE FUNCTION public.t() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
        CREATE TRIGGER t AFTER INSERT ON chokaq.jobs_dlq EXECUTE FUNCTION public.t()",
        "trigger",
        "jobs_dlq.t",
        "extra",
        "no such trigger",
    ],
];

async fn each_change_by_hand_is_named(db: &Db<'_>) -> Result<()> {
    let _alone = db.deploy_alone().await?;
    let name = db.empty_database().await?;
    let url = db.url_of(&name)?;
    let deploy = Client::connect(&url).await?.deploy();
    deploy.up().await?;
    assert_eq!(run(Some(&url), &["migrate", "verify"]).await?.code, Some(0));

    let mut s = db.connect(&name).await?;
    let mut expected = BTreeSet::new();
    let mut details = Vec::new();
    for Change { postgres, mssql, told: (kind, in_postgres, in_mssql, drift, detail) } in CHANGES {
        s.batch(postgres, mssql).await?;
        let object = if db.engine == Engine::Postgres { in_postgres } else { in_mssql };
        expected.insert(format!("{kind} {object} {drift}"));
        details.push((*object, *detail));
    }
    /* Row 228 became row 199, so its own place is empty though later ones are applied. */
    let get_version = if db.engine == Engine::Postgres { "V0228__get_version" } else { "V0228__usp_GetVersion" };
    expected.insert(format!("migration {get_version} missing"));
    if db.engine == Engine::Postgres {
        for [sql, kind, object, drift, detail] in POSTGRES_CHANGES {
            s.batch(sql, "").await?;
            expected.insert(format!("{kind} {object} {drift}"));
            details.push((*object, *detail));
        }
        make_an_index_invalid(&mut s).await?;
        expected.insert("index jobs_hot.uq_jobs_hot_idempotency_key changed".to_owned());
        details.push(("jobs_hot.uq_jobs_hot_idempotency_key", "valid is no, not yes"));
    }
    let changed = change_one_character(&mut s).await?;
    expected.insert(changed.clone());

    let told = run(Some(&url), &["--json", "migrate", "verify"]).await?;
    assert_eq!(told.code, Some(1), "{}", told.stderr);
    let rows = told.json()?;
    let word = |row: &serde_json::Value, column: &str| row[column].as_str().unwrap_or_default().to_owned();
    let named: BTreeSet<_> = rows
        .iter()
        .map(|row| format!("{} {} {}", word(row, "Kind"), word(row, "Object"), word(row, "Drift")))
        .collect();
    let silent: Vec<_> = expected.difference(&named).collect();
    let more: Vec<_> = named.difference(&expected).collect();
    assert!(silent.is_empty() && more.is_empty(), "not named: {silent:#?}, named besides: {more:#?}");
    for (object, detail) in details {
        let row = rows.iter().find(|row| row["Object"] == object).expect(object);
        assert!(word(row, "Detail").contains(detail), "{object}: {}", row["Detail"]);
    }
    let row = rows.iter().find(|row| changed.contains(&word(row, "Object"))).expect("the changed module");
    let detail = word(row, "Detail");
    assert!(detail.starts_with("line ") && detail.contains("not_fuond") && detail.contains("not_found"), "{detail}");

    let shown = run(Some(&url), &["migrate", "verify", "--diff"]).await?;
    let line = |sign: char, word: &str| shown.lines.iter().any(|line| line.starts_with(sign) && line.contains(word));
    assert!(line('-', "not_found") && line('+', "not_fuond"), "{:#?}", shown.lines);
    Ok(())
}

/// Two letters of ReleaseJob change places, as in a repair by hand. Says which line tells it.
async fn change_one_character(s: &mut Session) -> Result<String> {
    match s {
        Session::Postgres(session) => {
            let sql = "SELECT replace(pg_get_functiondef('chokaq.release_job'::regproc), 'not_found''', 'not_fuond''') AS text";
            let text = session.query(sql, &[]).await?.one().text("Text");
            session.batch(&text).await?;
            Ok("function release_job(text, text) changed".to_owned())
        }
        Session::Mssql(session) => {
            let sql = "SELECT REPLACE(definition, N'not_found''', N'not_fuond''') AS Text FROM sys.sql_modules
                WHERE object_id = OBJECT_ID(N'chokaq.usp_ReleaseJob')";
            let text = session.query(sql, &[]).await?.one().text("Text");
            session.batch(&text.replacen("CREATE ", "ALTER ", 1)).await?;
            Ok("procedure usp_releasejob changed".to_owned())
        }
    }
}

/// A concurrent build that fails leaves the index behind: written to, and never used.
async fn make_an_index_invalid(s: &mut Session) -> Result<()> {
    for job in ["a1", "a2"] {
        s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: job }).await?;
    }
    s.batch("DROP INDEX chokaq.uq_jobs_hot_idempotency_key", "").await?;
    s.batch("UPDATE chokaq.jobs_hot SET idempotency_key = 'same'", "").await?;
    let build = "CREATE UNIQUE INDEX CONCURRENTLY uq_jobs_hot_idempotency_key ON chokaq.jobs_hot (idempotency_key)
        WHERE idempotency_key IS NOT NULL";
    s.batch(build, "").await.expect_err("two rows have one key");
    Ok(())
}

async fn a_database_without_the_kit_has_no_schema(db: &Db<'_>) -> Result<()> {
    let name = db.empty_database().await?;
    let told = run(Some(&db.url_of(&name)?), &["--json", "migrate", "verify"]).await?;
    assert_eq!(told.code, Some(1), "{}", told.stderr);
    let rows = told.json()?;
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!((&rows[0]["Kind"], &rows[0]["Drift"]), (&"schema".into(), &"missing".into()));
    Ok(())
}

/// What cannot be read is never taken for clean.
async fn a_login_without_any_right_sees_the_catalog_but_not_the_history(db: &Db<'_>) -> Result<()> {
    let login = db.login(Rights::Of(&[])).await?;
    let verification = Client::connect(&db.url_as(&login)?).await?.deploy().verify().await?;
    let told: Vec<_> = verification.drift.iter().map(|it| (&*it.object, it.drift)).collect();
    assert_eq!(told, [("chokaq_schema_history", DriftKind::Unreadable)], "{:?}", verification.drift);
    let mut owner = db.session().await?;
    owner.batch(&format!("GRANT SELECT ON chokaq_schema_history TO {login}"), "").await?;
    let verification = Client::connect(&db.url_as(&login)?).await?.deploy().verify().await?;
    owner.batch(&format!("REVOKE SELECT ON chokaq_schema_history FROM {login}"), "").await?;
    assert_eq!(verification.drift, []);
    Ok(())
}

/// Said by the server itself. (Babelfish says so of every module.)
async fn every_module_has_the_set_options_that_filtered_indexes_need(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let modules = "SELECT COUNT(*) AS N FROM sys.sql_modules AS m
        INNER JOIN sys.objects AS o ON o.object_id = m.object_id
        WHERE o.schema_id = SCHEMA_ID(N'chokaq') AND (@P1 = 0 OR m.uses_quoted_identifier = 0 OR m.uses_ansi_nulls = 0)";
    assert!(s.count(modules, &values![0]).await? > 60);
    assert_eq!(s.count(modules, &values![1]).await?, 0);
    Ok(())
}
