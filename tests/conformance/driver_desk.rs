//! The second half of `driver.rs`: the methods for sets, cancellation, filters, history, queues and health.

use chokaq::{
    ArchiveCancelledBatch, ArchiveSucceededJobsOutcome, CancelJobsOutcome, Client, DlqFilter, FailureReason,
    FetchNextBatch, FinishedJob, HistoryAction, MarkAsProcessingOutcome, MoveToDlq, PurgeDlqByFilter,
    PurgeDlqByFilterBatch, PurgeHistoryBatch, ResurrectByFilter, ResurrectByFilterBatch, SetQueueOutcome,
    SetQueueRetryPolicy,
};
use chokaq_tests::Result;
use serde_json::json;

use crate::driver::{FAR_AWAY, LONG_AGO, Seen, enqueue};

pub async fn jobs_are_worked_on_in_sets(client: &Client, seen: &mut Seen) -> Result<()> {
    enqueue(client, &["set1", "set2", "set3"]).await?;
    let fetch = FetchNextBatch { queues: Some(&["set1", "set2", "set3"]), ..FetchNextBatch::new("w2") };
    assert_eq!(client.fetch_next_batch(&fetch).await?.len(), 3);
    let answer = client.mark_jobs_as_processing(&["set1", "set2"], "w2").await?;
    assert!(answer.iter().all(|row| row.outcome == MarkAsProcessingOutcome::Started), "{answer:?}");
    seen.call("MarkJobsAsProcessing", json!(answer)).await?;
    let done = FinishedJob { job_id: "set1", attempt: Some(1), duration_ms: Some(2.5), resurrect_count: Some(0) };
    let answer = client.archive_succeeded_jobs(&[done], "w2").await?;
    assert_eq!(answer[0].outcome, ArchiveSucceededJobsOutcome::Archived);
    seen.call("ArchiveSucceededJobs", json!(answer)).await?;
    let answer = client.release_worker("w2").await?;
    assert_eq!((answer.released_count, answer.processing_count), (1, 1));
    seen.call("ReleaseWorker", json!(answer)).await
}

pub async fn jobs_are_cancelled(client: &Client, seen: &mut Seen) -> Result<()> {
    enqueue(client, &["off1", "off2"]).await?;
    let answer = client.cancel_jobs(&["off1", "nobody"], "ann", Some("sent by hand")).await?;
    let outcomes: Vec<_> = answer.iter().map(|row| row.outcome).collect();
    assert_eq!(outcomes, [CancelJobsOutcome::Cancelled, CancelJobsOutcome::NotFound]);
    seen.call("CancelJobs", json!(answer)).await?;
    let batch = ArchiveCancelledBatch {
        job_ids: &["off1", "off2"],
        cancelled_by: "ann",
        reason: Some("sent by hand"),
        batch_size: Some(1),
    };
    let answer = client.archive_cancelled_batch(&batch).await?;
    assert_eq!((answer.cancelled_count, answer.already_cancelled_count), (1, 1));
    seen.call("ArchiveCancelledBatch", json!(answer)).await?;
    let history = client.get_job_history("off1").await?;
    assert_eq!((history.len(), history[0].action), (1, HistoryAction::Cancelled));
    seen.call("GetJobHistory", json!(history)).await?;
    let summary = client.summarize_dlq(Some("off1"), Some("t")).await?;
    assert_eq!((summary.len(), summary[0].job_count), (1, 1));
    seen.call("SummarizeDLQ", json!(summary)).await
}

/// Every filter, and each of them fits the two jobs.
fn filter<'a>(queue: &'a str) -> DlqFilter<'a> {
    DlqFilter {
        queue: Some(queue),
        r#type: Some("t"),
        failure_reason: Some(FailureReason::Rejected),
        from: Some(LONG_AGO),
        to: Some(FAR_AWAY),
        search: Some("comma"),
    }
}

pub async fn jobs_are_taken_by_filter(client: &Client, seen: &mut Seen) -> Result<()> {
    for id in ["back1", "back2", "gone1", "gone2"] {
        enqueue(client, &[id]).await?;
        let end =
            MoveToDlq { error_details: Some("a comma is missing"), ..MoveToDlq::new(id, FailureReason::Rejected) };
        client.move_to_dlq(&end).await?;
    }
    let batch = ResurrectByFilterBatch {
        what_if: false,
        batch_size: Some(10),
        after_failed_at: Some(LONG_AGO),
        after_job_id: Some("a"),
        ..ResurrectByFilterBatch::new(filter("back1"), "ann")
    };
    let answer = client.resurrect_by_filter_batch(&batch).await?;
    assert_eq!((answer.resurrected_count, answer.last_job_id.as_deref()), (1, Some("back1")));
    seen.call("ResurrectByFilterBatch", json!(answer)).await?;
    let all = ResurrectByFilter {
        what_if: false,
        max_jobs: Some(5),
        batch_size: Some(10),
        ..ResurrectByFilter::new(filter("back2"), "ann")
    };
    let answer = client.resurrect_by_filter(&all).await?;
    assert_eq!((answer.resurrected_count, answer.has_more), (1, false));
    seen.call("ResurrectByFilter", json!(answer)).await?;
    let batch = PurgeDlqByFilterBatch {
        what_if: false,
        cleanup_batch_size: Some(10),
        after_failed_at: Some(LONG_AGO),
        after_job_id: Some("a"),
        ..PurgeDlqByFilterBatch::new(filter("gone1"), "ann")
    };
    let answer = client.purge_dlq_by_filter_batch(&batch).await?;
    assert_eq!((answer.purged_count, answer.last_job_id.as_deref()), (1, Some("gone1")));
    seen.call("PurgeDLQByFilterBatch", json!(answer)).await?;
    let all = PurgeDlqByFilter {
        what_if: false,
        max_jobs: Some(5),
        cleanup_batch_size: Some(10),
        ..PurgeDlqByFilter::new(filter("gone2"), "ann")
    };
    let answer = client.purge_dlq_by_filter(&all).await?;
    assert_eq!((answer.purged_count, answer.has_more), (1, false));
    seen.call("PurgeDLQByFilter", json!(answer)).await
}

pub async fn queues_are_set_and_watched(client: &Client, seen: &mut Seen) -> Result<()> {
    let answer = client.set_queue_paused("desk", true, "ann").await?;
    assert_eq!((answer.outcome, answer.queue.is_paused), (SetQueueOutcome::Created, true));
    seen.call("SetQueuePaused", json!(answer)).await?;
    let answer = client.set_queue_active("desk", false, "ann").await?;
    assert_eq!((answer.outcome, answer.queue.is_active), (SetQueueOutcome::Updated, false));
    seen.call("SetQueueActive", json!(answer)).await?;
    let answer = client.set_queue_max_workers("desk", Some(7), "ann").await?;
    assert_eq!(answer.queue.max_workers, Some(7));
    seen.call("SetQueueMaxWorkers", json!(answer)).await?;
    let answer = client.set_queue_zombie_timeout("desk", Some(60), "ann").await?;
    assert_eq!(answer.queue.zombie_timeout_seconds, Some(60));
    seen.call("SetQueueZombieTimeout", json!(answer)).await?;
    let policy = SetQueueRetryPolicy {
        max_attempts: Some(5),
        base_delay_seconds: Some(1),
        backoff_multiplier: Some(1.5),
        max_delay_seconds: Some(60),
        jitter_seconds: Some(2),
        max_job_age_seconds: Some(3600),
        ..SetQueueRetryPolicy::new("desk", "ann")
    };
    let answer = client.set_queue_retry_policy(&policy).await?;
    assert_eq!((answer.queue.max_attempts, answer.queue.max_job_age_seconds), (5, Some(3600)));
    seen.call("SetQueueRetryPolicy", json!(answer)).await?;
    let clear = SetQueueRetryPolicy { clear_max_job_age: true, ..SetQueueRetryPolicy::new("desk", "ann") };
    let answer = client.set_queue_retry_policy(&clear).await?;
    assert_eq!((answer.outcome, answer.queue.max_job_age_seconds), (SetQueueOutcome::Updated, None));
    seen.call("SetQueueRetryPolicy", json!(answer)).await?;

    let queues = client.get_queues(Some("desk")).await?;
    assert_eq!((queues.len(), queues[0].backoff_multiplier), (1, 1.5));
    seen.call("GetQueues", json!(queues)).await?;
    let health = client.get_health(Some("off1")).await?;
    assert_eq!((health.len(), health[0].dlq_count), (1, 1));
    seen.call("GetHealth", json!(health)).await?;
    let summary = client.get_summary_stats().await?;
    assert!(summary.dead_lettered_total >= 4, "{summary:?}");
    seen.call("GetSummaryStats", json!(summary)).await
}

pub async fn the_history_is_purged(client: &Client, seen: &mut Seen) -> Result<()> {
    let batch = PurgeHistoryBatch {
        cleanup_batch_size: Some(1),
        purged_by: Some("ann"),
        after_at: Some(LONG_AGO),
        after_history_id: Some(0),
        ..PurgeHistoryBatch::new(FAR_AWAY)
    };
    let answer = client.purge_history_batch(&batch).await?;
    assert_eq!((answer.deleted_count, answer.has_more), (1, true));
    seen.call("PurgeHistoryBatch", json!(answer)).await?;
    let answer = client.purge_history(FAR_AWAY, Some(1000), Some("ann")).await?;
    assert!(answer.deleted_count > 1, "{answer:?}");
    seen.call("PurgeHistory", json!(answer)).await
}
