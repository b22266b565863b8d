//! The queues: their settings, what was counted of them, and how they are.

use serde_json::{Map, Value as Json, json};

use crate::line;
use crate::model::{Job, Model, Queue, Settings, Status};
use crate::steps::{Policy, Setting};
use crate::term::{Call, Line, Term, Time};

impl Model {
    pub fn set_queue(&mut self, name: &str, setting: &Setting, by: &str) -> Call {
        let known = [("Queue", name.into())];
        let (procedure, args) = setting.args();
        let mut args: Line = known.into_iter().chain(args).collect();
        let at = args.len() - usize::from(procedure == "SetQueueRetryPolicy");
        args.insert(at, ("ModifiedBy", by.into()));
        if matches!(setting, Setting::RetryPolicy(policy) if policy.is_empty()) {
            return Call::refused(procedure, args, chokaq_tests::Code::InvalidArgument, "MaxAttempts");
        }
        let is_new = !self.queues.contains_key(name);
        let now = self.now;
        let queue = self.queue(name);
        let old = queue.settings.clone();
        setting.apply(&mut queue.settings);
        let (before, after) = old.difference(&queue.settings);
        let differs = old != queue.settings;
        if differs || is_new {
            queue.updated = now;
            queue.modified_by = Some(by.to_owned());
        }
        let outcome = match (is_new, differs) {
            (true, _) => "created",
            (false, true) => "updated",
            (false, false) => "unchanged",
        };
        let row = [line! { Outcome: outcome }, queue_row(name, queue)].concat();
        if differs || is_new {
            let mut act = self.act("queue_changed", Some(by));
            act.queue = Some(name.to_owned());
            act.job_count = 0;
            act.settings = Some((before, after));
            self.history.push(act);
        }
        Call::row(procedure, args, row)
    }

    fn named(&self, name: Option<&str>) -> Vec<(&String, &Queue)> {
        self.queues.iter().filter(|(queue, _)| name.is_none_or(|name| name == **queue)).collect()
    }

    pub fn get_queues(&self, name: Option<&str>) -> Call {
        let rows = self.named(name).into_iter().map(|(name, queue)| queue_row(name, queue)).collect();
        Call::rows("GetQueues", line! { Queue: name }, rows)
    }

    pub fn get_queue_stats(&self, name: Option<&str>) -> Call {
        let rows = self.named(name).into_iter();
        let rows = rows.map(|(name, queue)| [line! { Queue: name }, self.stats(&[(name, queue)])].concat()).collect();
        Call::rows("GetQueueStats", line! { Queue: name }, rows)
    }

    pub fn get_summary_stats(&self) -> Call {
        let all = self.named(None);
        let row = [line! { QueueCount: all.len() as i64 }, self.stats(&all)].concat();
        Call::row("GetSummaryStats", vec![], row)
    }

    fn stats(&self, queues: &[(&String, &Queue)]) -> Line {
        let hot = |status| {
            let is_so = |job: &&Job| job.status() == Some(status) && queues.iter().any(|(name, _)| **name == job.queue);
            self.jobs.values().filter(is_so).count() as i64
        };
        let sum = |total: fn(&Queue) -> i64| queues.iter().map(|(_, queue)| total(queue)).sum::<i64>();
        line! {
            PendingCount: hot(Status::Pending), FetchedCount: hot(Status::Fetched), ProcessingCount: hot(Status::Processing),
            EnqueuedTotal: sum(|q| q.totals.enqueued), SucceededTotal: sum(|q| q.totals.succeeded),
            FailedTotal: sum(|q| q.totals.dead_lettered - q.totals.resurrected - q.totals.purged),
            RetriedTotal: sum(|q| q.totals.retried), DeadLetteredTotal: sum(|q| q.totals.dead_lettered),
            ResurrectedTotal: sum(|q| q.totals.resurrected), PurgedTotal: sum(|q| q.totals.purged),
            LastActivityUtc: queues.iter().filter_map(|(_, queue)| queue.last_activity).max(),
        }
    }

    pub fn get_health(&self, name: Option<&str>) -> Call {
        let rows = self.named(name).into_iter().map(|(name, queue)| self.health(name, queue)).collect();
        Call::rows("GetHealth", line! { Queue: name }, rows)
    }

    fn health(&self, name: &str, queue: &Queue) -> Line {
        let jobs = || self.jobs.values().filter(|job| job.queue == name);
        let with = |status| jobs().filter(move |job| job.status() == Some(status));
        let due: Vec<_> = with(Status::Pending).filter_map(Job::due).collect();
        let lags: Vec<_> =
            due.iter().filter(|due| **due <= self.now).map(|due| (self.now.seconds - due.seconds) as f64).collect();
        let lag =
            |seconds: f64| if lags.is_empty() { Term::from(0.0) } else { Term::Between(seconds, seconds + 100.0) };
        let average = lags.iter().sum::<f64>() / lags.len().max(1) as f64;
        let failures: Vec<_> = jobs().filter_map(|job| job.failed().map(|(_, time)| time)).collect();
        line! {
            Queue: name, IsPaused: queue.settings.is_paused, IsActive: queue.settings.is_active,
            PendingCount: lags.len() as i64, ScheduledCount: (due.len() - lags.len()) as i64,
            FetchedCount: with(Status::Fetched).count() as i64, ProcessingCount: with(Status::Processing).count() as i64,
            AverageLagSeconds: lag(average), MaxLagSeconds: lag(lags.iter().copied().fold(0.0, f64::max)),
            CompletedPerSecondOneMinute: self.rate(&queue.completed, 60), CompletedPerSecondFiveMinutes: self.rate(&queue.completed, 300),
            FailedPerSecondOneMinute: self.rate(&queue.failed, 60), FailedPerSecondFiveMinutes: self.rate(&queue.failed, 300),
            DLQCount: failures.len() as i64, OldestFailedAtUtc: failures.iter().min().copied(),
        }
    }

    /// Whether any of it was in the window; a window is up to ten seconds longer than its name.
    fn rate(&self, events: &[Time], window: i64) -> Term {
        let seen = events.iter().any(|time| self.now.seconds - time.seconds < window);
        if self.buckets_purged { Term::Between(0.0, f64::INFINITY) } else { Term::Positive(seen) }
    }
}

fn queue_row(name: &str, queue: &Queue) -> Line {
    let settings = &queue.settings;
    line! {
        Queue: name, IsPaused: settings.is_paused, IsActive: settings.is_active, MaxWorkers: settings.max_workers,
        ZombieTimeoutSeconds: settings.zombie_timeout, MaxAttempts: settings.max_attempts,
        BaseDelaySeconds: settings.base_delay, BackoffMultiplier: settings.multiplier, MaxDelaySeconds: settings.max_delay,
        JitterSeconds: settings.jitter, MaxJobAgeSeconds: settings.max_age, CreatedAtUtc: queue.created,
        LastUpdatedUtc: queue.updated, LastModifiedBy: queue.modified_by.clone(),
    }
}

impl Setting {
    fn args(&self) -> (&'static str, Line) {
        match self {
            Self::Paused(flag) => ("SetQueuePaused", line! { IsPaused: *flag }),
            Self::Active(flag) => ("SetQueueActive", line! { IsActive: *flag }),
            Self::MaxWorkers(limit) => ("SetQueueMaxWorkers", line! { MaxWorkers: *limit }),
            Self::ZombieTimeout(seconds) => ("SetQueueZombieTimeout", line! { ZombieTimeoutSeconds: *seconds }),
            Self::RetryPolicy(policy) => (
                "SetQueueRetryPolicy",
                line! {
                    MaxAttempts: policy.max_attempts, BaseDelaySeconds: policy.base_delay,
                    BackoffMultiplier: policy.multiplier, MaxDelaySeconds: policy.max_delay, JitterSeconds: policy.jitter,
                    MaxJobAgeSeconds: policy.max_age, ClearMaxJobAge: policy.clear_max_age,
                },
            ),
        }
    }

    /// What is not given stays.
    fn apply(&self, settings: &mut Settings) {
        match self {
            Self::Paused(flag) => settings.is_paused = *flag,
            Self::Active(flag) => settings.is_active = *flag,
            Self::MaxWorkers(limit) => settings.max_workers = *limit,
            Self::ZombieTimeout(seconds) => settings.zombie_timeout = *seconds,
            Self::RetryPolicy(policy) => {
                settings.max_attempts = policy.max_attempts.unwrap_or(settings.max_attempts);
                settings.base_delay = policy.base_delay.unwrap_or(settings.base_delay);
                settings.multiplier = policy.multiplier.unwrap_or(settings.multiplier);
                settings.max_delay = policy.max_delay.unwrap_or(settings.max_delay);
                settings.jitter = policy.jitter.unwrap_or(settings.jitter);
                settings.max_age = policy.max_age.or(settings.max_age.filter(|_| !policy.clear_max_age));
            }
        }
    }
}

impl Policy {
    fn is_empty(&self) -> bool {
        self.max_attempts.or(self.base_delay).or(self.max_delay).or(self.jitter).or(self.max_age).is_none()
            && self.multiplier.is_none()
            && !self.clear_max_age
    }
}

impl Settings {
    /// What differs, before and after, as the history has it.
    fn difference(&self, new: &Self) -> (Json, Json) {
        let mut both = (Map::new(), Map::new());
        for ((name, old), (_, new)) in self.fields().into_iter().zip(new.fields()) {
            if old != new {
                both.0.insert(name.to_owned(), old);
                both.1.insert(name.to_owned(), new);
            }
        }
        (both.0.into(), both.1.into())
    }

    fn fields(&self) -> [(&'static str, Json); 10] {
        [
            ("isPaused", json!(self.is_paused)),
            ("isActive", json!(self.is_active)),
            ("maxWorkers", json!(self.max_workers)),
            ("zombieTimeoutSeconds", json!(self.zombie_timeout)),
            ("maxAttempts", json!(self.max_attempts)),
            ("baseDelaySeconds", json!(self.base_delay)),
            ("backoffMultiplier", json!(self.multiplier)),
            ("maxDelaySeconds", json!(self.max_delay)),
            ("jitterSeconds", json!(self.jitter)),
            ("maxJobAgeSeconds", json!(self.max_age)),
        ]
    }
}
