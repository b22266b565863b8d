//! The state: what is in which table, written from the contract and the reference and from no procedure.

use std::collections::BTreeMap;

use time::{Duration, OffsetDateTime};

use crate::history::Act;
use crate::steps::{JOBS, Pick, Wanted};
use crate::term::{Term, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Pending = 0,
    Fetched = 1,
    Processing = 2,
}

/// A job is in one of three tables: here by the nature of an enum.
#[derive(Clone, Debug)]
pub enum Pillar {
    Hot { status: Status, due: Time, first_due: Time, arrival: u64, fetched: Option<Time> },
    Archive { finished: Time, duration: Option<f64> },
    Dlq { reason: i64, failed: Time },
}

#[derive(Clone, Debug)]
pub struct Job {
    pub queue: String,
    pub kind: String,
    pub payload: Option<String>,
    pub tags: Option<String>,
    pub key: Option<String>,
    pub priority: i64,
    pub attempts: i64,
    pub worker: Option<String>,
    pub scheduled: Option<Time>,
    pub started: Option<Time>,
    pub heartbeat: Option<Time>,
    pub error: Term,
    pub created: Time,
    pub created_by: Option<String>,
    pub updated: Time,
    pub modified_by: Option<String>,
    pub resurrects: i64,
    pub revision: u64,
    pub pillar: Pillar,
}

/// The settings of a queue, and what was counted of it.
#[derive(Clone, Debug)]
pub struct Queue {
    pub settings: Settings,
    pub created: Time,
    pub updated: Time,
    pub modified_by: Option<String>,
    pub totals: Totals,
    pub last_activity: Option<Time>,
    /// When jobs went to the Archive and to the DLQ, for the rates.
    pub completed: Vec<Time>,
    pub failed: Vec<Time>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub is_paused: bool,
    pub is_active: bool,
    pub max_workers: Option<i64>,
    pub zombie_timeout: Option<i64>,
    pub max_attempts: i64,
    pub base_delay: i64,
    pub multiplier: f64,
    pub max_delay: i64,
    pub jitter: i64,
    pub max_age: Option<i64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            is_paused: false,
            is_active: true,
            max_workers: None,
            zombie_timeout: None,
            max_attempts: 3,
            base_delay: 5,
            multiplier: 2.0,
            max_delay: 3600,
            jitter: 0,
            max_age: None,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Totals {
    pub enqueued: i64,
    pub succeeded: i64,
    pub retried: i64,
    pub dead_lettered: i64,
    pub resurrected: i64,
    pub purged: i64,
}

#[derive(Clone, Debug)]
pub struct Model {
    /// The server's clock when the sequence began.
    pub epoch: OffsetDateTime,
    pub now: Time,
    pub jobs: BTreeMap<String, Job>,
    pub queues: BTreeMap<String, Queue>,
    pub history: Vec<Act>,
    pub archive_purged: i64,
    /// A purge of the history took the buckets of the rates with it.
    pub buckets_purged: bool,
    /// Where the batch procedures ended last.
    pub sweep_ends: BTreeMap<&'static str, (String, String)>,
    pub time_ends: BTreeMap<&'static str, (Time, String)>,
    pub history_end: Option<Time>,
    next: u64,
}

impl Model {
    pub fn new(epoch: OffsetDateTime) -> Self {
        Self {
            epoch,
            now: Time { seconds: 0, step: 0 },
            jobs: BTreeMap::new(),
            queues: BTreeMap::new(),
            history: vec![],
            archive_purged: 0,
            buckets_purged: false,
            sweep_ends: BTreeMap::new(),
            time_ends: BTreeMap::new(),
            history_end: None,
            next: 0,
        }
    }

    /// A step begins, or the next batch of a looping call.
    pub fn tick(&mut self) {
        self.now.step += 1;
    }

    /// The earliest that an instant can be on the server's clock: to the letter when it was given by a caller.
    pub fn real(&self, time: Time) -> OffsetDateTime {
        self.epoch + Duration::seconds(time.seconds - self.now.seconds)
    }

    /// An instant as a caller gives it, so many seconds from now.
    pub fn given(&self, seconds: i64) -> Time {
        Time { seconds: self.now.seconds + seconds, step: 0 }
    }

    /// Numbers that are never used twice: arrivals, revisions, batches, names of jobs whose id the server makes.
    pub fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Nothing of what happened since has; but numbers that were seen are not used again.
    pub fn undo(&mut self, before: Self) {
        *self = Self { next: self.next, ..before };
    }

    /// The server has made this id.
    pub fn rename(&mut self, made: &str, id: &str) {
        if let Some(job) = self.jobs.remove(made) {
            self.jobs.insert(id.to_owned(), job);
        }
    }

    /// The id a step means: of a job where it wants one, else of any job, else one of the usual ids.
    pub fn id(&self, pick: &Pick) -> String {
        let of = |is: &dyn Fn(&Job) -> bool| {
            let ids: Vec<_> = self.jobs.iter().filter(|(_, job)| is(job)).map(|(id, _)| id.clone()).collect();
            (!ids.is_empty()).then(|| ids[pick.nth % ids.len()].clone())
        };
        let wanted = of(&|job| job.is(pick.wanted));
        let any = || of(&|_| pick.wanted != Wanted::Usual);
        wanted.or_else(any).unwrap_or_else(|| JOBS[pick.nth % JOBS.len()].to_owned())
    }

    /// A set of ids, and the same without repeats.
    pub fn ids(&self, picks: &[Pick]) -> (Vec<String>, Vec<String>) {
        let given: Vec<_> = picks.iter().map(|pick| self.id(pick)).collect();
        let mut once: Vec<String> = vec![];
        for id in &given {
            if !once.contains(id) {
                once.push(id.clone());
            }
        }
        (given, once)
    }

    pub fn hot(&self, id: &str) -> Option<&Job> {
        self.jobs.get(id).filter(|job| job.status().is_some())
    }

    pub fn dead(&self, id: &str) -> Option<&Job> {
        self.jobs.get(id).filter(|job| job.failed().is_some())
    }

    /// A job that is known to be there.
    pub fn job(&mut self, id: &str) -> &mut Job {
        self.jobs.get_mut(id).expect("the rule looked first")
    }

    /// A queue is made by its first job or its first setting.
    pub fn queue(&mut self, name: &str) -> &mut Queue {
        let now = self.now;
        self.queues.entry(name.to_owned()).or_insert_with(|| Queue {
            settings: Settings::default(),
            created: now,
            updated: now,
            modified_by: None,
            totals: Totals::default(),
            last_activity: None,
            completed: vec![],
            failed: vec![],
        })
    }

    pub fn settings(&self, queue: &str) -> Settings {
        self.queues.get(queue).map(|queue| queue.settings.clone()).unwrap_or_default()
    }

    pub fn count(&mut self, queue: &str, count: impl FnOnce(&mut Totals)) {
        let now = self.now;
        let queue = self.queue(queue);
        count(&mut queue.totals);
        queue.last_activity = Some(now);
    }
}

impl Job {
    /// In JobsHot only.
    pub fn status(&self) -> Option<Status> {
        match self.pillar {
            Pillar::Hot { status, .. } => Some(status),
            _ => None,
        }
    }

    /// Reason and time, in the DLQ only.
    pub fn failed(&self) -> Option<(i64, Time)> {
        match self.pillar {
            Pillar::Dlq { reason, failed } => Some((reason, failed)),
            _ => None,
        }
    }

    pub fn due(&self) -> Option<Time> {
        match self.pillar {
            Pillar::Hot { due, .. } => Some(due),
            _ => None,
        }
    }

    fn is(&self, wanted: Wanted) -> bool {
        match wanted {
            Wanted::Usual => false,
            Wanted::Pending => self.status() == Some(Status::Pending),
            Wanted::Fetched => self.status() == Some(Status::Fetched),
            Wanted::Processing => self.status() == Some(Status::Processing),
            Wanted::Archived => matches!(self.pillar, Pillar::Archive { .. }),
            Wanted::Dead => self.failed().is_some(),
        }
    }

    /// No worker, and what only a worker's job has: as when it came in, at its place.
    pub fn let_go(&mut self, now: Time) {
        self.worker = None;
        self.heartbeat = None;
        self.updated = now;
        if let Pillar::Hot { status, fetched, .. } = &mut self.pillar {
            *status = Status::Pending;
            *fetched = None;
        }
    }
}
