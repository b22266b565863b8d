//! What the methods send: seen on a connection that only takes notes.

use std::sync::Mutex;

use time::macros::datetime;

use super::*;
use crate::call::{Call, Connection};
use crate::client::Client;
use crate::error::Result;
use crate::types::FailureReason;
use crate::value::Row;

/// A call as it would be sent.
#[derive(Debug)]
struct Sent {
    repeatable: bool,
    arguments: Vec<(&'static str, String)>,
}

impl Sent {
    fn argument(&self, name: &str) -> Option<&str> {
        self.arguments.iter().find(|(it, _)| *it == name).map(|(_, value)| value.as_str())
    }
}

/// Answers every call with no row.
#[derive(Debug, Default)]
struct Notes(Mutex<Vec<Sent>>);

impl Connection for Notes {
    async fn run(&self, call: Call<'_>) -> Result<Vec<Row>> {
        let arguments = call.arguments.iter().map(|(name, argument)| (*name, format!("{argument:?}"))).collect();
        self.0.lock().unwrap().push(Sent { repeatable: call.repeatable, arguments });
        Ok(vec![])
    }
}

fn client() -> Client<Notes> {
    Client { connection: Notes::default() }
}

impl Client<Notes> {
    /// What the method whose answer this is has sent.
    fn sent<T>(&self, _: Result<T>) -> Sent {
        self.connection.0.lock().unwrap().pop().unwrap()
    }
}

const FILTER: DlqFilter<'_> =
    DlqFilter { queue: Some("q"), r#type: None, failure_reason: None, from: None, to: None, search: None };

#[tokio::test]
async fn a_bulk_call_says_whether_it_acts_and_only_its_preview_is_sent_again() {
    let it = client();
    for what_if in [true, false] {
        let resurrection = ResurrectByFilter { what_if, ..ResurrectByFilter::new(FILTER, "ann") };
        let resurrection_batch = ResurrectByFilterBatch { what_if, ..ResurrectByFilterBatch::new(FILTER, "ann") };
        let purge = PurgeDlqByFilter { what_if, ..PurgeDlqByFilter::new(FILTER, "ann") };
        let purge_batch = PurgeDlqByFilterBatch { what_if, ..PurgeDlqByFilterBatch::new(FILTER, "ann") };
        let batches = [
            it.sent(it.resurrect_by_filter_batch(&resurrection_batch).await),
            it.sent(it.purge_dlq_by_filter_batch(&purge_batch).await),
        ];
        assert!(batches.iter().all(|sent| sent.repeatable == what_if), "{batches:?}");
        let loops =
            [it.sent(it.resurrect_by_filter(&resurrection).await), it.sent(it.purge_dlq_by_filter(&purge).await)];
        for sent in batches.iter().chain(&loops) {
            assert_eq!(sent.argument("what_if"), Some(&*format!("Flag({what_if})")), "{sent:?}");
            assert_eq!(sent.argument("queue"), Some("Text(Some(\"q\"))"), "{sent:?}");
        }
    }
}

#[test]
fn a_filter_call_is_a_preview_unless_told_otherwise() {
    assert!(ResurrectByFilter::new(FILTER, "ann").what_if);
    assert!(ResurrectByFilterBatch::new(FILTER, "ann").what_if);
    assert!(PurgeDlqByFilter::new(FILTER, "ann").what_if);
    assert!(PurgeDlqByFilterBatch::new(FILTER, "ann").what_if);
}

#[tokio::test]
async fn what_does_no_harm_when_it_comes_late_is_sent_again() {
    let it = client();
    let job = Enqueue { job_id: Some("a"), ..Enqueue::new("q", "t") };
    for sent in [
        it.sent(it.enqueue(&job).await),
        it.sent(it.enqueue_many(&[job]).await),
        it.sent(it.keep_alive(&["a"], "w").await),
        it.sent(it.get_job_history("a").await),
    ] {
        assert!(sent.repeatable, "{sent:?}");
    }
}

#[tokio::test]
async fn what_could_take_other_jobs_is_not_sent_again() {
    let it = client();
    let named = Enqueue { job_id: Some("a"), ..Enqueue::new("q", "t") };
    let keyed = Enqueue { idempotency_key: Some("k"), ..Enqueue::new("q", "t") };
    for sent in [
        it.sent(it.enqueue(&keyed).await),
        it.sent(it.enqueue_many(&[named, keyed]).await),
        it.sent(it.fetch_next_batch(&FetchNextBatch::new("w")).await),
        it.sent(it.mark_as_processing("a", "w").await),
        it.sent(it.mark_jobs_as_processing(&["a"], "w").await),
        it.sent(it.release_job("a", "w").await),
        it.sent(it.release_worker("w").await),
        it.sent(it.resurrect_jobs(&["a"], "ann").await),
        it.sent(it.cancel_jobs(&["a"], "ann", None).await),
        it.sent(it.purge_history_batch(&PurgeHistoryBatch::new(datetime!(2026-01-31 0:00 UTC))).await),
    ] {
        assert!(!sent.repeatable, "{sent:?}");
    }
}

#[tokio::test]
async fn what_could_undo_another_operators_step_is_not_sent_again() {
    let it = client();
    for sent in [
        it.sent(it.set_queue_paused("q", true, "ann").await),
        it.sent(it.set_queue_active("q", true, "ann").await),
        it.sent(it.set_queue_max_workers("q", None, "ann").await),
        it.sent(it.set_queue_zombie_timeout("q", None, "ann").await),
        it.sent(it.set_queue_retry_policy(&SetQueueRetryPolicy::new("q", "ann")).await),
    ] {
        assert!(!sent.repeatable, "{sent:?}");
    }
}

#[tokio::test]
async fn a_run_is_ended_again_only_behind_its_whole_fence() {
    let it = client();
    let whole = (Some("w"), Some(1), Some(0));
    for fence in [whole, (None, Some(1), Some(0)), (Some("w"), None, Some(0)), (Some("w"), Some(1), None)] {
        let (worker_id, attempt, resurrect_count) = fence;
        let done = ArchiveSucceeded { job_id: "a", worker_id, attempt, resurrect_count, duration_ms: None };
        let retry =
            RescheduleForRetry { job_id: "a", worker_id, attempt, resurrect_count, ..RescheduleForRetry::default() };
        let failure =
            MoveToDlq { worker_id, attempt, resurrect_count, ..MoveToDlq::new("a", FailureReason::FatalError) };
        for sent in [
            it.sent(it.archive_succeeded(&done).await),
            it.sent(it.reschedule_for_retry(&retry).await),
            it.sent(it.move_to_dlq(&failure).await),
        ] {
            assert_eq!(sent.repeatable, fence == whole, "{sent:?}");
        }
    }
    for resurrect_count in [Some(0), None] {
        let failure = FailJob {
            job_id: "a",
            worker_id: "w",
            attempt: 1,
            failure_reason: FailureReason::Transient,
            error_details: None,
            retry_after_seconds: None,
            resurrect_count,
        };
        assert_eq!(it.sent(it.fail_job(&failure).await).repeatable, resurrect_count.is_some());
    }
}

#[tokio::test]
async fn many_jobs_are_finished_again_only_behind_the_fence_of_each() {
    let it = client();
    let fenced = FinishedJob { job_id: "a", attempt: Some(1), resurrect_count: Some(0), duration_ms: None };
    let bare = FinishedJob { job_id: "b", resurrect_count: None, ..fenced };
    assert!(it.sent(it.archive_succeeded_jobs(&[fenced], "w").await).repeatable);
    assert!(!it.sent(it.archive_succeeded_jobs(&[fenced, bare], "w").await).repeatable);
}

#[tokio::test]
async fn a_setting_that_is_taken_away_is_said() {
    let it = client();
    let sent = it.sent(it.set_queue_max_workers("q", None, "ann").await);
    assert_eq!(sent.argument("max_workers"), Some("Int(None)"));
    let sent = it.sent(it.set_queue_zombie_timeout("q", None, "ann").await);
    assert_eq!(sent.argument("zombie_timeout_seconds"), Some("Int(None)"));
    let sent = it.sent(it.set_queue_paused("q", false, "ann").await);
    assert_eq!(sent.argument("is_paused"), Some("Flag(false)"));
}
