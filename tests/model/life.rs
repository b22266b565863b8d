//! One life of some jobs that calls every procedure, mostly to the outcome it is there for. What each step answers is for
//! the model to say.

use crate::steps::*;

const HOLDER: Fence = Fence { worker: By::Holder, attempt: Tell::Right, resurrects: Tell::Right };
const ALL: Filter = Filter { queue: None, kind: None, reason: None, from: Some(-9000), to: Some(1000), search: None };

/// The steps of a life, each in its own transaction or in its caller's.
pub fn life(how: How) -> Vec<Step> {
    let parts = [beginning(), work(), sweeps(), repair(), end()].concat();
    parts.into_iter().map(|act| Step { session: 0, how, act }).collect()
}

fn job(id: Text, payload: Text, tags: Text, when: When, key: Text) -> New {
    New { queue: "a", kind: "t", payload, id, tags, priority: 10, when, key, by: Some("ann") }
}

fn pick(wanted: Wanted, nth: usize) -> Pick {
    Pick { wanted, nth }
}

fn picks<const N: usize>(wanted: Wanted, nth: [usize; N]) -> Vec<Pick> {
    nth.into_iter().map(|nth| pick(wanted, nth)).collect()
}

fn fetch(start_now: bool) -> Act {
    Act::FetchNextBatch { worker: "w1", size: 10, queues: Some(vec!["a", "b"]), start_now }
}

/// Jobs come in: with a key and again, at a time and after a delay, with every kind of text.
fn beginning() -> Vec<Act> {
    let queue = |setting| Act::SetQueue("a", setting, "ann");
    vec![
        Act::Enqueue(job(Some("j1"), Some("{}"), Some("red"), When::Now, Some("k1"))),
        Act::Enqueue(job(Some("j2"), None, None, When::Now, Some("k1"))),
        Act::Enqueue(job(Some("j1"), None, None, When::Now, None)),
        Act::EnqueueMany(vec![
            job(Some("j2"), Some("100%_[x]' 😀"), Some("x_y%"), When::Now, None),
            job(Some("j3"), Some(""), Some(""), When::At(500), Some("K1")),
            job(Some("j4"), Some("{broken"), None, When::In(500), None),
            job(Some("jé"), None, Some("RED"), When::At(-500), None),
            job(Some("j😀"), Some("\\\"\n\t'"), None, When::Now, None),
            job(None, Some("7"), None, When::Now, None),
            job(Some("j1"), None, None, When::Now, None),
        ]),
        Act::Invalid(0),
        queue(Setting::Paused(true)),
        fetch(false),
        queue(Setting::Paused(false)),
        queue(Setting::Active(true)),
        queue(Setting::MaxWorkers(Some(9))),
        queue(Setting::ZombieTimeout(Some(2000))),
        queue(Setting::RetryPolicy(Policy {
            max_attempts: Some(2),
            base_delay: Some(500),
            multiplier: Some(1.5),
            max_delay: Some(3600),
            jitter: Some(0),
            max_age: Some(90_000),
            clear_max_age: false,
        })),
        Act::GetQueues(None),
        Act::GetVersion,
    ]
}

/// Workers fetch, start, give back and finish.
fn work() -> Vec<Act> {
    let failed = |reason, retry_after| Act::FailJob {
        job: pick(Wanted::Processing, 0),
        fence: HOLDER,
        reason,
        error: Some("100%_[x]'"),
        retry_after,
    };
    vec![
        fetch(false),
        Act::GetJob(pick(Wanted::Fetched, 0)),
        Act::MarkAsProcessing(pick(Wanted::Fetched, 0), By::Holder),
        Act::MarkJobsAsProcessing(picks(Wanted::Fetched, [0, 0, 9]), "w1"),
        Act::GetJob(pick(Wanted::Processing, 0)),
        Act::KeepAlive(picks(Wanted::Processing, [0, 1]), "w1"),
        Act::GetJob(pick(Wanted::Processing, 0)),
        Act::ReleaseJob(pick(Wanted::Fetched, 0), By::Holder),
        Act::ReleaseWorker("w1"),
        Act::ArchiveSucceeded(pick(Wanted::Processing, 0), HOLDER, Some(250.0)),
        Act::ArchiveSucceeded(pick(Wanted::Archived, 0), HOLDER, None),
        Act::GetJob(pick(Wanted::Archived, 0)),
        fetch(true),
        Act::ArchiveSucceededJobs(vec![(pick(Wanted::Processing, 0), Tell::Right, Tell::Right)], "w1"),
        Act::RescheduleForRetry { job: pick(Wanted::Processing, 0), fence: HOLDER, delay: 500, error: Some("boom") },
        Act::GetJob(pick(Wanted::Pending, 0)),
        failed(8, None),
        failed(6, None),
        Act::GetDLQJob(pick(Wanted::Dead, 0)),
        Act::TimePasses(700),
        fetch(true),
        failed(8, Some(500)),
        Act::MoveToDLQ { job: pick(Wanted::Processing, 0), reason: 6, error: None, fence: HOLDER, by: Some("Ann") },
        Act::GetQueueStats(None),
        Act::GetHealth(None),
        Act::FoldCounters(10_000),
    ]
}

/// Workers go silent.
fn sweeps() -> Vec<Act> {
    let more = |ids: [&'static str; 4]| {
        Act::EnqueueMany(ids.map(|id| job(Some(id), Some("{}"), Some("red"), When::Now, None)).to_vec())
    };
    let (timeout, size) = (300, 1);
    vec![
        more(["j 5", "J1", "j5", "j6"]),
        fetch(false),
        Act::TimePasses(700),
        Act::RecoverAbandonedBatch { timeout, size, go_on: false },
        Act::RecoverAbandonedBatch { timeout, size, go_on: true },
        Act::RecoverAbandoned { timeout, size },
        fetch(true),
        Act::TimePasses(4000),
        Act::ArchiveZombiesBatch { timeout: None, size, go_on: false },
        Act::ArchiveZombies { timeout: Some(300), size },
        Act::GetDLQJob(pick(Wanted::Dead, 0)),
    ]
}

/// Operators look, mend and bring back.
fn repair() -> Vec<Act> {
    let edit = |payload, allow_invalid| Edit {
        payload: Change::To(payload),
        tags: Change::Clear,
        priority: None,
        by: "ann",
        allow_invalid,
        expected: Tell::Right,
    };
    let back = Return {
        payload: Some(r#"{"n": 1}"#),
        tags: None,
        priority: Some(20),
        by: "ann",
        allow_invalid: false,
        delay: 500,
        keep_key: true,
        expected: Tell::Right,
    };
    let filtered = |what_if| Act::ResurrectByFilterBatch {
        filter: Filter { search: Some("red"), ..ALL },
        size: 1,
        by: "ann",
        what_if,
        go_on: false,
    };
    vec![
        Act::ListDLQ { filter: ALL, limit: 2, go_on: false },
        Act::ListDLQ { filter: Filter { search: Some("%_["), ..ALL }, limit: 100, go_on: false },
        Act::SummarizeDLQ(None, None),
        Act::GetDLQJob(pick(Wanted::Dead, 0)),
        Act::UpdateDLQJobData(pick(Wanted::Dead, 0), edit("{broken", false)),
        Act::UpdateDLQJobData(pick(Wanted::Dead, 0), edit("{broken", true)),
        Act::UpdateDLQJobData(pick(Wanted::Dead, 1), edit(r#"{"n": 1}"#, false)),
        Act::Resurrect(pick(Wanted::Dead, 0), back),
        Act::GetJob(pick(Wanted::Pending, 0)),
        Act::ResurrectJobs(picks(Wanted::Dead, [0, 0]), "ann"),
        Act::ResurrectBatch(picks(Wanted::Dead, [0]), "ann", 1),
        filtered(true),
        filtered(false),
        Act::ResurrectByFilter { filter: ALL, max: 1, by: "ann", what_if: false, size: 1 },
        Act::UpdateJobData(pick(Wanted::Pending, 0), edit("7", false)),
        Act::GetJob(pick(Wanted::Pending, 0)),
        Act::GetJobHistory(pick(Wanted::Pending, 0)),
        Act::CancelJobs(picks(Wanted::Pending, [0, 1, 2]), "ann", Some("boom")),
        Act::ArchiveCancelledBatch(picks(Wanted::Pending, [0, 1, 2]), "ann", None, 2),
    ]
}

/// What nobody needs any more goes.
fn end() -> Vec<Act> {
    let purge = |what_if| Act::PurgeDLQByFilterBatch {
        filter: Filter { kind: Some("t"), ..ALL },
        size: 1,
        by: "ann",
        what_if,
        go_on: false,
    };
    let by = Some("ann");
    vec![
        Act::PurgeDLQJobs(picks(Wanted::Dead, [0]), "ann"),
        Act::PurgeDLQ(picks(Wanted::Dead, [0]), "ann", 1),
        purge(true),
        purge(false),
        Act::PurgeDLQByFilter { filter: ALL, max: 1, by: "ann", what_if: false, size: 1 },
        Act::PurgeArchiveBatch { before: 1000, size: 1, by, go_on: false },
        Act::PurgeArchive { before: 1000, size: 1, max: None, by },
        Act::GetSummaryStats,
        Act::PurgeHistoryBatch { before: -500, size: 1000, by, go_on: false },
        Act::PurgeHistory { before: 1000, size: 1000, by },
    ]
}
