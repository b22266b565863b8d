//! What workers do until a run ends.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use chokaq_tests::Value;

use crate::line;
use crate::model::{Job, Model, Pillar, Status};
use crate::steps::{By, Fence, Pick, Tell};
use crate::term::{Call, Line, NULL, Term, Time};

impl Model {
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

    /// The worker a step means; a call that needs one always has one.
    fn worker(&self, id: &str, by: By) -> String {
        let fence = Fence { worker: by, attempt: Tell::Nothing, resurrects: Tell::Nothing };
        self.fence(id, &fence).worker.unwrap_or_else(|| "w1".to_owned())
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

/// A row of ids and outcomes.
pub fn outcomes(rows: Vec<(String, &'static str)>) -> Vec<Line> {
    rows.into_iter().map(|(id, outcome)| line! { JobId: id, Outcome: outcome }).collect()
}
