//! How a run ends: well, with another run, or in the DLQ.

use chokaq_tests::Value;
use serde_json::json;

use crate::line;
use crate::model::{Job, Model, Pillar, Settings, Status};
use crate::steps::{By, Fence, Pick, Tell};
use crate::term::{Call, NULL, Term, Time};

/// Cancelled, Rejected and FatalError are final; the others are retried.
const FINAL: [i64; 3] = [1, 4, 6];

impl Model {
    /// What a worker says of the run it ends.
    pub fn fence(&self, id: &str, fence: &Fence) -> Claimed {
        let job = self.jobs.get(id);
        let tell = |tell, number: Option<i64>| match tell {
            Tell::Nothing => None,
            Tell::Right => Some(number.unwrap_or(0)),
            Tell::Wrong => Some(number.unwrap_or(0) + 1),
        };
        Claimed {
            worker: match fence.worker {
                By::Holder => job.and_then(|job| job.worker.clone()),
                By::Nobody => None,
                By::Worker(name) => Some(name.to_owned()),
            },
            attempt: tell(fence.attempt, job.map(|job| job.attempts)),
            resurrects: tell(fence.resurrects, job.map(|job| job.resurrects)),
        }
    }

    pub fn archive(&mut self, pick: &Pick, fence: &Fence, duration: Option<f64>) -> Call {
        let id = self.id(pick);
        let claimed = self.fence(&id, fence).run();
        let outcome = self.succeed(&id, &claimed, duration);
        let args = line! {
            JobId: &id, WorkerId: claimed.worker, Attempt: claimed.attempt, DurationMs: duration,
            ResurrectCount: claimed.resurrects,
        };
        Call::row("ArchiveSucceeded", args, line! { Outcome: outcome, JobId: &id })
    }

    /// Of a repeated id the first element counts.
    pub fn archive_many(&mut self, jobs: &[(Pick, Tell, Tell)], worker: &str) -> Call {
        let (mut objects, mut rows, mut seen) = (vec![], vec![], vec![]);
        let ids: Vec<_> = jobs.iter().map(|(pick, _, _)| self.id(pick)).collect();
        for ((_, attempt, resurrects), id) in jobs.iter().zip(ids) {
            let fence = Fence { worker: By::Nobody, attempt: *attempt, resurrects: *resurrects };
            let claimed = Claimed { worker: Some(worker.to_owned()), ..self.fence(&id, &fence).run() };
            objects.push(json!({
                "jobId": id, "attempt": claimed.attempt, "durationMs": 250, "resurrectCount": claimed.resurrects,
            }));
            if !seen.contains(&id) {
                let outcome = self.succeed(&id, &claimed, Some(250.0));
                rows.push(line! { JobId: &id, Outcome: outcome });
                seen.push(id);
            }
        }
        let args = vec![("Jobs", Term::Is(Value::Json(json!(objects)))), ("WorkerId", worker.into())];
        Call::rows("ArchiveSucceededJobs", args, rows)
    }

    fn succeed(&mut self, id: &str, claimed: &Claimed, duration: Option<f64>) -> &'static str {
        if let Some(job) = self.jobs.get(id)
            && let Pillar::Archive { .. } = job.pillar
        {
            return match () {
                () if !claimed.is_owner(job) => "not_owner",
                () if claimed.is_stale(job) => "stale_attempt",
                () => "already_archived",
            };
        }
        if let Some(miss) = self.miss(id, claimed) {
            return miss;
        }
        let now = self.now;
        let job = self.job(id);
        job.pillar = Pillar::Archive { finished: now, duration: duration.filter(|ms| *ms >= 0.0) };
        job.error = NULL;
        job.heartbeat = None;
        job.updated = now;
        let queue = job.queue.clone();
        self.count(&queue, |totals| totals.succeeded += 1);
        self.queue(&queue).completed.push(now);
        "archived"
    }

    /// Why a run that is over cannot be ended once more.
    fn miss(&self, id: &str, claimed: &Claimed) -> Option<&'static str> {
        let Some(job) = self.hot(id) else { return Some("not_found") };
        match job.status() {
            Some(Status::Pending) => Some("not_processing"),
            _ if !claimed.is_owner(job) => Some("not_owner"),
            Some(Status::Fetched) => Some("not_processing"),
            _ => claimed.is_stale(job).then_some("stale_attempt"),
        }
    }

    pub fn reschedule(&mut self, pick: &Pick, fence: &Fence, delay: i64, error: Option<&'static str>) -> Call {
        let id = self.id(pick);
        let claimed = self.fence(&id, fence).run();
        let miss = self.miss(&id, &claimed);
        let due = miss.is_none().then(|| self.retry(&id, delay, error));
        let args = line! {
            JobId: &id, WorkerId: claimed.worker, Attempt: claimed.attempt, DelaySeconds: delay, ErrorDetails: error,
            ResurrectCount: claimed.resurrects,
        };
        let row = line! { Outcome: miss.unwrap_or("rescheduled"), ScheduledAtUtc: due };
        Call::row("RescheduleForRetry", args, row)
    }

    fn retry(&mut self, id: &str, delay: i64, error: Option<&str>) -> Time {
        let (now, then) = (self.now, self.now + delay);
        let job = self.job(id);
        job.let_go(now);
        job.started = None;
        job.scheduled = Some(then);
        if error.is_some() {
            job.error = error.into();
        }
        if let Pillar::Hot { due, .. } = &mut job.pillar {
            *due = then;
        }
        let queue = job.queue.clone();
        self.count(&queue, |totals| totals.retried += 1);
        then
    }

    pub fn move_to_dlq(
        &mut self,
        pick: &Pick,
        reason: i64,
        error: Option<&'static str>,
        fence: &Fence,
        by: Option<&'static str>,
    ) -> Call {
        let id = self.id(pick);
        let claimed = self.fence(&id, fence);
        let args = line! {
            JobId: &id, FailureReason: reason, ErrorDetails: error, WorkerId: claimed.worker.clone(),
            Attempt: claimed.attempt, MovedBy: by, ResurrectCount: claimed.resurrects,
        };
        let is_dead = self.dead(&id).is_some();
        let outcome = match self.jobs.get(&id) {
            None => "not_found",
            Some(job) if matches!(job.pillar, Pillar::Archive { .. }) => "not_found",
            Some(job) if !claimed.is_owner(job) => "not_owner",
            Some(job) if claimed.is_stale(job) => "stale_attempt",
            Some(_) if is_dead => "already_moved",
            Some(_) => {
                self.dead_letter(&id, reason, error.into(), by);
                if let Some(by) = by {
                    self.history.push(self.act_on("isolated", &id, by));
                }
                "moved"
            }
        };
        let row = match self.dead(&id) {
            Some(job) if outcome.ends_with("moved") => line! {
                Outcome: outcome, Queue: &job.queue, AttemptCount: job.attempts,
                FailedAtUtc: job.failed().map(|(_, time)| time),
            },
            _ => line! { Outcome: outcome, Queue: NULL, AttemptCount: NULL, FailedAtUtc: NULL },
        };
        Call::row("MoveToDLQ", args, row)
    }

    pub fn fail(
        &mut self,
        pick: &Pick,
        fence: &Fence,
        reason: i64,
        error: Option<&'static str>,
        retry_after: Option<i64>,
    ) -> Call {
        let id = self.id(pick);
        let claimed = self.fence(&id, fence).run();
        let claimed = Claimed {
            worker: Some(claimed.worker.unwrap_or_else(|| "w1".to_owned())),
            attempt: Some(claimed.attempt.unwrap_or(1)),
            ..claimed
        };
        let settings = self.jobs.get(&id).map(|job| self.settings(&job.queue)).unwrap_or_default();
        let retry_after = retry_after.or_else(|| (!settings.is_on_the_grid()).then_some(1500));
        let args = line! {
            JobId: &id, WorkerId: claimed.worker.clone(), Attempt: claimed.attempt, FailureReason: reason,
            ErrorDetails: error, RetryAfterSeconds: retry_after, ResurrectCount: claimed.resurrects,
        };
        let (outcome, due, reason) = match self.dead(&id) {
            Some(job) if !claimed.is_owner(job) => ("not_owner", None, reason),
            Some(job) if claimed.is_stale(job) => ("stale_attempt", None, reason),
            Some(job) => ("already_moved", None, job.failed().map_or(reason, |(reason, _)| reason)),
            None => match self.miss(&id, &claimed) {
                Some(miss) => (miss, None, reason),
                None => self.decide(&id, &settings, reason, error, retry_after),
            },
        };
        Call::row("FailJob", args, line! { Outcome: outcome, ScheduledAtUtc: due, FailureReason: reason })
    }

    /// The queue's retry policy.
    fn decide(
        &mut self,
        id: &str,
        settings: &Settings,
        reason: i64,
        error: Option<&'static str>,
        retry_after: Option<i64>,
    ) -> (&'static str, Option<Time>, i64) {
        let Job { attempts, pillar: Pillar::Hot { first_due, .. }, .. } = self.jobs[id] else {
            unreachable!("only a job in Processing is failed")
        };
        let delay = retry_after.unwrap_or_else(|| settings.delay_after(attempts));
        let is_too_old = settings.max_age.is_some_and(|age| self.now + delay > first_due + age);
        let last = match () {
            () if FINAL.contains(&reason) => Some(reason),
            () if attempts >= settings.max_attempts => Some(0),
            () if is_too_old => Some(10),
            () => None,
        };
        match last {
            Some(last) => {
                self.dead_letter(id, last, error.into(), None);
                ("moved", None, last)
            }
            None => ("rescheduled", Some(self.retry(id, delay, error)), reason),
        }
    }

    /// The job goes to the DLQ; without a new error it keeps that of the attempt before.
    pub fn dead_letter(&mut self, id: &str, reason: i64, error: Term, moved_by: Option<&str>) {
        let (now, revision) = (self.now, self.fresh());
        let job = self.job(id);
        job.pillar = Pillar::Dlq { reason, failed: now };
        job.revision = revision;
        job.updated = now;
        if error != NULL {
            job.error = error;
        }
        if moved_by.is_some() {
            job.modified_by = moved_by.map(str::to_owned);
        }
        let queue = job.queue.clone();
        self.count(&queue, |totals| totals.dead_lettered += 1);
        self.queue(&queue).failed.push(now);
    }
}

impl Settings {
    fn delay_after(&self, attempts: i64) -> i64 {
        let delay = self.base_delay as f64 * self.multiplier.powi(attempts as i32 - 1);
        (delay as i64).min(self.max_delay)
    }

    /// Neither seconds, which pass while a sequence runs, nor dice.
    fn is_on_the_grid(&self) -> bool {
        self.base_delay % 100 == 0 && self.max_delay % 100 == 0 && self.jitter == 0
    }
}

/// Worker, attempt and resurrections as a caller says them; None: whatever they are.
#[derive(Clone, Debug)]
pub struct Claimed {
    pub worker: Option<String>,
    pub attempt: Option<i64>,
    pub resurrects: Option<i64>,
}

impl Claimed {
    /// Of a run: there is none before the first.
    pub fn run(self) -> Self {
        Self { attempt: self.attempt.map(|attempt| attempt.max(1)), ..self }
    }

    pub fn is_owner(&self, job: &Job) -> bool {
        self.worker.is_none() || self.worker == job.worker
    }

    pub fn is_stale(&self, job: &Job) -> bool {
        self.attempt.is_some_and(|attempt| attempt != job.attempts)
            || self.resurrects.is_some_and(|count| count != job.resurrects)
    }
}
