//! What a filter lets through, call by call. A call of many batches would go on in the server after an interrupt, and
//! says nothing before its end.

use chokaq::{Client, PurgeDlqByFilter, PurgeDlqByFilterResult, ResurrectByFilter, ResurrectByFilterResult};

use crate::cli::progress;
use crate::cli::{Failure, note, warn};

/// What the procedures take without a limit.
const MAX_JOBS: i32 = 1000;

/// Jobs per call, so that the count moves.
const JOBS_PER_CALL: i32 = 5000;

/// Resurrects what the filter lets through, up to `call.max_jobs`. The filter ends before the first call, so that no
/// job that fails again is taken twice.
pub async fn resurrect_by_filter(
    client: &Client,
    call: &ResurrectByFilter<'_>,
) -> Result<ResurrectByFilterResult, Failure> {
    let count = progress::count("resurrecting");
    let mut done = 0;
    let mut batches = 0;
    loop {
        let max_jobs = Some(jobs_of_next_call(call.max_jobs, done));
        let round = ResurrectByFilter { what_if: false, max_jobs, ..*call };
        let mut result = client.resurrect_by_filter(&round).await?;
        done += result.resurrected_count;
        batches += result.batch_count;
        count.set_position(u64::try_from(done).unwrap_or_default());
        if is_last(done, result.resurrected_count, call.max_jobs, result.has_more) {
            count.finish_and_clear();
            // What could not be taken was met again by every call.
            result.matched_count = done + result.conflict_count + result.skipped_count;
            result.resurrected_count = done;
            result.batch_count = batches;
            return Ok(result);
        }
    }
}

/// Purges what the filter lets through, up to `call.max_jobs`.
pub async fn purge_dlq_by_filter(
    client: &Client,
    call: &PurgeDlqByFilter<'_>,
) -> Result<PurgeDlqByFilterResult, Failure> {
    let count = progress::count("purging");
    let mut done = 0;
    let mut batches = 0;
    loop {
        let max_jobs = Some(jobs_of_next_call(call.max_jobs, done));
        let round = PurgeDlqByFilter { what_if: false, max_jobs, ..*call };
        let mut result = client.purge_dlq_by_filter(&round).await?;
        done += result.purged_count;
        batches += result.batch_count;
        count.set_position(u64::try_from(done).unwrap_or_default());
        if is_last(done, result.purged_count, call.max_jobs, result.has_more) {
            count.finish_and_clear();
            result.matched_count = done + result.skipped_count;
            result.purged_count = done;
            result.batch_count = batches;
            return Ok(result);
        }
    }
}

/// Tells what such a call left.
pub fn tell_rest(skipped: i64, conflicts: i64, has_more: bool) {
    if skipped > 0 {
        warn(format_args!("{skipped} jobs are held by others and stay; run it again"));
    }
    if conflicts > 0 {
        warn(format_args!("{conflicts} jobs stay: their ids are in JobsHot too, which must not be"));
    }
    if has_more {
        note("there are more that match; run it again, or raise --max-jobs");
    }
}

/// Whether a call is the last: nothing is left, or it did nothing, or the limit is reached.
fn is_last(done: i64, did: i64, limit: Option<i32>, has_more: bool) -> bool {
    !has_more || did == 0 || done >= i64::from(limit.unwrap_or(MAX_JOBS))
}

/// A limit that makes no sense goes to the procedure as it is, which says so.
fn jobs_of_next_call(limit: Option<i32>, done: i64) -> i32 {
    let limit = limit.unwrap_or(MAX_JOBS);
    i32::try_from(i64::from(limit) - done).unwrap_or(limit).min(JOBS_PER_CALL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_share_the_limit_of_jobs() {
        assert_eq!(jobs_of_next_call(None, 0), MAX_JOBS);
        assert_eq!(jobs_of_next_call(Some(12_000), 0), JOBS_PER_CALL);
        assert_eq!(jobs_of_next_call(Some(12_000), 10_000), 2000);
        assert_eq!(jobs_of_next_call(Some(0), 0), 0);
        assert_eq!(jobs_of_next_call(Some(-3), 0), -3);
    }

    #[test]
    fn it_ends_with_the_jobs_with_the_limit_or_when_it_is_stuck() {
        assert!(!is_last(5000, 5000, Some(12_000), true));
        assert!(is_last(12_000, 2000, Some(12_000), true));
        assert!(is_last(4000, 4000, Some(12_000), false));
        assert!(is_last(5000, 0, Some(12_000), true));
        assert!(is_last(1000, 1000, None, true));
    }
}
