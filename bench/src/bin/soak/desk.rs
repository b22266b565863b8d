//! Operators, the sweeps and the purges.

use std::sync::Arc;
use std::time::Duration;

use chokaq::{
    ArchiveCancelledBatch, DlqFilter, FailureReason, ListDlq, PurgeArchive, PurgeDlqByFilter, Resurrect,
    ResurrectByFilter, UpdateDlqJobData,
};
use chokaq_bench::Result;
use time::OffsetDateTime;

use crate::{Soak, Tally};

/// A job without a sign of life for this long is taken from its worker, in seconds.
const TIMEOUT_SECONDS: i32 = 10;

/// Failures that are thrown away; the others are resurrected.
const GIVEN_UP: [FailureReason; 4] =
    [FailureReason::Rejected, FailureReason::FatalError, FailureReason::Cancelled, FailureReason::MaxRetriesExceeded];

/// What stays in the Archive and in the history.
const KEPT: Duration = Duration::from_secs(120);

/// One operator, who does everything an operator can do, in turn.
pub async fn operate(soak: Arc<Soak>) -> Result<()> {
    soak.repeat(Duration::from_millis(500), |soak, turn| async move { act(&soak, turn).await }).await
}

async fn act(soak: &Soak, turn: u64) -> Result<()> {
    let (client, ann) = (&soak.client, "ann");
    let list = client.list_dlq(&ListDlq { limit: Some(30), ..ListDlq::default() }).await?;
    let ids: Vec<&str> = list.iter().map(|job| job.job_id.as_str()).collect();
    match (turn % 10, list.first()) {
        (0, Some(job)) => {
            let edit = UpdateDlqJobData {
                job_id: &job.job_id,
                modified_by: ann,
                payload: Some(r#"{"to": "bob@example.com"}"#),
                expected_revision: Some(job.revision),
                ..UpdateDlqJobData::default()
            };
            client.update_dlq_job_data(&edit).await?;
        }
        (1, Some(job)) => {
            let resurrection = Resurrect { new_priority: Some(50), ..Resurrect::new(&job.job_id, ann) };
            client.resurrect(&resurrection).await?;
        }
        (2, Some(_)) => {
            client.resurrect_batch(&ids, ann, Some(10)).await?;
        }
        (3, Some(_)) => {
            client.purge_dlq(&ids, ann, Some(10)).await?;
        }
        (4, _) => {
            let zombies = DlqFilter { failure_reason: Some(FailureReason::Zombie), ..DlqFilter::default() };
            let resurrection = ResurrectByFilter { what_if: false, ..ResurrectByFilter::new(zombies, ann) };
            client.resurrect_by_filter(&resurrection).await?;
        }
        (5, _) => {
            let reason = GIVEN_UP[turn as usize / 10 % GIVEN_UP.len()];
            let given_up = DlqFilter { failure_reason: Some(reason), ..DlqFilter::default() };
            let purge = PurgeDlqByFilter { what_if: false, ..PurgeDlqByFilter::new(given_up, ann) };
            client.purge_dlq_by_filter(&purge).await?;
        }
        (6, _) => {
            client.set_queue_paused("pdf", turn % 20 == 6, ann).await?;
        }
        (7, _) => {
            client.set_queue_max_workers("import", (turn % 20 == 7).then_some(25), ann).await?;
        }
        (8, Some(_)) => {
            // They are in the DLQ, so all but those that someone resurrected meanwhile stay as they are.
            let cancellation = ArchiveCancelledBatch {
                job_ids: &ids,
                cancelled_by: ann,
                reason: Some("not wanted"),
                batch_size: None,
            };
            client.archive_cancelled_batch(&cancellation).await?;
        }
        _ => {
            client.get_health(None).await?;
            client.get_summary_stats().await?;
            client.summarize_dlq(None, None).await?;
        }
    }
    Ok(())
}

/// The sweeps, as an agent would run them.
pub async fn sweep(soak: Arc<Soak>) -> Result<()> {
    soak.repeat(Duration::from_secs(2), |soak, _| async move {
        soak.client.recover_abandoned(Some(TIMEOUT_SECONDS), None).await?;
        soak.client.archive_zombies(Some(TIMEOUT_SECONDS), None).await?;
        soak.client.fold_counters(None).await?;
        Ok(())
    })
    .await
}

/// The purges.
pub async fn purge(soak: Arc<Soak>) -> Result<()> {
    soak.repeat(Duration::from_secs(10), |soak, _| async move {
        let older_than = OffsetDateTime::now_utc() - KEPT;
        let purge = PurgeArchive { purged_by: Some("agent"), ..PurgeArchive::new(older_than) };
        let purged = soak.client.purge_archive(&purge).await?;
        Tally::add(&soak.tally.archive_purged, purged.deleted_count);
        soak.client.purge_history(older_than, None, Some("agent")).await?;
        Ok(())
    })
    .await
}
