//! The end of the story: what the counters say is held against where the jobs really are.

use chokaq::{Client, DlqFilter, ListDlq, Pillar, QueueStats};

use crate::cli::Failure;

/// The most that one list of the DLQ shows; the demo has fewer jobs.
const ALL: i32 = 1000;

/// Where the jobs of one queue were found, each looked up by its id.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    hot: i64,
    archive: i64,
    dlq: i64,
    /// In no table any more: the demo purges nothing but the Archive.
    purged: i64,
    /// How often they came back from the DLQ. What is purged never was there.
    resurrections: i64,
}

/// One counter, and what the tables say.
#[derive(Debug, PartialEq, Eq)]
pub struct Check {
    pub counter: &'static str,
    pub counted: i64,
    pub found: i64,
}

impl Check {
    /// Whether counter and tables agree.
    pub fn holds(&self) -> bool {
        self.counted == self.found
    }
}

/// Compares the counters of a queue with a recount of its jobs.
pub async fn check(client: &Client, queue: &str, job_ids: &[String]) -> Result<Vec<Check>, Failure> {
    let mut found = Found::default();
    for job_id in job_ids {
        let Some(job) = client.get_job(job_id).await? else {
            found.purged += 1;
            continue;
        };
        match job.pillar {
            Pillar::Hot => found.hot += 1,
            Pillar::Archive => found.archive += 1,
            Pillar::Dlq => found.dlq += 1,
            other => return Err(Failure::new(format_args!("job {job_id} is in {other}"))),
        }
        found.resurrections += i64::from(job.resurrect_count);
    }
    let filter = DlqFilter { queue: Some(queue), ..DlqFilter::default() };
    let listed = client.list_dlq(&ListDlq { filter, limit: Some(ALL), ..ListDlq::default() }).await?;
    let stats = client.get_queue_stats(Some(queue)).await?;
    let stats = stats.first().ok_or_else(|| Failure::new(format_args!("queue {queue} has no counters")))?;
    Ok(compare(stats, &found, i64::try_from(listed.len()).unwrap_or(i64::MAX)))
}

fn compare(stats: &QueueStats, found: &Found, listed: i64) -> Vec<Check> {
    let check = |counter, counted, found| Check { counter, counted, found };
    let waiting = stats.pending_count + stats.fetched_count + stats.processing_count;
    vec![
        check("EnqueuedTotal", stats.enqueued_total, found.hot + found.archive + found.dlq + found.purged),
        check("SucceededTotal", stats.succeeded_total, found.archive + found.purged),
        check("DeadLetteredTotal", stats.dead_lettered_total, found.dlq + found.resurrections),
        check("ResurrectedTotal", stats.resurrected_total, found.resurrections),
        check("FailedTotal", stats.failed_total, found.dlq),
        check("FailedTotal, listed", stats.failed_total, listed),
        check("waiting or running", waiting, found.hot),
    ]
}
