//! The steps: which calls there are, in relation to the state they will meet, so that a shorter sequence is one too.

pub const JOBS: [&str; 8] = ["j1", "j2", "j3", "j4", "J1", "j 5", "jé", "j😀"];

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

pub type Text = Option<&'static str>;

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
