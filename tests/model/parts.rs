//! What steps are made of: names from small sets, so that they meet; seconds in whole hundreds.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::steps::*;

const QUEUES: [&str; 3] = ["a", "A", "b"];
const TYPES: [&str; 2] = ["t", "T"];
const WORKERS: [&str; 3] = ["w1", "w2", "W1"];
const OPERATORS: [&str; 2] = ["ann", "Ann"];
const TEXTS: [&str; 7] = ["{}", r#"{"n": 1}"#, r#"{"N": 1}"#, "", "{broken", "100%_[x]' 😀", "7"];
const TAGS: [&str; 4] = ["red", "RED", "", "x_y%"];
const ERRORS: [&str; 2] = ["boom", "100%_[x]'"];
const SEARCHES: [&str; 5] = ["oom", "%_[", "red", "j1", "BOOM"];

pub fn pick() -> impl Strategy<Value = Pick> + Clone {
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
pub fn a(wanted: Wanted) -> impl Strategy<Value = Pick> + Clone {
    prop_oneof![4 => (0..JOBS.len()).prop_map(move |nth| Pick { wanted, nth }), 1 => pick()]
}

pub fn many(wanted: Wanted) -> impl Strategy<Value = Vec<Pick>> {
    vec(a(wanted), 0..6)
}

pub fn queue() -> impl Strategy<Value = &'static str> + Clone {
    prop_oneof![3 => Just(QUEUES[0]), 1 => Just(QUEUES[1]), 1 => Just(QUEUES[2])]
}

pub fn kind() -> impl Strategy<Value = &'static str> + Clone {
    select(&TYPES[..])
}

pub fn worker() -> impl Strategy<Value = &'static str> + Clone {
    prop_oneof![4 => Just(WORKERS[0]), 1 => Just(WORKERS[1]), 1 => Just(WORKERS[2])]
}

pub fn operator() -> impl Strategy<Value = &'static str> + Clone {
    select(&OPERATORS[..])
}

pub fn by() -> impl Strategy<Value = By> + Clone {
    prop_oneof![5 => Just(By::Holder), 1 => Just(By::Nobody), 2 => worker().prop_map(By::Worker)]
}

pub fn tell() -> impl Strategy<Value = Tell> + Clone {
    prop_oneof![2 => Just(Tell::Nothing), 5 => Just(Tell::Right), 1 => Just(Tell::Wrong)]
}

pub fn fence() -> impl Strategy<Value = Fence> + Clone {
    (by(), tell(), tell()).prop_map(|(worker, attempt, resurrects)| Fence { worker, attempt, resurrects })
}

pub fn text() -> impl Strategy<Value = Text> + Clone {
    option::of(select(&TEXTS[..]))
}

pub fn tags() -> impl Strategy<Value = Text> + Clone {
    option::of(select(&TAGS[..]))
}

pub fn error() -> impl Strategy<Value = Text> + Clone {
    option::of(select(&ERRORS[..]))
}

pub fn priority() -> impl Strategy<Value = i64> + Clone {
    prop_oneof![6 => Just(10), 2 => Just(20), 1 => Just(-5), 1 => select(vec![i64::from(i32::MIN), i64::from(i32::MAX)])]
}

pub fn reason() -> impl Strategy<Value = i64> + Clone {
    prop_oneof![3 => Just(8), 2 => Just(6), 2 => 0..12i64]
}

pub fn delay() -> impl Strategy<Value = i64> + Clone {
    prop_oneof![3 => Just(0), 1 => select(vec![500, 1500, 5000])]
}

pub fn timeout() -> impl Strategy<Value = i64> + Clone {
    select(vec![0, 300, 600, 2000])
}

pub fn size() -> impl Strategy<Value = i64> + Clone {
    prop_oneof![1 => Just(1), 1 => Just(2), 2 => Just(1000)]
}

pub fn before() -> impl Strategy<Value = i64> + Clone {
    select(vec![-4500, -500, 0, 1000])
}

pub fn duration() -> impl Strategy<Value = Option<f64>> + Clone {
    select(vec![None, Some(250.0), Some(0.0), Some(-1.0)])
}

pub fn new() -> impl Strategy<Value = New> {
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

pub fn fetch() -> impl Strategy<Value = Act> {
    let queues = prop_oneof![4 => Just(None), 1 => vec(queue(), 0..3).prop_map(Some)];
    (worker(), prop_oneof![1 => Just(1), 1 => Just(2), 3 => Just(10)], queues, any::<bool>())
        .prop_map(|(worker, size, queues, start_now)| Act::FetchNextBatch { worker, size, queues, start_now })
}

pub fn edit() -> impl Strategy<Value = Edit> {
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

pub fn back() -> impl Strategy<Value = Return> {
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

pub fn filter() -> impl Strategy<Value = Filter> {
    let seldom = |seconds: &'static [i64]| prop_oneof![3 => Just(None), 1 => select(seconds).prop_map(Some)];
    let search = prop_oneof![4 => Just(None), 1 => select(&SEARCHES[..]).prop_map(Some)];
    let queue = prop_oneof![1 => Just(None), 1 => queue().prop_map(Some)];
    let kind = prop_oneof![3 => Just(None), 1 => kind().prop_map(Some)];
    let reason = prop_oneof![3 => Just(None), 1 => reason().prop_map(Some)];
    (queue, kind, reason, seldom(&[-4500, -500, 0]), seldom(&[-500, 0, 1000]), search)
        .prop_map(|(queue, kind, reason, from, to, search)| Filter { queue, kind, reason, from, to, search })
}

pub fn policy() -> impl Strategy<Value = Policy> {
    let age = prop_oneof![2 => Just((None, false)), 2 => Just((Some(2000), false)), 1 => Just((None, true))];
    (
        select(vec![None, Some(1), Some(1), Some(2), Some(3)]),
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

pub fn set(setting: impl Strategy<Value = Setting>) -> impl Strategy<Value = Act> {
    (queue(), setting, operator()).prop_map(|(queue, setting, by)| Act::SetQueue(queue, setting, by))
}
