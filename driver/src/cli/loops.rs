//! Long loops, batch by batch, with a sign of life. Each batch is committed: a loop that is broken off has done what
//! it said, and a second run does the rest.

use std::collections::HashSet;

use chokaq::{Client, PurgeArchive, PurgeArchiveResult, PurgeDlqResult, ResurrectBatchResult};

use super::failure::Failure;
use super::progress;

/// Jobs per call, unless the user wants smaller transactions.
const BATCH: usize = 1000;

/// Batches of the Archive per call, so that the count moves.
const BATCHES_PER_CALL: i32 = 5;

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

/// Purges the Archive until nothing is left, or `purge.max_batches` are done.
pub async fn purge_archive(client: &Client, purge: &PurgeArchive<'_>) -> Result<PurgeArchiveResult, Failure> {
    let count = progress::count("purging the Archive");
    let mut total: Option<PurgeArchiveResult> = None;
    loop {
        let done = total.as_ref().map_or(0, |total| total.batch_count);
        let round = PurgeArchive { max_batches: Some(batches_of_next_call(purge.max_batches, done)), ..*purge };
        let mut result = client.purge_archive(&round).await?;
        let is_stuck = result.deleted_count == 0;
        if let Some(before) = total {
            result.deleted_count += before.deleted_count;
            result.batch_count += before.batch_count;
        }
        count.set_position(u64::try_from(result.deleted_count).unwrap_or_default());
        let reached_limit = purge.max_batches.is_some_and(|limit| result.batch_count >= i64::from(limit));
        if !result.has_more || is_stuck || reached_limit {
            count.finish_and_clear();
            return Ok(result);
        }
        total = Some(result);
    }
}

/// A limit that makes no sense goes to the procedure as it is, which says so.
fn batches_of_next_call(limit: Option<i32>, done: i64) -> i32 {
    match limit {
        None => BATCHES_PER_CALL,
        Some(limit) => {
            let left = i64::from(limit) - done;
            i32::try_from(left).unwrap_or(limit).min(BATCHES_PER_CALL)
        }
    }
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

    #[test]
    fn calls_share_the_limit_of_batches() {
        assert_eq!(batches_of_next_call(None, 40), BATCHES_PER_CALL);
        assert_eq!(batches_of_next_call(Some(7), 0), BATCHES_PER_CALL);
        assert_eq!(batches_of_next_call(Some(7), 5), 2);
        assert_eq!(batches_of_next_call(Some(0), 0), 0);
        assert_eq!(batches_of_next_call(Some(-3), 0), -3);
    }
}
