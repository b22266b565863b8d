//! What a filter lets through, shown on standard error before anybody is asked: how many, of what, the oldest of them.

use chokaq::{Client, DlqFilter, ListDlq};
use time::OffsetDateTime;

use super::filter::Filter;
use super::sum::{Sum, add_up};
use crate::cli::consent::jobs;
use crate::cli::output::aside;
use crate::cli::{Failure, note};

/// How many of the oldest are shown.
const OLDEST: i32 = 5;

/// A batch of this size ends one job after the last that is shown.
pub const PROBE: i32 = OLDEST + 1;

const GROUPS: [&str; 4] = ["Queue", "Type", "FailureReasonName", "JobCount"];
const JOBS: [&str; 5] = ["JobId", "Queue", "Type", "FailureReasonName", "FailedAtUtc"];

/// What the preview of a call answered.
pub struct Preview<'a> {
    /// Jobs that it would take.
    pub matched_count: i64,
    /// There are more than these.
    pub has_more: bool,
    /// Where a batch of [`PROBE`] jobs ended, when there are so many.
    pub probed: Option<(OffsetDateTime, &'a str)>,
}

/// Shows it.
pub async fn show(
    client: &Client,
    filter: &Filter,
    pinned: DlqFilter<'_>,
    preview: &Preview<'_>,
) -> Result<(), Failure> {
    let count = jobs(preview.matched_count);
    match preview.matched_count {
        0 => {
            note("no job matches");
            return Ok(());
        }
        _ if preview.has_more => note(format_args!("the oldest {count} of more that match, see --max-jobs")),
        1 => note(format_args!("{count} matches")),
        _ => note(format_args!("{count} match")),
    }
    if filter.can_be_summed_up() {
        let groups = client.summarize_dlq(pinned.queue, pinned.r#type).await?;
        let groups =
            groups.into_iter().filter(|group| pinned.failure_reason.is_none_or(|it| it == group.failure_reason));
        note("\nall that match:");
        aside(&add_up(groups.map(Sum::from).collect(), None), &GROUPS)?;
    }
    // The list is newest first: the page before the job after the last of the oldest holds exactly these.
    let list = ListDlq {
        filter: pinned,
        limit: Some(OLDEST),
        before_failed_at: preview.probed.map(|(failed_at, _)| failed_at),
        before_job_id: preview.probed.map(|(_, job_id)| job_id),
    };
    let mut oldest = client.list_dlq(&list).await?;
    oldest.reverse();
    oldest.truncate(usize::try_from(preview.matched_count).unwrap_or_default());
    note("\nthe oldest:");
    aside(&oldest, &JOBS)?;
    Ok(())
}
