//! Connections that are cut before and after the server's answer: what the driver says again and what it never does.

use std::fmt::Debug;

use chokaq::{
    ArchiveSucceeded, ArchiveSucceededJobsOutcome, ArchiveSucceededOutcome, Client, DlqFilter, Enqueue, EnqueueOutcome,
    ErrorKind, FailJob, FailJobOutcome, FailureReason, FetchNextBatch, FinishedJob, KeepAliveOutcome,
    MarkAsProcessingOutcome, MoveToDlq, MoveToDlqOutcome, PurgeDlqByFilterBatch, RescheduleForRetry,
    RescheduleForRetryOutcome, Resurrect, ResurrectByFilterBatch,
};
use chokaq_tests::proxy::{Cut, Proxy};
use chokaq_tests::{Db, Result, Scenario, Session, scenario, values};

use crate::arrange;

pub const SCENARIOS: &[Scenario] = &[
    scenario!(an_unsafe_call_is_never_sent_again).limit(std::time::Duration::from_secs(900)),
    scenario!(a_safe_call_is_sent_again_and_acts_once).limit(std::time::Duration::from_secs(900)),
];

/// At the next request.
const NEXT: [Cut; 2] = [Cut::Before(1), Cut::After(1)];

/// A client whose connection is cut at a call.
struct Line {
    proxy: Proxy,
    client: Client,
    cut: Cut,
}

impl Line {
    async fn new(db: &Db<'_>, cut: Cut) -> Result<Self> {
        let proxy = Proxy::start(db.engine, &db.url()?).await?;
        let client = Client::builder().pool_size(1).timeout(None).connect(proxy.url()).await?;
        Ok(Self { proxy, client, cut })
    }

    /// A name of this cut's own.
    fn name(&self, text: &str) -> String {
        format!("{text}-{:?}", self.cut)
    }

    /// Whether the server did what it was asked for and nobody heard of.
    fn done(&self) -> bool {
        self.cut == NEXT[1]
    }

    /// The call's end, and how many connections there were after the one that was cut.
    async fn make<T>(&self, call: impl Future<Output = chokaq::Result<T>>) -> Result<(chokaq::Result<T>, usize)> {
        /* The connection is there and trusted. */
        self.client.get_version().await?;
        let connections = self.proxy.connections();
        self.proxy.cut(self.cut);
        let answer = Box::pin(call).await;
        assert!(!self.proxy.waits(), "the call was sent");
        Ok((answer, self.proxy.connections() - connections))
    }

    /// A call that must not be sent again.
    async fn lost<T: Debug>(&self, call: impl Future<Output = chokaq::Result<T>>) -> Result<()> {
        let (answer, more) = self.make(call).await?;
        let error = answer.expect_err("the answer was lost");
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
        assert_eq!(more, 0, "it was sent again: {error}");
        Ok(())
    }

    /// A call that must be sent again, once.
    async fn again<T>(&self, call: impl Future<Output = chokaq::Result<T>>) -> Result<T> {
        let (answer, more) = self.make(call).await?;
        assert_eq!(more, 1);
        Ok(answer?)
    }
}

async fn jobs_of(s: &mut Session, queue: &str) -> Result<i64> {
    Ok(s.count("SELECT COUNT(*) AS N FROM chokaq.JobsHot AS h WHERE h.Queue = @P1", &values![queue]).await?)
}

async fn an_unsafe_call_is_never_sent_again(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for cut in NEXT {
        let line = Line::new(db, cut).await?;
        enqueues_without_an_id(&line, &mut s).await?;
        a_fetch(&line, &mut s).await?;
        ends_without_a_fence(&line, &mut s).await?;
        acts_on_the_dlq(&line, &mut s).await?;
        a_cancellation(&line, &mut s).await?;
        a_setting(&line, &mut s).await?;
        line.lost(line.client.recover_abandoned(None, None)).await?;
        line.lost(line.client.archive_zombies(None, None)).await?;
    }
    Ok(())
}

async fn enqueues_without_an_id(line: &Line, s: &mut Session) -> Result<()> {
    let (client, done) = (&line.client, line.done());
    let queue = line.name("new");
    line.lost(client.enqueue(&Enqueue::new(&queue, "t"))).await?;
    /* The key is free again as soon as the job has ended. */
    line.lost(client.enqueue(&Enqueue { idempotency_key: Some(&queue), ..Enqueue::new(&queue, "t") })).await?;
    let named = line.name("named");
    let many = [Enqueue { job_id: Some(&named), ..Enqueue::new(&queue, "t") }, Enqueue::new(&queue, "t")];
    line.lost(client.enqueue_many(&many)).await?;
    assert_eq!(jobs_of(s, &queue).await?, if done { 4 } else { 0 });
    Ok(())
}

async fn a_fetch(line: &Line, s: &mut Session) -> Result<()> {
    let (client, done) = (&line.client, line.done());
    let id = line.name("fetched");
    arrange::pending(s, &id, &id).await?;
    let queues = [&*id];
    let fetch = FetchNextBatch { queues: Some(&queues), start_now: true, ..FetchNextBatch::new("w1") };
    line.lost(client.fetch_next_batch(&fetch)).await?;
    assert_eq!(arrange::job(s, &id).await?.int("AttemptCount"), i64::from(done));
    Ok(())
}

/// The second try could end another attempt.
async fn ends_without_a_fence(line: &Line, s: &mut Session) -> Result<()> {
    let (client, done) = (&line.client, line.done());
    let [archived, late, moved] = ["archived", "late", "moved"].map(|it| line.name(it));
    for id in [&archived, &late, &moved] {
        arrange::processing(s, id, id).await?;
    }
    line.lost(client.archive_succeeded(&ArchiveSucceeded { job_id: &archived, ..ArchiveSucceeded::default() })).await?;
    line.lost(client.reschedule_for_retry(&RescheduleForRetry { job_id: &late, ..RescheduleForRetry::default() }))
        .await?;
    line.lost(client.move_to_dlq(&MoveToDlq::new(&moved, FailureReason::FatalError))).await?;
    let hot_unless_done = |pillar: &'static str| if done { pillar } else { "Hot" };
    assert_eq!(arrange::pillar(s, &archived).await?, hot_unless_done("Archive"));
    assert_eq!(arrange::job(s, &late).await?.int("Status"), if done { 0 } else { 2 });
    assert_eq!(arrange::pillar(s, &moved).await?, hot_unless_done("DLQ"));
    Ok(())
}

async fn acts_on_the_dlq(line: &Line, s: &mut Session) -> Result<()> {
    let (client, done) = (&line.client, line.done());
    let [one, set, batch, filter] = ["one", "set", "batch", "filter"].map(|it| line.name(&format!("back-{it}")));
    let dead = [one, set, batch, filter];
    let [gone_set, gone_batch, gone_filter] = ["set", "batch", "filter"].map(|it| line.name(&format!("gone-{it}")));
    let gone = [gone_set, gone_batch, gone_filter];
    for id in dead.iter().chain(&gone) {
        arrange::dead(s, id, id).await?;
    }
    let of = |queue| DlqFilter { queue: Some(queue), ..DlqFilter::default() };
    let back = Resurrect { job_id: &dead[0], resurrected_by: "ann", ..Resurrect::default() };
    line.lost(client.resurrect(&back)).await?;
    line.lost(client.resurrect_jobs(&[&dead[1]], "ann")).await?;
    line.lost(client.resurrect_batch(&[&dead[2]], "ann", None)).await?;
    let act = ResurrectByFilterBatch { what_if: false, ..ResurrectByFilterBatch::new(of(&dead[3]), "ann") };
    line.lost(client.resurrect_by_filter_batch(&act)).await?;
    line.lost(client.purge_dlq_jobs(&[&gone[0]], "ann")).await?;
    line.lost(client.purge_dlq(&[&gone[1]], "ann", None)).await?;
    let act = PurgeDlqByFilterBatch { what_if: false, ..PurgeDlqByFilterBatch::new(of(&gone[2]), "ann") };
    line.lost(client.purge_dlq_by_filter_batch(&act)).await?;
    for (ids, pillar) in [(&dead[..], "Hot"), (&gone[..], "")] {
        for id in ids {
            assert_eq!(arrange::pillar(s, id).await?, if done { pillar } else { "DLQ" }, "{id}");
        }
    }
    Ok(())
}

/// Another operator may have set it otherwise before the second try.
async fn a_setting(line: &Line, s: &mut Session) -> Result<()> {
    let (client, done) = (&line.client, line.done());
    let queue = line.name("set");
    line.lost(client.set_queue_paused(&queue, true, "ann")).await?;
    assert_eq!(line.again(client.get_queues(Some(&queue))).await?.len(), usize::from(done));
    client.set_queue_paused(&queue, false, "bob").await?;
    line.lost(client.set_queue_max_workers(&queue, Some(1), "ann")).await?;
    let sql = "SELECT COUNT(*) AS N FROM chokaq.Queues AS q WHERE q.Queue = @P1 AND q.MaxWorkers = 1";
    assert_eq!(s.count(sql, &values![&queue]).await?, i64::from(done));
    Ok(())
}

/// Somebody may have brought the job back before the second try.
async fn a_cancellation(line: &Line, s: &mut Session) -> Result<()> {
    let (client, done) = (&line.client, line.done());
    let id = line.name("cancelled");
    arrange::pending(s, &id, &id).await?;
    line.lost(client.cancel_jobs(&[&id], "ann", None)).await?;
    assert_eq!(arrange::history(s, &id).await?.len(), usize::from(done));
    assert!(line.again(client.get_job(&id)).await?.is_some());
    Ok(())
}

async fn a_safe_call_is_sent_again_and_acts_once(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for cut in NEXT {
        let line = Line::new(db, cut).await?;
        the_life_of_a_job(&line, &mut s).await?;
        ends_with_a_fence(&line, &mut s).await?;
    }
    Ok(())
}

async fn the_life_of_a_job(line: &Line, s: &mut Session) -> Result<()> {
    let (client, done) = (&line.client, line.done());
    let id = line.name("a");
    let job = Enqueue { job_id: Some(&id), ..Enqueue::new(&id, "t") };
    let answer = line.again(client.enqueue(&job)).await?;
    assert_eq!(answer.outcome, if done { EnqueueOutcome::DuplicateId } else { EnqueueOutcome::Enqueued });
    assert_eq!(jobs_of(s, &id).await?, 1);
    arrange::take(s, &id, &id, false).await?;
    /* Only the worker knows whether it has fetched the job anew since. */
    line.lost(client.mark_as_processing(&id, "w1")).await?;
    let started = client.mark_as_processing(&id, "w1").await?;
    let (first, second) = (MarkAsProcessingOutcome::Started, MarkAsProcessingOutcome::AlreadyStarted);
    assert_eq!((started.outcome, started.attempt_count), (if done { second } else { first }, Some(1)));
    assert_eq!(line.again(client.keep_alive(&[&id], "w1")).await?[0].outcome, KeepAliveOutcome::Alive);
    let finished = ArchiveSucceeded {
        job_id: &id,
        worker_id: Some("w1"),
        attempt: Some(1),
        duration_ms: None,
        resurrect_count: Some(0),
    };
    let archived = line.again(client.archive_succeeded(&finished)).await?.outcome;
    let (first, second) = (ArchiveSucceededOutcome::Archived, ArchiveSucceededOutcome::AlreadyArchived);
    assert_eq!(archived, if done { second } else { first });
    Ok(())
}

async fn ends_with_a_fence(line: &Line, s: &mut Session) -> Result<()> {
    let (client, done) = (&line.client, line.done());
    let [set, late, failed, moved] = ["set", "late", "failed", "moved"].map(|it| line.name(it));
    for id in [&set, &late, &failed, &moved] {
        arrange::processing(s, id, id).await?;
    }
    let jobs = [FinishedJob { job_id: &set, attempt: Some(1), duration_ms: None, resurrect_count: Some(0) }];
    let archived = line.again(client.archive_succeeded_jobs(&jobs, "w1")).await?[0].outcome;
    let (first, second) = (ArchiveSucceededJobsOutcome::Archived, ArchiveSucceededJobsOutcome::AlreadyArchived);
    assert_eq!(archived, if done { second } else { first });
    let retry = RescheduleForRetry {
        job_id: &late,
        worker_id: Some("w1"),
        attempt: Some(1),
        resurrect_count: Some(0),
        ..RescheduleForRetry::default()
    };
    let again = line.again(client.reschedule_for_retry(&retry)).await?.outcome;
    assert_eq!(again == RescheduleForRetryOutcome::Rescheduled, !done, "{again}");
    assert_eq!(arrange::stats(s, &late).await?["RetriedTotal"], 1);
    let failure = FailJob {
        job_id: &failed,
        worker_id: "w1",
        attempt: 1,
        failure_reason: FailureReason::FatalError,
        error_details: None,
        retry_after_seconds: None,
        resurrect_count: Some(0),
    };
    let again = line.again(client.fail_job(&failure)).await?.outcome;
    assert_eq!(again, if done { FailJobOutcome::AlreadyMoved } else { FailJobOutcome::Moved });
    let rejected = MoveToDlq {
        worker_id: Some("w1"),
        attempt: Some(1),
        resurrect_count: Some(0),
        ..MoveToDlq::new(&moved, FailureReason::Rejected)
    };
    let again = line.again(client.move_to_dlq(&rejected)).await?.outcome;
    assert_eq!(again, if done { MoveToDlqOutcome::AlreadyMoved } else { MoveToDlqOutcome::Moved });
    Ok(())
}
