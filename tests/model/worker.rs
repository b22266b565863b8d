//! What workers do.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use chokaq_tests::Value;
use serde_json::json;

use crate::line;
use crate::model::{Claimed, Job, Model, Pillar, Settings, Status};
use crate::steps::{By, Fence, New, Pick, Tell, When};
use crate::term::{Call, Line, NULL, Term, Time};

/// Cancelled, Rejected and FatalError are final; the others are retried.
const FINAL: [i64; 3] = [1, 4, 6];

impl Model {
    pub fn enqueue(&mut self, new: &New) -> Call {
        let (delay, at) = match new.when {
            When::Now => (0, None),
            When::In(seconds) => (seconds, None),
            When::At(seconds) => (0, Some(self.given(seconds))),
        };
        let args = line! {
            Queue: new.queue, Type: new.kind, Payload: new.payload, JobId: new.id, Tags: new.tags,
            Priority: new.priority, DelaySeconds: delay, ScheduledAtUtc: at, IdempotencyKey: new.key, CreatedBy: new.by,
        };
        let (outcome, id) = self.add(new);
        Call::row("Enqueue", args, line! { Outcome: outcome, JobId: id })
    }

    pub fn enqueue_many(&mut self, jobs: &[New]) -> Call {
        let instant = |seconds| {
            let at = self.real(self.given(seconds));
            at.format(&time::format_description::well_known::Rfc3339).expect("an instant has a spelling")
        };
        let object = |new: &New| {
            let (delay, at) = match new.when {
                When::Now => (None, None),
                When::In(seconds) => (Some(seconds), None),
                When::At(seconds) => (None, Some(instant(seconds))),
            };
            json!({
                "queue": new.queue, "type": new.kind, "payload": new.payload, "jobId": new.id, "tags": new.tags,
                "priority": new.priority, "delaySeconds": delay, "scheduledAtUtc": at, "idempotencyKey": new.key,
                "createdBy": new.by,
            })
        };
        let array = jobs.iter().map(object).collect::<Vec<_>>();
        let args = vec![("Jobs", Term::Is(Value::Json(json!(array))))];
        let rows = (1i64..).zip(jobs).map(|(ordinal, new)| {
            let (outcome, id) = self.add(new);
            line! { Ordinal: ordinal, Outcome: outcome, JobId: id }
        });
        let rows = rows.collect();
        Call::rows("EnqueueMany", args, rows)
    }

    /// A live job's key is asked for before the id, which must be in none of the three tables. The queue is there
    /// afterwards, whatever becomes of the job.
    fn add(&mut self, new: &New) -> (&'static str, Term) {
        self.queue(new.queue);
        let has_key = |(_, job): &(&String, &Job)| job.status().is_some() && job.key.as_deref() == new.key;
        if new.key.is_some()
            && let Some((id, _)) = self.jobs.iter().find(has_key)
        {
            return ("duplicate_key", name(id));
        }
        if let Some(id) = new.id
            && self.jobs.contains_key(id)
        {
            return ("duplicate_id", id.into());
        }
        let id = new.id.map_or_else(|| format!("#{:09}", self.fresh()), str::to_owned);
        let (due, scheduled) = match new.when {
            When::Now => (self.now, None),
            When::In(seconds) => (self.now + seconds, Some(self.now + seconds)),
            When::At(seconds) => (self.given(seconds), Some(self.given(seconds))),
        };
        let (arrival, revision) = (self.fresh(), self.fresh());
        let job = Job {
            queue: new.queue.to_owned(),
            kind: new.kind.to_owned(),
            payload: new.payload.map(str::to_owned),
            tags: new.tags.map(str::to_owned),
            key: new.key.map(str::to_owned),
            priority: new.priority,
            attempts: 0,
            worker: None,
            scheduled,
            started: None,
            heartbeat: None,
            error: NULL,
            created: self.now,
            created_by: new.by.map(str::to_owned),
            updated: self.now,
            modified_by: None,
            resurrects: 0,
            revision,
            pillar: Pillar::Hot { status: Status::Pending, due, first_due: due, arrival, fetched: None },
        };
        self.jobs.insert(id.clone(), job);
        self.count(new.queue, |totals| totals.enqueued += 1);
        ("enqueued", name(&id))
    }

    /// Due jobs by priority, due time and arrival, of queues that are open and as far as they have room.
    pub fn fetch(&mut self, worker: &str, size: i64, queues: Option<&[&str]>, start_now: bool) -> Call {
        let set = queues.map(|names| names.iter().map(|name| Some((*name).to_owned())).collect::<Vec<_>>());
        let args = vec![
            ("WorkerId", worker.into()),
            ("BatchSize", size.into()),
            ("Queues", set.map_or(NULL, |set| Term::Is(Value::Set(set)))),
            ("StartNow", start_now.into()),
        ];
        let mut room = BTreeMap::new();
        for (name, queue) in &self.queues {
            let settings = &queue.settings;
            let held = self.jobs.values().filter(|job| job.queue == *name && job.worker_holds()).count();
            let open = settings.is_active && !settings.is_paused && queues.is_none_or(|names| names.contains(&&**name));
            let limit = settings.max_workers.map_or(usize::MAX, |limit| (limit as usize).saturating_sub(held));
            room.insert(name.clone(), if open { limit } else { 0 });
        }
        let mut waiting: Vec<_> =
            self.jobs.iter().filter_map(|(id, job)| Some((job.turn(self.now)?, id.clone()))).collect();
        waiting.sort();
        let mut rows = vec![];
        for (_, id) in waiting {
            let left = room.entry(self.jobs[&id].queue.clone()).or_default();
            if *left == 0 || rows.len() == size as usize {
                continue;
            }
            *left -= 1;
            self.claim(&id, worker);
            if start_now {
                self.start(&id);
            }
            let job = &self.jobs[&id];
            rows.push(line! {
                JobId: &id, Queue: &job.queue, Type: &job.kind, Payload: job.payload.clone(), Tags: job.tags.clone(),
                Priority: job.priority, AttemptCount: job.attempts, IdempotencyKey: job.key.clone(),
                ScheduledAtUtc: job.scheduled, CreatedAtUtc: job.created, CreatedBy: job.created_by.clone(),
                ResurrectCount: job.resurrects,
            });
        }
        Call::rows("FetchNextBatch", args, rows)
    }

    fn claim(&mut self, id: &str, worker: &str) {
        let now = self.now;
        let job = self.job(id);
        job.worker = Some(worker.to_owned());
        job.heartbeat = Some(now);
        job.updated = now;
        if let Pillar::Hot { status, fetched, .. } = &mut job.pillar {
            *status = Status::Fetched;
            *fetched = Some(now);
        }
    }

    /// This counts the attempt.
    fn start(&mut self, id: &str) {
        let now = self.now;
        let job = self.job(id);
        job.attempts += 1;
        job.started = Some(now);
        job.heartbeat = Some(now);
        job.updated = now;
        if let Pillar::Hot { status, .. } = &mut job.pillar {
            *status = Status::Processing;
        }
    }

    pub fn mark(&mut self, pick: &Pick, by: By) -> Call {
        let id = self.id(pick);
        let worker = self.worker(&id, by);
        let (outcome, attempts) = self.start_fetched(&id, &worker);
        let args = line! { JobId: &id, WorkerId: &worker };
        Call::row("MarkAsProcessing", args, line! { Outcome: outcome, AttemptCount: attempts })
    }

    pub fn mark_many(&mut self, picks: &[Pick], worker: &str) -> Call {
        let (given, once) = self.ids(picks);
        let rows = once.iter().map(|id| {
            let (outcome, attempts) = self.start_fetched(id, worker);
            line! { JobId: id, Outcome: outcome, AttemptCount: attempts }
        });
        let rows = rows.collect();
        Call::rows("MarkJobsAsProcessing", line! { JobIds: &given[..], WorkerId: worker }, rows)
    }

    fn start_fetched(&mut self, id: &str, worker: &str) -> (&'static str, Option<i64>) {
        let Some(job) = self.hot(id) else { return ("not_found", None) };
        let is_own = job.worker.as_deref() == Some(worker);
        let outcome = match job.status() {
            Some(Status::Pending) => "not_fetched",
            _ if !is_own => "not_owner",
            Some(Status::Processing) => "already_started",
            _ => {
                self.start(id);
                "started"
            }
        };
        (outcome, Some(self.jobs[id].attempts))
    }

    pub fn keep_alive(&mut self, picks: &[Pick], worker: &str) -> Call {
        let (given, once) = self.ids(picks);
        let now = self.now;
        let rows = once.iter().map(|id| {
            let is_own = self.hot(id).is_some_and(|job| job.worker.as_deref() == Some(worker));
            if is_own {
                let job = self.job(id);
                job.heartbeat = Some(now);
                job.updated = now;
            }
            line! { JobId: id, Outcome: if is_own { "alive" } else { "lost" } }
        });
        let rows = rows.collect();
        Call::rows("KeepAlive", line! { JobIds: &given[..], WorkerId: worker }, rows)
    }

    pub fn release(&mut self, pick: &Pick, by: By) -> Call {
        let id = self.id(pick);
        let worker = self.worker(&id, by);
        let now = self.now;
        let outcome = match self.hot(&id) {
            None => "not_found",
            Some(job) if job.status() == Some(Status::Pending) => "not_fetched",
            Some(job) if job.worker.as_ref() != Some(&worker) => "not_owner",
            Some(job) if job.status() == Some(Status::Processing) => "not_fetched",
            Some(_) => {
                self.job(&id).let_go(now);
                "released"
            }
        };
        Call::row("ReleaseJob", line! { JobId: &id, WorkerId: &worker }, line! { Outcome: outcome, JobId: &id })
    }

    pub fn release_worker(&mut self, worker: &str) -> Call {
        let now = self.now;
        let (mut released, mut processing) = (0i64, 0i64);
        for job in self.jobs.values_mut().filter(|job| job.worker.as_deref() == Some(worker)) {
            match job.status() {
                Some(Status::Fetched) => {
                    job.let_go(now);
                    released += 1;
                }
                Some(Status::Processing) => processing += 1,
                _ => {}
            }
        }
        let row = line! { ReleasedCount: released, ProcessingCount: processing };
        Call::row("ReleaseWorker", line! { WorkerId: worker }, row)
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

    /// The worker a step means; a call that needs one always has one.
    fn worker(&self, id: &str, by: By) -> String {
        let fence = Fence { worker: by, attempt: Tell::Nothing, resurrects: Tell::Nothing };
        self.fence(id, &fence).worker.unwrap_or_else(|| "w1".to_owned())
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

impl Job {
    /// What MaxWorkers counts.
    pub fn worker_holds(&self) -> bool {
        matches!(self.status(), Some(Status::Fetched | Status::Processing))
    }

    /// Where it stands in the claim order, if it may be claimed.
    fn turn(&self, now: Time) -> Option<(Reverse<i64>, Time, u64)> {
        match self.pillar {
            Pillar::Hot { status: Status::Pending, due, arrival, .. } if due <= now => {
                Some((Reverse(self.priority), due, arrival))
            }
            _ => None,
        }
    }
}

/// An id, or what stands for one that the server makes.
pub fn name(id: &str) -> Term {
    if id.starts_with('#') { Term::Made(id.to_owned()) } else { id.into() }
}

/// A row of ids and outcomes.
pub fn outcomes(rows: Vec<(String, &'static str)>) -> Vec<Line> {
    rows.into_iter().map(|(id, outcome)| line! { JobId: id, Outcome: outcome }).collect()
}
