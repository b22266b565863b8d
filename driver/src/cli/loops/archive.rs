//! The Archive, emptied batch by batch.

use chokaq::{Client, PurgeArchive, PurgeArchiveResult};

use crate::cli::Failure;
use crate::cli::progress;

/// Batches per call, so that the count moves.
const BATCHES_PER_CALL: i32 = 5;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_share_the_limit_of_batches() {
        assert_eq!(batches_of_next_call(None, 40), BATCHES_PER_CALL);
        assert_eq!(batches_of_next_call(Some(7), 0), BATCHES_PER_CALL);
        assert_eq!(batches_of_next_call(Some(7), 5), 2);
        assert_eq!(batches_of_next_call(Some(0), 0), 0);
        assert_eq!(batches_of_next_call(Some(-3), 0), -3);
    }
}
