//! What operators do to jobs: edits, resurrections, cancellations.

use chokaq_tests::Code;

use crate::line;
use crate::model::{Job, Model, Pillar, Status};
use crate::steps::{Change, Edit, Filter, Pick, Return, Tell};
use crate::sweep::batches;
use crate::term::{Call, Line, NULL, Term};
use crate::worker::outcomes;

/// Stands before the error of the attempt before.
pub const BEFORE: &str = "The attempt before ended with: ";

impl Change {
    fn to(self) -> Option<&'static str> {
        match self {
            Self::To(text) => Some(text),
            _ => None,
        }
    }

    fn is_clear(self) -> bool {
        matches!(self, Self::Clear)
    }

    /// What is there afterwards, and what was there if that is something else.
    fn apply(self, old: &mut Option<String>) -> Option<String> {
        let new = match self {
            Self::Keep => return None,
            Self::To(text) => Some(text.to_owned()),
            Self::Clear => None,
        };
        if *old == new { None } else { std::mem::replace(old, new) }
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(text).is_ok()
}

impl Model {
    pub fn update(&mut self, procedure: &'static str, pick: &Pick, edit: &Edit) -> Call {
        let is_dlq = procedure == "UpdateDLQJobData";
        let id = self.id(pick);
        let mut args = line! {
            JobId: &id, Payload: edit.payload.to(), Tags: edit.tags.to(), ModifiedBy: edit.by,
            ClearPayload: edit.payload.is_clear(), ClearTags: edit.tags.is_clear(), AllowInvalidJson: edit.allow_invalid,
            ExpectedRevision: self.revision(&id, edit.expected),
        };
        let priority = edit.priority.filter(|_| !is_dlq);
        if !is_dlq {
            args.extend(line! { Priority: priority });
        }
        if matches!((edit.payload, edit.tags, priority), (Change::Keep, Change::Keep, None)) {
            return Call::refused(procedure, args, Code::InvalidArgument, "Payload");
        }
        if edit.payload.to().is_some_and(|text| !is_json(text)) && !edit.allow_invalid {
            return Call::refused(procedure, args, Code::InvalidJson, "Payload");
        }
        let job = if is_dlq { self.dead(&id) } else { self.hot(&id) };
        let outcome = match job {
            None => "not_found",
            Some(job) if job.worker_holds() => "not_pending",
            Some(_) if edit.expected == Tell::Wrong => "changed",
            Some(_) => {
                self.edit(&id, edit, priority);
                "updated"
            }
        };
        let revision = if outcome == "not_found" { NULL } else { Term::Revision(self.jobs[&id].revision) };
        Call::row(procedure, args, line! { Outcome: outcome, Revision: revision })
    }

    fn edit(&mut self, id: &str, edit: &Edit, priority: Option<i64>) {
        let mut act = self.act_on("edited", id, edit.by);
        let (now, revision) = (self.now, self.fresh());
        let job = self.job(id);
        act.old_payload = edit.payload.apply(&mut job.payload);
        act.old_tags = edit.tags.apply(&mut job.tags);
        if let Some(new) = priority.filter(|new| *new != job.priority) {
            act.old_priority = Some(std::mem::replace(&mut job.priority, new));
        }
        job.revision = revision;
        job.updated = now;
        job.modified_by = Some(edit.by.to_owned());
        self.history.push(act);
    }

    /// The revision a caller read: none, the one of now, or one that is gone.
    fn revision(&self, id: &str, expected: Tell) -> Term {
        match (expected, self.jobs.get(id)) {
            (Tell::Right, Some(job)) => Term::Revision(job.revision),
            (Tell::Nothing, _) => NULL,
            _ => (-1i64).into(),
        }
    }

    pub fn resurrect(&mut self, pick: &Pick, back: &Return) -> Call {
        let id = self.id(pick);
        let args = line! {
            JobId: &id, NewPayload: back.payload, NewTags: back.tags, NewPriority: back.priority,
            ResurrectedBy: back.by, AllowInvalidJson: back.allow_invalid, DelaySeconds: back.delay,
            KeepIdempotencyKey: back.keep_key, ExpectedRevision: self.revision(&id, back.expected),
        };
        if back.payload.is_some_and(|text| !is_json(text)) && !back.allow_invalid {
            return Call::refused("Resurrect", args, Code::InvalidJson, "NewPayload");
        }
        let has_live_key =
            |job: &Job| job.key.is_some() && self.jobs.values().any(|j| j.status().is_some() && j.key == job.key);
        let (outcome, queue) = match self.dead(&id) {
            None => ("not_found", None),
            Some(job) if back.expected == Tell::Wrong => ("changed", Some(job.queue.clone())),
            Some(job) if back.keep_key && has_live_key(job) => ("key_conflict", Some(job.queue.clone())),
            Some(job) => {
                let queue = job.queue.clone();
                self.bring_back(&id, back, None);
                ("resurrected", Some(queue))
            }
        };
        Call::row("Resurrect", args, line! { Outcome: outcome, Queue: queue })
    }

    /// It begins anew and takes its turn by the time it came back; the failure stays in the history.
    fn bring_back(&mut self, id: &str, back: &Return, batch: Option<u64>) {
        let mut act = self.act_on("resurrected", id, back.by);
        act.batch = batch;
        let (now, arrival, revision) = (self.now, self.fresh(), self.fresh());
        let job = self.job(id);
        let due = now + back.delay;
        act.old_payload = back.payload.map_or(Change::Keep, Change::To).apply(&mut job.payload);
        act.old_tags = back.tags.map_or(Change::Keep, Change::To).apply(&mut job.tags);
        let priority = back.priority.unwrap_or(10);
        act.old_priority = (job.priority != priority).then_some(job.priority);
        job.priority = priority;
        if !back.keep_key {
            act.old_key = job.key.take();
        }
        job.attempts = 0;
        job.worker = None;
        job.heartbeat = None;
        job.started = None;
        job.error = NULL;
        job.scheduled = (back.delay > 0).then_some(due);
        job.resurrects += 1;
        job.modified_by = Some(back.by.to_owned());
        job.updated = now;
        job.revision = revision;
        job.pillar = Pillar::Hot { status: Status::Pending, due, first_due: due, arrival, fetched: None };
        let queue = job.queue.clone();
        self.count(&queue, |totals| totals.resurrected += 1);
        self.history.push(act);
    }

    /// As they are, in this order, on record as one batch.
    fn bring_all_back(&mut self, ids: &[String], by: &'static str) -> Vec<(String, &'static str)> {
        let batch = self.fresh();
        let back = Return {
            payload: None,
            tags: None,
            priority: None,
            by,
            allow_invalid: false,
            delay: 0,
            keep_key: false,
            expected: Tell::Nothing,
        };
        let found = ids.iter().map(|id| match self.dead(id) {
            None => (id.clone(), "not_found"),
            Some(_) => {
                self.bring_back(id, &back, Some(batch));
                (id.clone(), "resurrected")
            }
        });
        let found = found.collect();
        self.sort_batch(batch);
        found
    }

    pub fn resurrect_jobs(&mut self, picks: &[Pick], by: &'static str) -> Call {
        let (given, once) = self.ids(picks);
        let rows = outcomes(self.bring_all_back(&once, by));
        Call::rows("ResurrectJobs", line! { JobIds: &given[..], ResurrectedBy: by }, rows)
    }

    pub fn resurrect_batch(&mut self, picks: &[Pick], by: &'static str, size: i64) -> Call {
        let (given, once) = self.ids(picks);
        let mut found = vec![];
        for ids in once.chunks(size as usize) {
            self.tick();
            found.extend(self.bring_all_back(ids, by));
        }
        let row = line! {
            RequestedCount: once.len() as i64, ResurrectedCount: how_many(&found, "resurrected"),
            NotFoundCount: how_many(&found, "not_found"), ConflictCount: 0, BatchCount: batches(once.len(), size),
        };
        Call::row("ResurrectBatch", line! { JobIds: &given[..], ResurrectedBy: by, BatchSize: size }, row)
    }

    pub fn resurrect_filter_batch(
        &mut self,
        filter: &Filter,
        size: i64,
        by: &'static str,
        what_if: bool,
        go_on: bool,
    ) -> Call {
        let procedure = "ResurrectByFilterBatch";
        let args = [
            self.filter_args(filter),
            line! { BatchSize: size, ResurrectedBy: by, WhatIf: what_if },
            self.after_failure(procedure, go_on),
        ]
        .concat();
        if filter.is_empty() {
            return Call::refused(procedure, args, Code::FilterRequired, "Queue");
        }
        let batch = self.oldest_failures(procedure, filter, size, go_on);
        let last = batch.last_row(self);
        let back = if what_if { vec![] } else { self.bring_all_back(&batch.ids, by) };
        let counts = line! {
            MatchedCount: batch.ids.len() as i64, ResurrectedCount: back.len() as i64, ConflictCount: 0, SkippedCount: 0,
            HasMore: batch.has_more,
        };
        Call::row(procedure, args, [counts, last].concat())
    }

    pub fn resurrect_filter(&mut self, filter: &Filter, max: i64, by: &'static str, what_if: bool, size: i64) -> Call {
        let args =
            [self.filter_args(filter), line! { MaxJobs: max, ResurrectedBy: by, WhatIf: what_if, BatchSize: size }]
                .concat();
        if filter.is_empty() {
            return Call::refused("ResurrectByFilter", args, Code::FilterRequired, "Queue");
        }
        let batch = self.oldest_failures("ResurrectByFilter", filter, max, false);
        let acts: &[String] = if what_if { &[] } else { &batch.ids };
        for ids in acts.chunks(size as usize) {
            self.tick();
            self.bring_all_back(ids, by);
        }
        let row = line! {
            MatchedCount: batch.ids.len() as i64, ResurrectedCount: acts.len() as i64, ConflictCount: 0,
            BatchCount: batches(acts.len(), size), SkippedCount: 0, HasMore: batch.has_more,
        };
        Call::row("ResurrectByFilter", args, row)
    }

    pub fn cancel_jobs(&mut self, picks: &[Pick], by: &'static str, reason: Option<&'static str>) -> Call {
        let (given, once) = self.ids(picks);
        let rows = outcomes(self.cancel(&once, by, reason));
        Call::rows("CancelJobs", line! { JobIds: &given[..], CancelledBy: by, Reason: reason }, rows)
    }

    pub fn cancel_batch(&mut self, picks: &[Pick], by: &'static str, reason: Option<&'static str>, size: i64) -> Call {
        let (given, once) = self.ids(picks);
        let mut found = vec![];
        for ids in once.chunks(size as usize) {
            self.tick();
            found.extend(self.cancel(ids, by, reason));
        }
        let args = line! { JobIds: &given[..], CancelledBy: by, Reason: reason, BatchSize: size };
        let row: Line = line! {
            RequestedCount: once.len() as i64, CancelledCount: how_many(&found, "cancelled"),
            AlreadyCancelledCount: how_many(&found, "already_cancelled"), NotFoundCount: how_many(&found, "not_found"),
            NotCancellableCount: how_many(&found, "not_cancellable"), ConflictCount: 0,
            BatchCount: batches(once.len(), size),
        };
        Call::row("ArchiveCancelledBatch", args, row)
    }

    fn cancel(&mut self, ids: &[String], by: &str, reason: Option<&str>) -> Vec<(String, &'static str)> {
        let batch = self.fresh();
        let mut found = vec![];
        for id in ids {
            let outcome = match self.jobs.get(id) {
                Some(job) if job.status() == Some(Status::Processing) => "not_cancellable",
                Some(job) if job.status().is_some() => {
                    let error = match (reason, job.error.text()) {
                        (Some(reason), Some(before)) => format!("{reason}\n{BEFORE}{before}").into(),
                        (reason, _) => reason.into(),
                    };
                    self.dead_letter(id, 1, error, Some(by));
                    let mut act = self.act_on("cancelled", id, by);
                    act.batch = Some(batch);
                    self.history.push(act);
                    "cancelled"
                }
                Some(job) if job.failed().is_some_and(|(reason, _)| reason == 1) => "already_cancelled",
                _ => "not_found",
            };
            found.push((id.clone(), outcome));
        }
        self.sort_batch(batch);
        found
    }
}

pub fn how_many(found: &[(String, &'static str)], outcome: &str) -> i64 {
    found.iter().filter(|(_, found)| *found == outcome).count() as i64
}
