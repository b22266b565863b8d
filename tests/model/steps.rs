//! The steps: which calls there are, in relation to the state they will meet, so that a shorter sequence is one too.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

pub const JOBS: [&str; 8] = ["j1", "j2", "j3", "j4", "J1", "j 5", "jé", "j😀"];
pub const QUEUES: [&str; 3] = ["a", "A", "b"];
const TYPES: [&str; 2] = ["t", "T"];
const WORKERS: [&str; 3] = ["w1", "w2", "W1"];
const OPERATORS: [&str; 2] = ["ann", "bob"];
const TEXTS: [&str; 6] = ["{}", r#"{"n": 1}"#, "", "{broken", "100%_[x]' 😀", "7"];
const TAGS: [&str; 3] = ["red", "", "x_y%"];
const ERRORS: [&str; 2] = ["boom", "100%_[x]'"];
const SEARCHES: [&str; 5] = ["oom", "%_[", "red", "j1", "BOOM"];

/// One call, by one of the sessions.
#[derive(Clone, Debug)]
pub struct Step {
    pub session: usize,
    pub how: How,
    pub act: Act,
}

/// Whose transaction the call is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Alone,
    Committed,
    RolledBack,
}

/// The nth job of those that are so; when there is none, the nth usual id.
#[derive(Clone, Copy, Debug)]
pub struct Pick {
    pub wanted: Wanted,
    pub nth: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Usual,
    Pending,
    Fetched,
    Processing,
    Archived,
    Dead,
}

#[derive(Clone, Copy, Debug)]
pub enum By {
    Holder,
    Nobody,
    Worker(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tell {
    Nothing,
    Right,
    Wrong,
}

#[derive(Clone, Copy, Debug)]
pub struct Fence {
    pub worker: By,
    pub attempt: Tell,
    pub resurrects: Tell,
}

#[derive(Clone, Copy, Debug)]
pub enum When {
    Now,
    In(i64),
    At(i64),
}

type Text = Option<&'static str>;

#[derive(Clone, Debug)]
pub struct New {
    pub queue: &'static str,
    pub kind: &'static str,
    pub payload: Text,
    pub id: Text,
    pub tags: Text,
    pub priority: i64,
    pub when: When,
    pub key: Text,
    pub by: Text,
}

#[derive(Clone, Copy, Debug)]
pub enum Change {
    Keep,
    To(&'static str),
    Clear,
}

#[derive(Clone, Debug)]
pub struct Edit {
    pub payload: Change,
    pub tags: Change,
    pub priority: Option<i64>,
    pub by: &'static str,
    pub allow_invalid: bool,
    pub expected: Tell,
}

#[derive(Clone, Debug)]
pub struct Return {
    pub payload: Text,
    pub tags: Text,
    pub priority: Option<i64>,
    pub by: &'static str,
    pub allow_invalid: bool,
    pub delay: i64,
    pub keep_key: bool,
    pub expected: Tell,
}

/// Times are seconds from now.
#[derive(Clone, Debug)]
pub struct Filter {
    pub queue: Text,
    pub kind: Text,
    pub reason: Option<i64>,
    pub from: Option<i64>,
    pub to: Option<i64>,
    pub search: Text,
}

#[derive(Clone, Debug)]
pub enum Setting {
    Paused(bool),
    Active(bool),
    MaxWorkers(Option<i64>),
    ZombieTimeout(Option<i64>),
    RetryPolicy(Policy),
}

#[derive(Clone, Debug)]
pub struct Policy {
    pub max_attempts: Option<i64>,
    pub base_delay: Option<i64>,
    pub multiplier: Option<f64>,
    pub max_delay: Option<i64>,
    pub jitter: Option<i64>,
    pub max_age: Option<i64>,
    pub clear_max_age: bool,
}

#[derive(Clone, Debug)]
pub enum Act {
    /// Of every table the times are put back by so many seconds: nobody has to wait for a timeout.
    TimePasses(i64),
    /// A call with one bad argument, of all that there are.
    Invalid(usize),
    Enqueue(New),
    EnqueueMany(Vec<New>),
    FetchNextBatch {
        worker: &'static str,
        size: i64,
        queues: Option<Vec<&'static str>>,
        start_now: bool,
    },
    MarkAsProcessing(Pick, By),
    MarkJobsAsProcessing(Vec<Pick>, &'static str),
    KeepAlive(Vec<Pick>, &'static str),
    ReleaseJob(Pick, By),
    ReleaseWorker(&'static str),
    ArchiveSucceeded(Pick, Fence, Option<f64>),
    ArchiveSucceededJobs(Vec<(Pick, Tell, Tell)>, &'static str),
    RescheduleForRetry {
        job: Pick,
        fence: Fence,
        delay: i64,
        error: Text,
    },
    MoveToDLQ {
        job: Pick,
        reason: i64,
        error: Text,
        fence: Fence,
        by: Text,
    },
    FailJob {
        job: Pick,
        fence: Fence,
        reason: i64,
        error: Text,
        retry_after: Option<i64>,
    },
    RecoverAbandonedBatch {
        timeout: i64,
        size: i64,
        go_on: bool,
    },
    RecoverAbandoned {
        timeout: i64,
        size: i64,
    },
    ArchiveZombiesBatch {
        timeout: Option<i64>,
        size: i64,
        go_on: bool,
    },
    ArchiveZombies {
        timeout: Option<i64>,
        size: i64,
    },
    ListDLQ {
        filter: Filter,
        limit: i64,
        go_on: bool,
    },
    GetDLQJob(Pick),
    GetJob(Pick),
    GetJobHistory(Pick),
    SummarizeDLQ(Text, Text),
    UpdateJobData(Pick, Edit),
    UpdateDLQJobData(Pick, Edit),
    Resurrect(Pick, Return),
    ResurrectJobs(Vec<Pick>, &'static str),
    ResurrectBatch(Vec<Pick>, &'static str, i64),
    ResurrectByFilterBatch {
        filter: Filter,
        size: i64,
        by: &'static str,
        what_if: bool,
        go_on: bool,
    },
    ResurrectByFilter {
        filter: Filter,
        max: i64,
        by: &'static str,
        what_if: bool,
        size: i64,
    },
    CancelJobs(Vec<Pick>, &'static str, Text),
    ArchiveCancelledBatch(Vec<Pick>, &'static str, Text, i64),
    PurgeDLQJobs(Vec<Pick>, &'static str),
    PurgeDLQ(Vec<Pick>, &'static str, i64),
    PurgeDLQByFilterBatch {
        filter: Filter,
        size: i64,
        by: &'static str,
        what_if: bool,
        go_on: bool,
    },
    PurgeDLQByFilter {
        filter: Filter,
        max: i64,
        by: &'static str,
        what_if: bool,
        size: i64,
    },
    PurgeArchiveBatch {
        before: i64,
        size: i64,
        by: Text,
        go_on: bool,
    },
    PurgeArchive {
        before: i64,
        size: i64,
        max: Option<i64>,
        by: Text,
    },
    PurgeHistoryBatch {
        before: i64,
        size: i64,
        by: Text,
        go_on: bool,
    },
    PurgeHistory {
        before: i64,
        size: i64,
        by: Text,
    },
    SetQueue(&'static str, Setting, &'static str),
    GetQueues(Text),
    GetQueueStats(Text),
    GetSummaryStats,
    GetHealth(Text),
    FoldCounters(i64),
    GetVersion,
}

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
            20,
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
        ("SetQueueRetryPolicy", 8, set(policy().prop_map(Setting::RetryPolicy)).boxed()),
        ("GetQueues", 2, option::of(queue()).prop_map(A::GetQueues).boxed()),
        ("GetQueueStats", 5, option::of(queue()).prop_map(A::GetQueueStats).boxed()),
        ("GetSummaryStats", 3, Just(A::GetSummaryStats).boxed()),
        ("GetHealth", 4, option::of(queue()).prop_map(A::GetHealth).boxed()),
        ("FoldCounters", 3, select(vec![1, 10_000]).prop_map(A::FoldCounters).boxed()),
        ("GetVersion", 1, Just(A::GetVersion).boxed()),
    ]
}

fn pick() -> impl Strategy<Value = Pick> + Clone {
    let wanted = prop_oneof![
        1 => Just(Wanted::Usual),
        2 => Just(Wanted::Pending),
        2 => Just(Wanted::Fetched),
        4 => Just(Wanted::Processing),
        1 => Just(Wanted::Archived),
        5 => Just(Wanted::Dead),
    ];
    (wanted, 0..JOBS.len()).prop_map(|(wanted, nth)| Pick { wanted, nth })
}

/// Mostly a job that the step can do something to.
fn a(wanted: Wanted) -> impl Strategy<Value = Pick> + Clone {
    prop_oneof![4 => (0..JOBS.len()).prop_map(move |nth| Pick { wanted, nth }), 1 => pick()]
}

fn many(wanted: Wanted) -> impl Strategy<Value = Vec<Pick>> {
    vec(a(wanted), 0..6)
}

fn queue() -> impl Strategy<Value = &'static str> + Clone {
    prop_oneof![3 => Just(QUEUES[0]), 1 => Just(QUEUES[1]), 1 => Just(QUEUES[2])]
}

fn kind() -> impl Strategy<Value = &'static str> + Clone {
    select(&TYPES[..])
}

fn worker() -> impl Strategy<Value = &'static str> + Clone {
    prop_oneof![4 => Just(WORKERS[0]), 1 => Just(WORKERS[1]), 1 => Just(WORKERS[2])]
}

fn operator() -> impl Strategy<Value = &'static str> + Clone {
    select(&OPERATORS[..])
}

fn by() -> impl Strategy<Value = By> + Clone {
    prop_oneof![6 => Just(By::Holder), 1 => Just(By::Nobody), 1 => worker().prop_map(By::Worker)]
}

fn tell() -> impl Strategy<Value = Tell> + Clone {
    prop_oneof![2 => Just(Tell::Nothing), 6 => Just(Tell::Right), 1 => Just(Tell::Wrong)]
}

fn fence() -> impl Strategy<Value = Fence> + Clone {
    (by(), tell(), tell()).prop_map(|(worker, attempt, resurrects)| Fence { worker, attempt, resurrects })
}

fn text() -> impl Strategy<Value = Text> + Clone {
    option::of(select(&TEXTS[..]))
}

fn tags() -> impl Strategy<Value = Text> + Clone {
    option::of(select(&TAGS[..]))
}

fn error() -> impl Strategy<Value = Text> + Clone {
    option::of(select(&ERRORS[..]))
}

fn priority() -> impl Strategy<Value = i64> + Clone {
    prop_oneof![6 => Just(10), 2 => Just(20), 1 => Just(-5), 1 => select(vec![i64::from(i32::MIN), i64::from(i32::MAX)])]
}

fn reason() -> impl Strategy<Value = i64> + Clone {
    prop_oneof![3 => Just(8), 2 => Just(6), 2 => 0..12i64]
}

fn delay() -> impl Strategy<Value = i64> + Clone {
    prop_oneof![3 => Just(0), 1 => select(vec![500, 1500, 5000])]
}

fn timeout() -> impl Strategy<Value = i64> + Clone {
    select(vec![0, 300, 600, 2000])
}

fn size() -> impl Strategy<Value = i64> + Clone {
    prop_oneof![1 => Just(1), 1 => Just(2), 2 => Just(1000)]
}

fn before() -> impl Strategy<Value = i64> + Clone {
    select(vec![-4500, -500, 0, 1000])
}

fn duration() -> impl Strategy<Value = Option<f64>> + Clone {
    select(vec![None, Some(250.0), Some(0.0), Some(-1.0)])
}

fn new() -> impl Strategy<Value = New> {
    let when = prop_oneof![
        6 => Just(When::Now),
        1 => select(vec![500, 1500, 5000]).prop_map(When::In),
        1 => select(vec![-1500, -500, 500, 1500]).prop_map(When::At),
    ];
    let key = prop_oneof![4 => Just(None), 1 => select(vec![Some("k1"), Some("K1")])];
    let id = prop_oneof![6 => select(&JOBS[..]).prop_map(Some), 1 => Just(None)];
    (queue(), kind(), text(), id, tags(), priority(), when, key, option::of(operator())).prop_map(
        |(queue, kind, payload, id, tags, priority, when, key, by)| New {
            queue,
            kind,
            payload,
            id,
            tags,
            priority,
            when,
            key,
            by,
        },
    )
}

fn fetch() -> impl Strategy<Value = Act> {
    let queues = prop_oneof![4 => Just(None), 1 => vec(queue(), 0..3).prop_map(Some)];
    (worker(), prop_oneof![1 => Just(1), 1 => Just(2), 3 => Just(10)], queues, any::<bool>())
        .prop_map(|(worker, size, queues, start_now)| Act::FetchNextBatch { worker, size, queues, start_now })
}

fn edit() -> impl Strategy<Value = Edit> {
    let change = |texts: &'static [&'static str]| prop_oneof![2 => Just(Change::Keep), 3 => select(texts).prop_map(Change::To), 1 => Just(Change::Clear)];
    (change(&TEXTS), change(&TAGS), option::of(priority()), operator(), any::<bool>(), tell()).prop_map(
        |(payload, tags, priority, by, allow_invalid, expected)| Edit {
            payload,
            tags,
            priority,
            by,
            allow_invalid,
            expected,
        },
    )
}

fn back() -> impl Strategy<Value = Return> {
    (text(), tags(), option::of(priority()), operator(), any::<bool>(), delay(), any::<bool>(), tell()).prop_map(
        |(payload, tags, priority, by, allow_invalid, delay, keep_key, expected)| Return {
            payload,
            tags,
            priority,
            by,
            allow_invalid,
            delay,
            keep_key,
            expected,
        },
    )
}

fn filter() -> impl Strategy<Value = Filter> {
    let seldom = |seconds: &'static [i64]| prop_oneof![3 => Just(None), 1 => select(seconds).prop_map(Some)];
    let search = prop_oneof![4 => Just(None), 1 => select(&SEARCHES[..]).prop_map(Some)];
    let queue = prop_oneof![1 => Just(None), 1 => queue().prop_map(Some)];
    let kind = prop_oneof![3 => Just(None), 1 => kind().prop_map(Some)];
    let reason = prop_oneof![3 => Just(None), 1 => reason().prop_map(Some)];
    (queue, kind, reason, seldom(&[-4500, -500, 0]), seldom(&[-500, 0, 1000]), search)
        .prop_map(|(queue, kind, reason, from, to, search)| Filter { queue, kind, reason, from, to, search })
}

fn policy() -> impl Strategy<Value = Policy> {
    let age = prop_oneof![2 => Just((None, false)), 2 => Just((Some(2000), false)), 1 => Just((None, true))];
    (
        option::of(1..4i64),
        option::of(select(vec![0, 500, 1500])),
        option::of(select(vec![1.0, 2.0])),
        option::of(select(vec![500, 3600])),
        option::of(select(vec![0, 30])),
        age,
    )
        .prop_map(|(max_attempts, base_delay, multiplier, max_delay, jitter, (max_age, clear_max_age))| Policy {
            max_attempts,
            base_delay,
            multiplier,
            max_delay,
            jitter,
            max_age,
            clear_max_age,
        })
}

fn set(setting: impl Strategy<Value = Setting>) -> impl Strategy<Value = Act> {
    (queue(), setting, operator()).prop_map(|(queue, setting, by)| Act::SetQueue(queue, setting, by))
}
