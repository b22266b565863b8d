//! Jobs by their ids, slice by slice.

use std::collections::HashSet;

use chokaq::{ArchiveCancelledBatch, ArchiveCancelledBatchResult, Client, PurgeDlqResult, ResurrectBatchResult};

use crate::cli::Failure;
use crate::cli::progress;

/// Jobs per call, unless the user wants smaller transactions.
const BATCH: usize = 1000;

/// Resurrects any number of jobs.
pub async fn resurrect(
    client: &Client,
    ids: Vec<String>,
    by: &str,
    batch_size: Option<i32>,
) -> Result<ResurrectBatchResult, Failure> {
    let ids = each_once(ids);
    let bar = progress::bar(ids.len(), "resurrecting");
    let (first, rest) = slices(&ids, batch_size);
    let mut total = client.resurrect_batch(first, by, batch_size).await?;
    bar.inc(first.len() as u64);
    for slice in rest {
        let result = client.resurrect_batch(slice, by, batch_size).await?;
        total.requested_count += result.requested_count;
        total.resurrected_count += result.resurrected_count;
        total.not_found_count += result.not_found_count;
        total.conflict_count += result.conflict_count;
        total.batch_count += result.batch_count;
        bar.inc(slice.len() as u64);
    }
    bar.finish_and_clear();
    Ok(total)
}

/// Purges any number of jobs of the DLQ.
pub async fn purge_dlq(
    client: &Client,
    ids: Vec<String>,
    by: &str,
    batch_size: Option<i32>,
) -> Result<PurgeDlqResult, Failure> {
    let ids = each_once(ids);
    let bar = progress::bar(ids.len(), "purging");
    let (first, rest) = slices(&ids, batch_size);
    let mut total = client.purge_dlq(first, by, batch_size).await?;
    bar.inc(first.len() as u64);
    for slice in rest {
        let result = client.purge_dlq(slice, by, batch_size).await?;
        total.requested_count += result.requested_count;
        total.purged_count += result.purged_count;
        total.not_found_count += result.not_found_count;
        total.batch_count += result.batch_count;
        bar.inc(slice.len() as u64);
    }
    bar.finish_and_clear();
    Ok(total)
}

/// Cancels any number of jobs.
pub async fn cancel(
    client: &Client,
    ids: Vec<String>,
    call: &ArchiveCancelledBatch<'_, String>,
) -> Result<ArchiveCancelledBatchResult, Failure> {
    let ids = each_once(ids);
    let bar = progress::bar(ids.len(), "cancelling");
    let (first, rest) = slices(&ids, call.batch_size);
    let mut total = client.archive_cancelled_batch(&ArchiveCancelledBatch { job_ids: first, ..*call }).await?;
    bar.inc(first.len() as u64);
    for slice in rest {
        let result = client.archive_cancelled_batch(&ArchiveCancelledBatch { job_ids: slice, ..*call }).await?;
        total.requested_count += result.requested_count;
        total.cancelled_count += result.cancelled_count;
        total.already_cancelled_count += result.already_cancelled_count;
        total.not_found_count += result.not_found_count;
        total.not_cancellable_count += result.not_cancellable_count;
        total.conflict_count += result.conflict_count;
        total.batch_count += result.batch_count;
        bar.inc(slice.len() as u64);
    }
    bar.finish_and_clear();
    Ok(total)
}

/// Repeats count once, also when they would fall into different batches.
fn each_once(ids: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    ids.into_iter().filter(|id| seen.insert(id.clone())).collect()
}

/// The first slice always is, so that a wrong batch size or an empty list is the procedure's to refuse or to answer.
fn slices(ids: &[String], batch_size: Option<i32>) -> (&[String], std::slice::Chunks<'_, String>) {
    let size = batch_size.and_then(|size| usize::try_from(size).ok()).filter(|size| *size > 0).unwrap_or(BATCH);
    let (first, rest) = ids.split_at(size.min(ids.len()));
    (first, rest.chunks(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(count: usize) -> Vec<String> {
        (0..count).map(|number| number.to_string()).collect()
    }

    #[test]
    fn slices_hold_every_id_once_and_in_order() {
        let ids = ids(2_500);
        let (first, rest) = slices(&ids, None);
        assert_eq!(first.len(), 1000);
        let all = first.iter().chain(rest.flatten()).cloned().collect::<Vec<_>>();
        assert_eq!(all, ids);
    }

    #[test]
    fn a_batch_size_of_nothing_is_left_to_the_procedure() {
        let ids = ids(3);
        assert_eq!(slices(&ids, Some(0)).0.len(), 3);
        assert_eq!(slices(&ids, Some(-1)).0.len(), 3);
        assert_eq!(slices(&ids, Some(2)).0.len(), 2);
    }

    #[test]
    fn repeats_count_once() {
        let ids = ["b", "a", "b"].map(str::to_owned).to_vec();
        assert_eq!(each_once(ids), ["b", "a"]);
    }
}
