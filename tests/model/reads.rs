//! What readers see of jobs.

use std::collections::BTreeMap;

use crate::line;
use crate::model::{Job, Model, Pillar};
use crate::steps::{Filter, Pick};
use crate::term::{Call, Line, NULL, Term, Time};

/// The names of the failure reasons, by number.
pub const REASONS: [&str; 12] = [
    "MaxRetriesExceeded",
    "Cancelled",
    "Zombie",
    "CircuitBreakerOpen",
    "Rejected",
    "Throttled",
    "FatalError",
    "Timeout",
    "Transient",
    "HeartbeatFailure",
    "RetryLifetimeExpired",
    "Unknown",
];

impl Model {
    pub fn get_job(&self, pick: &Pick) -> Call {
        let id = self.id(pick);
        let rows = self.jobs.get(&id).map(|job| job.anywhere(&id));
        Call::rows("GetJob", line! { JobId: &id }, rows.into_iter().collect())
    }

    pub fn get_dlq_job(&self, pick: &Pick) -> Call {
        let id = self.id(pick);
        let row = |job: &Job| {
            [job.in_dlq(&id), line! { Payload: job.payload.clone(), ErrorDetails: job.error.clone() }].concat()
        };
        Call::rows("GetDLQJob", line! { JobId: &id }, self.dead(&id).map(row).into_iter().collect())
    }

    /// Newest failure first.
    pub fn list_dlq(&mut self, filter: &Filter, limit: i64, go_on: bool) -> Call {
        let mut args = [self.filter_args(filter), line! { Limit: limit }].concat();
        let mut ids = self.matching(filter);
        ids.reverse();
        if let Some((time, last)) = self.time_ends.get("ListDLQ").filter(|_| go_on) {
            args.extend(line! { BeforeFailedAtUtc: Term::Last("FailedAtUtc"), BeforeJobId: Term::Last("JobId") });
            ids.retain(|id| (self.failed_at(id), id) < (Some(*time), last));
        }
        ids.truncate(limit as usize);
        match ids.last() {
            Some(id) => self.time_ends.insert("ListDLQ", (self.failed_at(id).unwrap_or(self.now), id.clone())),
            None => self.time_ends.remove("ListDLQ"),
        };
        let rows = ids.iter().map(|id| {
            let job = &self.jobs[id];
            let previews = line! {
                PayloadPreview: job.payload.clone(), ErrorPreview: job.error.clone(),
                PayloadLength: job.payload.as_deref().map_or(NULL, |text| Term::Length(text.to_owned())),
            };
            [job.in_dlq(id), previews].concat()
        });
        Call::rows("ListDLQ", args, rows.collect())
    }

    pub fn summarize_dlq(&self, queue: Option<&str>, kind: Option<&str>) -> Call {
        let mut groups: BTreeMap<(&str, &str, i64), Vec<Time>> = BTreeMap::new();
        for job in self.jobs.values() {
            if let Some((reason, failed)) = job.failed()
                && queue.is_none_or(|queue| queue == job.queue)
                && kind.is_none_or(|kind| kind == job.kind)
            {
                groups.entry((&job.queue, &job.kind, reason)).or_default().push(failed);
            }
        }
        let rows = groups.into_iter().map(|((queue, kind, reason), failed)| {
            let recent = failed.iter().filter(|time| **time > self.now - 3600).count() as i64;
            line! {
                Queue: queue, Type: kind, FailureReason: reason, FailureReasonName: REASONS[reason as usize],
                JobCount: failed.len() as i64, OldestFailedAtUtc: failed.iter().min().copied(),
                NewestFailedAtUtc: failed.iter().max().copied(), FailedLastHour: recent,
            }
        });
        Call::rows("SummarizeDLQ", line! { Queue: queue, Type: kind }, rows.collect())
    }

    pub fn get_history(&self, pick: &Pick) -> Call {
        let id = self.id(pick);
        let acts = self.history.iter().filter(|act| act.job.as_ref() == Some(&id));
        let rows = acts.map(|act| {
            let reason = act.failure.as_ref().map(|(reason, ..)| REASONS[*reason as usize]);
            [line! { HistoryId: Term::Unknown, FailureReasonName: reason }, act.row()].concat()
        });
        Call::rows("GetJobHistory", line! { JobId: &id }, rows.collect())
    }

    pub fn get_version(&self) -> Call {
        let row = line! {
            KitVersion: Term::Unknown, ContractVersion: Term::Unknown, Dialect: Term::Unknown, ServerTimeUtc: self.now,
        };
        Call::row("GetVersion", vec![], row)
    }
}

impl Job {
    /// What all three tables have.
    fn everywhere(&self, id: &str) -> Line {
        line! {
            JobId: id, Queue: &self.queue, Type: &self.kind, Tags: self.tags.clone(), IdempotencyKey: self.key.clone(),
            Priority: self.priority, AttemptCount: self.attempts, WorkerId: self.worker.clone(),
            ScheduledAtUtc: self.scheduled, StartedAtUtc: self.started, HeartbeatUtc: self.heartbeat,
            CreatedAtUtc: self.created, CreatedBy: self.created_by.clone(), LastUpdatedUtc: self.updated,
            LastModifiedBy: self.modified_by.clone(), ResurrectCount: self.resurrects,
            Revision: Term::Revision(self.revision),
        }
    }

    fn in_dlq(&self, id: &str) -> Line {
        let (reason, failed) = self.failed().expect("it is in the DLQ");
        let failure = line! {
            FailureReason: reason, FailureReasonName: REASONS[reason as usize], FailedAtUtc: failed,
        };
        [self.everywhere(id), failure].concat()
    }

    pub fn anywhere(&self, id: &str) -> Line {
        let (name, status, due, fetched, finished, duration) = match self.pillar {
            Pillar::Hot { status, due, fetched, .. } => ("Hot", Some(status as i64), Some(due), fetched, None, None),
            Pillar::Archive { finished, duration } => ("Archive", None, None, None, Some(finished), duration),
            Pillar::Dlq { .. } => ("DLQ", None, None, None, None, None),
        };
        let failed = self.failed();
        let rest = line! {
            Pillar: name, Payload: self.payload.clone(), Status: status, DueAtUtc: due, FetchedAtUtc: fetched,
            FinishedAtUtc: finished, DurationMs: duration, FailedAtUtc: failed.map(|(_, time)| time),
            FailureReason: failed.map(|(reason, _)| reason), ErrorDetails: self.error.clone(),
        };
        [self.everywhere(id), rest].concat()
    }
}
