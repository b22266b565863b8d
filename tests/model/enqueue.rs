//! How jobs come in.

use chokaq_tests::Value;
use serde_json::json;

use crate::line;
use crate::model::{Job, Model, Pillar, Status};
use crate::steps::{New, When};
use crate::term::{Call, NULL, Term};

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
}

/// An id, or what stands for one that the server makes.
pub fn name(id: &str) -> Term {
    if id.starts_with('#') { Term::Made(id.to_owned()) } else { id.into() }
}
