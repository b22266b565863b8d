//! The driver: each of its methods on both engines.

use std::collections::{BTreeMap, BTreeSet};

use chokaq::{
    ArchiveSucceeded, ArchiveSucceededOutcome, Client, DlqFilter, Enqueue, EnqueueOutcome, FailJob, FailJobOutcome,
    FailureReason, FetchNextBatch, FetchedJob, KeepAliveOutcome, ListDlq, MarkAsProcessingOutcome, MoveToDlq,
    MoveToDlqOutcome, Pillar, PurgeArchive, PurgeArchiveBatch, PurgeDlqJobsOutcome, ReleaseJobOutcome,
    RescheduleForRetry, RescheduleForRetryOutcome, Resurrect, ResurrectJobsOutcome, ResurrectOutcome, SweepBatch,
    UpdateDlqJobData, UpdateDlqJobDataOutcome, UpdateJobData, UpdateJobDataOutcome,
};
use chokaq_tests::contract::{self, PROCEDURES};
use chokaq_tests::{Db, Engine, Result, Scenario, Session, names, scenarios};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::macros::datetime;

use crate::driver_desk;

pub const SCENARIOS: &[Scenario] = scenarios![every_method_gives_every_argument_and_reads_every_column];

pub const LONG_AGO: OffsetDateTime = datetime!(2020-01-01 00:00 UTC);
pub const FAR_AWAY: OffsetDateTime = datetime!(2100-01-01 00:00 UTC);

/// What the driver has called and read so far.
pub struct Seen {
    observer: Session,
    /// Of each procedure the parameters that were given, over all its calls.
    parameters: BTreeMap<String, BTreeSet<String>>,
}

impl Seen {
    /// The answer of the latest call, a row or several: under the names of the contract the driver read every column.
    pub async fn call(&mut self, procedure: &str, answer: Value) -> Result<()> {
        let contract = contract::procedure(procedure);
        let expected: BTreeSet<&str> = contract.columns.iter().map(String::as_str).collect();
        let rows = match answer {
            Value::Array(rows) => rows,
            row => vec![row],
        };
        assert!(!rows.is_empty(), "{procedure} answered with no row");
        for row in rows {
            let found = row.as_object().map(|row| row.keys().map(String::as_str).collect::<BTreeSet<_>>());
            assert_eq!(found.as_ref(), Some(&expected), "{procedure}");
        }
        let given = self.given(procedure).await?;
        self.parameters.entry(procedure.to_owned()).or_default().extend(given);
        Ok(())
    }

    /// The names in the latest statement of the one connection beside this one. T-SQL has them from the same place.
    async fn given(&self, procedure: &str) -> Result<Vec<String>> {
        let Session::Postgres(observer) = &self.observer else { return Ok(vec![]) };
        let sql = "SELECT query FROM pg_stat_activity
            WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
        let query = observer.query(sql, &[]).await?.one().text("Query");
        assert!(query.contains(&format!("chokaq.{}(", names::snake_case(procedure))), "{query}");
        let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        Ok(words.filter_map(|word| word.strip_prefix("p_")).map(str::to_owned).collect())
    }

    /// Every procedure was called, with every parameter.
    fn assert_complete(&self, engine: Engine) {
        for procedure in PROCEDURES.iter() {
            let given = self.parameters.get(&procedure.name);
            let given = given.unwrap_or_else(|| panic!("the driver never called {}", procedure.name));
            if engine == Engine::Postgres {
                let expected: BTreeSet<_> = procedure.parameters.iter().map(|it| names::snake_case(&it.name)).collect();
                assert_eq!(*given, expected, "{}", procedure.name);
            }
        }
    }
}

async fn every_method_gives_every_argument_and_reads_every_column(db: &Db<'_>) -> Result<()> {
    let client = Client::builder().pool_size(1).timeout(None).connect(&db.url()?).await?;
    let mut seen = Seen { observer: db.session().await?, parameters: BTreeMap::new() };
    jobs_are_worked_on(&client, &mut seen).await?;
    jobs_are_swept(&client, &mut seen).await?;
    jobs_are_repaired(&client, &mut seen).await?;
    jobs_are_purged(&client, &mut seen).await?;
    driver_desk::jobs_are_worked_on_in_sets(&client, &mut seen).await?;
    driver_desk::jobs_are_cancelled(&client, &mut seen).await?;
    driver_desk::jobs_are_taken_by_filter(&client, &mut seen).await?;
    driver_desk::queues_are_set_and_watched(&client, &mut seen).await?;
    driver_desk::the_history_is_purged(&client, &mut seen).await?;
    db.expect_archive_purged(2);

    let stats = client.get_queue_stats(Some("dead")).await?;
    assert_eq!((stats[0].dead_lettered_total, stats[0].resurrected_total), (1, 1));
    seen.call("GetQueueStats", json!(stats)).await?;
    let folded = client.fold_counters(Some(10_000)).await?;
    seen.call("FoldCounters", json!(folded)).await?;
    let version = client.check_version().await?;
    seen.call("GetVersion", json!(version)).await?;
    seen.assert_complete(db.engine);
    Ok(())
}

/// Puts jobs into queues of their own names.
pub async fn enqueue(client: &Client, ids: &[&str]) -> Result<()> {
    let jobs: Vec<_> = ids.iter().map(|id| Enqueue { job_id: Some(id), ..Enqueue::new(id, "t") }).collect();
    let answer = client.enqueue_many(&jobs).await?;
    assert!(answer.iter().all(|row| row.outcome == EnqueueOutcome::Enqueued), "{answer:?}");
    Ok(())
}

/// Fetches and starts the job of the queue of its name.
async fn start(client: &Client, id: &str) -> Result<Vec<FetchedJob>> {
    let fetch = FetchNextBatch { queues: Some(&[id]), start_now: true, ..FetchNextBatch::new("w1") };
    let jobs = client.fetch_next_batch(&fetch).await?;
    assert_eq!(jobs.iter().map(|job| &*job.job_id).collect::<Vec<_>>(), [id]);
    Ok(jobs)
}

async fn jobs_are_worked_on(client: &Client, seen: &mut Seen) -> Result<()> {
    let job = Enqueue {
        queue: "done",
        r#type: "t",
        payload: Some("{}"),
        job_id: Some("done"),
        tags: Some("x"),
        priority: Some(7),
        delay_seconds: Some(0),
        scheduled_at: Some(LONG_AGO),
        idempotency_key: Some("k"),
        created_by: Some("me"),
    };
    let answer = client.enqueue(&job).await?;
    assert_eq!(answer.outcome, EnqueueOutcome::Enqueued);
    seen.call("Enqueue", json!(answer)).await?;
    let again = client.enqueue_many(&[job, Enqueue { queue: "next", ..job }]).await?;
    assert!(again.iter().all(|row| row.outcome == EnqueueOutcome::DuplicateKey), "{again:?}");
    seen.call("EnqueueMany", json!(again)).await?;
    let answer = client.enqueue_many_json(r#"[{"queue": "free", "type": "t", "jobId": "free"}]"#).await?;
    assert_eq!(answer[0].job_id, "free");

    let fetch =
        FetchNextBatch { worker_id: "w1", batch_size: Some(2), queues: Some(&["done", "free"]), start_now: false };
    let jobs = client.fetch_next_batch(&fetch).await?;
    assert_eq!(jobs.len(), 2);
    let done = &jobs[1];
    assert_eq!((&*done.job_id, done.priority, done.scheduled_at), ("done", 7, Some(LONG_AGO)));
    assert_eq!((done.payload.as_deref(), done.tags.as_deref()), (Some("{}"), Some("x")));
    assert_eq!((done.idempotency_key.as_deref(), done.created_by.as_deref()), (Some("k"), Some("me")));
    seen.call("FetchNextBatch", json!(jobs)).await?;

    let answer = client.release_job("free", "w1").await?;
    assert_eq!(answer.outcome, ReleaseJobOutcome::Released);
    seen.call("ReleaseJob", json!(answer)).await?;
    /* The flag is given only when it is set. */
    let jobs = start(client, "free").await?;
    seen.call("FetchNextBatch", json!(jobs)).await?;

    let answer = client.mark_as_processing("done", "w1").await?;
    assert_eq!((answer.outcome, answer.attempt_count), (MarkAsProcessingOutcome::Started, Some(1)));
    seen.call("MarkAsProcessing", json!(answer)).await?;
    let answer = client.keep_alive(&["done", "nobody"], "w1").await?;
    let outcomes: Vec<_> = answer.iter().map(|row| row.outcome).collect();
    assert_eq!(outcomes, [KeepAliveOutcome::Alive, KeepAliveOutcome::Lost]);
    seen.call("KeepAlive", json!(answer)).await?;

    let end = ArchiveSucceeded {
        job_id: "done",
        worker_id: Some("w1"),
        attempt: Some(1),
        duration_ms: Some(12.5),
        resurrect_count: Some(0),
    };
    let answer = client.archive_succeeded(&end).await?;
    assert_eq!(answer.outcome, ArchiveSucceededOutcome::Archived);
    seen.call("ArchiveSucceeded", json!(answer)).await?;

    let end = RescheduleForRetry {
        job_id: "free",
        worker_id: Some("w1"),
        attempt: Some(1),
        delay_seconds: Some(0),
        error_details: Some("it broke"),
        resurrect_count: Some(0),
    };
    let answer = client.reschedule_for_retry(&end).await?;
    assert_eq!(answer.outcome, RescheduleForRetryOutcome::Rescheduled);
    seen.call("RescheduleForRetry", json!(answer)).await?;

    start(client, "free").await?;
    let end = FailJob {
        job_id: "free",
        worker_id: "w1",
        attempt: 2,
        failure_reason: FailureReason::Transient,
        error_details: Some("it broke again"),
        retry_after_seconds: Some(60),
        resurrect_count: Some(0),
    };
    let answer = client.fail_job(&end).await?;
    assert_eq!(answer.outcome, FailJobOutcome::Rescheduled);
    seen.call("FailJob", json!(answer)).await?;

    enqueue(client, &["dead"]).await?;
    start(client, "dead").await?;
    let end = MoveToDlq {
        job_id: "dead",
        failure_reason: FailureReason::FatalError,
        error_details: Some("a comma is missing"),
        worker_id: Some("w1"),
        attempt: Some(1),
        moved_by: Some("ann"),
        resurrect_count: Some(0),
    };
    let answer = client.move_to_dlq(&end).await?;
    assert_eq!((answer.outcome, answer.attempt_count), (MoveToDlqOutcome::Moved, Some(1)));
    seen.call("MoveToDLQ", json!(answer)).await
}

async fn jobs_are_swept(client: &Client, seen: &mut Seen) -> Result<()> {
    enqueue(client, &["left", "zombie1", "zombie2"]).await?;
    let take = FetchNextBatch { queues: Some(&["left"]), ..FetchNextBatch::new("w1") };
    /* Everything here sorts behind it. */
    let batch =
        SweepBatch { timeout_seconds: Some(0), batch_size: Some(10), after_queue: Some("a"), after_job_id: Some("a") };
    client.fetch_next_batch(&take).await?;
    let answer = client.recover_abandoned_batch(&batch).await?;
    assert_eq!((answer.recovered_count, answer.last_job_id.as_deref()), (1, Some("left")));
    seen.call("RecoverAbandonedBatch", json!(answer)).await?;
    client.fetch_next_batch(&take).await?;
    let answer = client.recover_abandoned(Some(0), Some(10)).await?;
    assert_eq!(answer.recovered_count, 1);
    seen.call("RecoverAbandoned", json!(answer)).await?;

    start(client, "zombie1").await?;
    let answer = client.archive_zombies_batch(&batch).await?;
    assert_eq!((answer.moved_count, answer.last_job_id.as_deref()), (1, Some("zombie1")));
    seen.call("ArchiveZombiesBatch", json!(answer)).await?;
    start(client, "zombie2").await?;
    let answer = client.archive_zombies(Some(0), Some(10)).await?;
    assert_eq!(answer.moved_count, 1);
    seen.call("ArchiveZombies", json!(answer)).await
}

async fn jobs_are_repaired(client: &Client, seen: &mut Seen) -> Result<()> {
    let left = client.get_job("left").await?;
    seen.call("GetJob", json!(left)).await?;
    let edit = UpdateJobData { job_id: "left", modified_by: "ann", ..UpdateJobData::default() };
    let given = UpdateJobData {
        payload: Some("{"),
        tags: Some("x"),
        allow_invalid_json: true,
        expected_revision: left.and_then(|job| job.revision),
        priority: Some(11),
        ..edit
    };
    for edit in [given, UpdateJobData { clear_payload: true, clear_tags: true, ..edit }] {
        let answer = client.update_job_data(&edit).await?;
        assert_eq!(answer.outcome, UpdateJobDataOutcome::Updated);
        seen.call("UpdateJobData", json!(answer)).await?;
    }

    let filter = DlqFilter {
        queue: Some("dead"),
        r#type: Some("t"),
        failure_reason: Some(FailureReason::FatalError),
        from: Some(LONG_AGO),
        to: Some(FAR_AWAY),
        search: Some("comma"),
    };
    let list = ListDlq { filter, limit: Some(10), before_failed_at: Some(FAR_AWAY), before_job_id: Some("z") };
    let listed = client.list_dlq(&list).await?;
    assert_eq!(listed.iter().map(|job| &*job.job_id).collect::<Vec<_>>(), ["dead"]);
    seen.call("ListDLQ", json!(listed)).await?;
    let edit = UpdateDlqJobData { job_id: "dead", modified_by: "ann", ..UpdateDlqJobData::default() };
    let cleared = UpdateDlqJobData { clear_payload: true, clear_tags: true, ..edit };
    let given = UpdateDlqJobData { payload: Some("{"), tags: Some("x"), allow_invalid_json: true, ..edit };
    let mut expected_revision = Some(listed[0].revision);
    for edit in [cleared, given] {
        let answer = client.update_dlq_job_data(&UpdateDlqJobData { expected_revision, ..edit }).await?;
        assert_eq!(answer.outcome, UpdateDlqJobDataOutcome::Updated);
        expected_revision = answer.revision;
        seen.call("UpdateDLQJobData", json!(answer)).await?;
    }
    let dead = client.get_dlq_job("dead").await?;
    assert_eq!(dead.as_ref().and_then(|job| job.payload.as_deref()), Some("{"));
    seen.call("GetDLQJob", json!(dead)).await?;

    let resurrection = Resurrect {
        job_id: "dead",
        resurrected_by: "ann",
        new_payload: Some("{,"),
        new_tags: Some("y"),
        new_priority: Some(12),
        allow_invalid_json: true,
        delay_seconds: Some(60),
        keep_idempotency_key: true,
        expected_revision,
    };
    let answer = client.resurrect(&resurrection).await?;
    assert_eq!(answer.outcome, ResurrectOutcome::Resurrected);
    seen.call("Resurrect", json!(answer)).await?;
    let job = client.get_job("dead").await?;
    let job = job.as_ref().map(|job| (job.pillar, job.payload.as_deref(), job.tags.as_deref(), job.priority));
    assert_eq!(job, Some((Pillar::Hot, Some("{,"), Some("y"), Some(12))));

    let answer = client.resurrect_jobs(&["zombie1", "nobody"], "ann").await?;
    let outcomes: Vec<_> = answer.iter().map(|row| row.outcome).collect();
    assert_eq!(outcomes, [ResurrectJobsOutcome::Resurrected, ResurrectJobsOutcome::NotFound]);
    seen.call("ResurrectJobs", json!(answer)).await?;
    let answer = client.resurrect_batch(&["zombie2", "nobody"], "ann", Some(1)).await?;
    assert_eq!((answer.resurrected_count, answer.not_found_count), (1, 1));
    seen.call("ResurrectBatch", json!(answer)).await
}

async fn jobs_are_purged(client: &Client, seen: &mut Seen) -> Result<()> {
    for id in ["zombie1", "zombie2"] {
        client.move_to_dlq(&MoveToDlq::new(id, FailureReason::Rejected)).await?;
    }
    let answer = client.purge_dlq_jobs(&["zombie1"], "ann").await?;
    assert_eq!(answer[0].outcome, PurgeDlqJobsOutcome::Purged);
    seen.call("PurgeDLQJobs", json!(answer)).await?;
    let answer = client.purge_dlq(&["zombie1", "zombie2"], "ann", Some(1)).await?;
    assert_eq!((answer.purged_count, answer.not_found_count), (1, 1));
    seen.call("PurgeDLQ", json!(answer)).await?;

    /* "done" is in the Archive. */
    let batch = PurgeArchiveBatch {
        older_than: FAR_AWAY,
        cleanup_batch_size: Some(10),
        purged_by: Some("ann"),
        after_finished_at: Some(LONG_AGO),
        after_job_id: Some("a"),
    };
    let answer = client.purge_archive_batch(&batch).await?;
    assert_eq!((answer.deleted_count, answer.last_job_id.as_deref()), (1, Some("done")));
    seen.call("PurgeArchiveBatch", json!(answer)).await?;
    enqueue(client, &["last"]).await?;
    start(client, "last").await?;
    client.archive_succeeded(&ArchiveSucceeded { job_id: "last", ..ArchiveSucceeded::default() }).await?;
    let purge = PurgeArchive {
        older_than: FAR_AWAY,
        cleanup_batch_size: Some(10),
        max_batches: Some(5),
        purged_by: Some("ann"),
    };
    let answer = client.purge_archive(&purge).await?;
    assert_eq!((answer.deleted_count, answer.has_more), (1, false));
    seen.call("PurgeArchive", json!(answer)).await
}
