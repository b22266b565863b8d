//! How steps are drawn: what is there, and how often it comes.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::parts::*;
use crate::steps::*;

/// A sequence: jobs come in, are fetched and fail; then everything.
pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let begin = [("EnqueueMany", 3), ("FetchNextBatch", 2), ("MoveToDLQ", 3), ("Resurrect", 1)];
    let weight = move |name| begin.iter().find(|(kind, _)| *kind == name).map(|(_, weight)| *weight);
    let first = acts().into_iter().filter_map(move |(name, _, act)| Some((weight(name)?, act)));
    let all = acts().into_iter().map(|(_, weight, act)| (weight, act));
    (vec(step(first), 0..=8), vec(step(all), 1..=40)).prop_map(|(first, rest)| [first, rest].concat())
}

fn step(acts: impl Iterator<Item = (u32, BoxedStrategy<Act>)>) -> impl Strategy<Value = Step> {
    let how = prop_oneof![8 => Just(How::Alone), 1 => Just(How::Committed), 1 => Just(How::RolledBack)];
    let act = proptest::strategy::Union::new_weighted(acts.collect());
    (0..3usize, how, act).prop_map(|(session, how, act)| Step { session, how, act })
}

/// Every kind of step, with its procedure's name and how often it comes.
pub fn acts() -> Vec<(&'static str, u32, BoxedStrategy<Act>)> {
    use Act as A;
    let go_on = any::<bool>;
    vec![
        ("TimePasses", 12, select(vec![100, 700, 1000, 4000]).prop_map(A::TimePasses).boxed()),
        ("Invalid", 12, any::<usize>().prop_map(A::Invalid).boxed()),
        ("Enqueue", 40, new().prop_map(A::Enqueue).boxed()),
        ("EnqueueMany", 25, vec(new(), 0..7).prop_map(A::EnqueueMany).boxed()),
        ("FetchNextBatch", 60, fetch().boxed()),
        ("MarkAsProcessing", 20, (a(Wanted::Fetched), by()).prop_map(|(job, by)| A::MarkAsProcessing(job, by)).boxed()),
        (
            "MarkJobsAsProcessing",
            8,
            (many(Wanted::Fetched), worker()).prop_map(|(j, w)| A::MarkJobsAsProcessing(j, w)).boxed(),
        ),
        (
            "KeepAlive",
            6,
            (many(Wanted::Processing), worker()).prop_map(|(jobs, worker)| A::KeepAlive(jobs, worker)).boxed(),
        ),
        ("ReleaseJob", 8, (a(Wanted::Fetched), by()).prop_map(|(job, by)| A::ReleaseJob(job, by)).boxed()),
        ("ReleaseWorker", 3, worker().prop_map(A::ReleaseWorker).boxed()),
        (
            "ArchiveSucceeded",
            14,
            (a(Wanted::Processing), fence(), duration()).prop_map(|(j, f, d)| A::ArchiveSucceeded(j, f, d)).boxed(),
        ),
        (
            "ArchiveSucceededJobs",
            8,
            (vec((a(Wanted::Processing), tell(), tell()), 0..5), worker())
                .prop_map(|(j, w)| A::ArchiveSucceededJobs(j, w))
                .boxed(),
        ),
        (
            "RescheduleForRetry",
            8,
            (a(Wanted::Processing), fence(), delay(), error())
                .prop_map(|(job, fence, delay, error)| A::RescheduleForRetry { job, fence, delay, error })
                .boxed(),
        ),
        (
            "MoveToDLQ",
            30,
            (pick(), reason(), error(), fence(), option::of(operator()))
                .prop_map(|(job, reason, error, fence, by)| A::MoveToDLQ { job, reason, error, fence, by })
                .boxed(),
        ),
        (
            "FailJob",
            35,
            (a(Wanted::Processing), fence(), reason(), error(), option::of(delay()))
                .prop_map(|(job, fence, reason, error, retry_after)| A::FailJob {
                    job,
                    fence,
                    reason,
                    error,
                    retry_after,
                })
                .boxed(),
        ),
        (
            "RecoverAbandonedBatch",
            5,
            (timeout(), size(), go_on())
                .prop_map(|(timeout, size, go_on)| A::RecoverAbandonedBatch { timeout, size, go_on })
                .boxed(),
        ),
        (
            "RecoverAbandoned",
            4,
            (timeout(), size()).prop_map(|(timeout, size)| A::RecoverAbandoned { timeout, size }).boxed(),
        ),
        (
            "ArchiveZombiesBatch",
            6,
            (option::of(timeout()), size(), go_on())
                .prop_map(|(timeout, size, go_on)| A::ArchiveZombiesBatch { timeout, size, go_on })
                .boxed(),
        ),
        (
            "ArchiveZombies",
            4,
            (option::of(timeout()), size()).prop_map(|(timeout, size)| A::ArchiveZombies { timeout, size }).boxed(),
        ),
        (
            "ListDLQ",
            6,
            (filter(), select(vec![1, 2, 100]), go_on())
                .prop_map(|(filter, limit, go_on)| A::ListDLQ { filter, limit, go_on })
                .boxed(),
        ),
        ("GetDLQJob", 4, a(Wanted::Dead).prop_map(A::GetDLQJob).boxed()),
        ("GetJob", 8, pick().prop_map(A::GetJob).boxed()),
        ("GetJobHistory", 4, a(Wanted::Dead).prop_map(A::GetJobHistory).boxed()),
        (
            "SummarizeDLQ",
            3,
            (option::of(queue()), option::of(kind())).prop_map(|(queue, kind)| A::SummarizeDLQ(queue, kind)).boxed(),
        ),
        ("UpdateJobData", 10, (a(Wanted::Pending), edit()).prop_map(|(job, edit)| A::UpdateJobData(job, edit)).boxed()),
        (
            "UpdateDLQJobData",
            10,
            (a(Wanted::Dead), edit()).prop_map(|(job, edit)| A::UpdateDLQJobData(job, edit)).boxed(),
        ),
        ("Resurrect", 12, (a(Wanted::Dead), back()).prop_map(|(job, back)| A::Resurrect(job, back)).boxed()),
        (
            "ResurrectJobs",
            5,
            (many(Wanted::Dead), operator()).prop_map(|(jobs, by)| A::ResurrectJobs(jobs, by)).boxed(),
        ),
        (
            "ResurrectBatch",
            4,
            (many(Wanted::Dead), operator(), size())
                .prop_map(|(jobs, by, size)| A::ResurrectBatch(jobs, by, size))
                .boxed(),
        ),
        (
            "ResurrectByFilterBatch",
            5,
            (filter(), size(), operator(), any::<bool>(), go_on())
                .prop_map(|(filter, size, by, what_if, go_on)| A::ResurrectByFilterBatch {
                    filter,
                    size,
                    by,
                    what_if,
                    go_on,
                })
                .boxed(),
        ),
        (
            "ResurrectByFilter",
            5,
            (filter(), size(), operator(), any::<bool>(), size())
                .prop_map(|(filter, max, by, what_if, size)| A::ResurrectByFilter { filter, max, by, what_if, size })
                .boxed(),
        ),
        (
            "CancelJobs",
            8,
            (many(Wanted::Pending), operator(), error())
                .prop_map(|(jobs, by, why)| A::CancelJobs(jobs, by, why))
                .boxed(),
        ),
        (
            "ArchiveCancelledBatch",
            5,
            (many(Wanted::Pending), operator(), error(), size())
                .prop_map(|(jobs, by, why, size)| A::ArchiveCancelledBatch(jobs, by, why, size))
                .boxed(),
        ),
        ("PurgeDLQJobs", 4, (many(Wanted::Dead), operator()).prop_map(|(jobs, by)| A::PurgeDLQJobs(jobs, by)).boxed()),
        (
            "PurgeDLQ",
            3,
            (many(Wanted::Dead), operator(), size()).prop_map(|(jobs, by, size)| A::PurgeDLQ(jobs, by, size)).boxed(),
        ),
        (
            "PurgeDLQByFilterBatch",
            4,
            (filter(), size(), operator(), any::<bool>(), go_on())
                .prop_map(|(filter, size, by, what_if, go_on)| A::PurgeDLQByFilterBatch {
                    filter,
                    size,
                    by,
                    what_if,
                    go_on,
                })
                .boxed(),
        ),
        (
            "PurgeDLQByFilter",
            4,
            (filter(), size(), operator(), any::<bool>(), size())
                .prop_map(|(filter, max, by, what_if, size)| A::PurgeDLQByFilter { filter, max, by, what_if, size })
                .boxed(),
        ),
        (
            "PurgeArchiveBatch",
            4,
            (before(), size(), option::of(operator()), go_on())
                .prop_map(|(before, size, by, go_on)| A::PurgeArchiveBatch { before, size, by, go_on })
                .boxed(),
        ),
        (
            "PurgeArchive",
            3,
            (before(), size(), option::of(1..3i64), option::of(operator()))
                .prop_map(|(before, size, max, by)| A::PurgeArchive { before, size, max, by })
                .boxed(),
        ),
        (
            "PurgeHistoryBatch",
            3,
            (before(), size(), option::of(operator()), go_on())
                .prop_map(|(before, size, by, go_on)| A::PurgeHistoryBatch { before, size, by, go_on })
                .boxed(),
        ),
        (
            "PurgeHistory",
            2,
            (before(), size(), option::of(operator()))
                .prop_map(|(before, size, by)| A::PurgeHistory { before, size, by })
                .boxed(),
        ),
        ("SetQueuePaused", 3, set(prop::bool::weighted(0.3).prop_map(Setting::Paused)).boxed()),
        ("SetQueueActive", 3, set(prop::bool::weighted(0.7).prop_map(Setting::Active)).boxed()),
        (
            "SetQueueMaxWorkers",
            6,
            set(select(vec![None, Some(0), Some(1), Some(2), Some(9)]).prop_map(Setting::MaxWorkers)).boxed(),
        ),
        ("SetQueueZombieTimeout", 4, set(option::of(select(vec![500, 2000])).prop_map(Setting::ZombieTimeout)).boxed()),
        ("SetQueueRetryPolicy", 12, set(policy().prop_map(Setting::RetryPolicy)).boxed()),
        ("GetQueues", 2, option::of(queue()).prop_map(A::GetQueues).boxed()),
        ("GetQueueStats", 5, option::of(queue()).prop_map(A::GetQueueStats).boxed()),
        ("GetSummaryStats", 3, Just(A::GetSummaryStats).boxed()),
        ("GetHealth", 4, option::of(queue()).prop_map(A::GetHealth).boxed()),
        ("FoldCounters", 3, select(vec![1, 10_000]).prop_map(A::FoldCounters).boxed()),
        ("GetVersion", 1, Just(A::GetVersion).boxed()),
    ]
}
