//! The operator history.

use crate::line;
use crate::model::Model;
use crate::term::{Line, NULL, Term, Time};

/// A row of the operator history; the columns that are not here are NULL.
#[derive(Clone, Debug)]
pub struct Act {
    pub at: Time,
    pub action: &'static str,
    pub job: Option<String>,
    pub queue: Option<String>,
    pub kind: Option<String>,
    pub actor: Option<String>,
    pub batch: Option<u64>,
    pub job_count: i64,
    /// Reason, error, attempts and time of a failure.
    pub failure: Option<(i64, Term, i64, Time)>,
    pub old_payload: Option<String>,
    pub old_tags: Option<String>,
    pub old_priority: Option<i64>,
    pub old_key: Option<String>,
    pub settings: Option<(serde_json::Value, serde_json::Value)>,
}

impl Model {
    /// The rows of one batch are written in the order of their keys.
    pub fn sort_batch(&mut self, batch: u64) {
        let others = self.history.iter().take_while(|act| act.batch != Some(batch)).count();
        self.history[others..].sort_by(|a, b| a.job.cmp(&b.job));
    }

    /// An act on a job, as the job is now.
    pub fn act_on(&self, action: &'static str, id: &str, actor: &str) -> Act {
        let job = &self.jobs[id];
        Act {
            job: Some(id.to_owned()),
            queue: Some(job.queue.clone()),
            kind: Some(job.kind.clone()),
            failure: job.failed().map(|(reason, failed)| (reason, job.error.clone(), job.attempts, failed)),
            ..self.act(action, Some(actor))
        }
    }

    pub fn act(&self, action: &'static str, actor: Option<&str>) -> Act {
        Act {
            at: self.now,
            action,
            job: None,
            queue: None,
            kind: None,
            actor: actor.map(str::to_owned),
            batch: None,
            job_count: 1,
            failure: None,
            old_payload: None,
            old_tags: None,
            old_priority: None,
            old_key: None,
            settings: None,
        }
    }
}

impl Act {
    /// What every reader of the history sees of it.
    pub fn row(&self) -> Line {
        let failure = match &self.failure {
            Some((reason, error, attempts, failed)) => line! {
                FailureReason: *reason, ErrorDetails: error.clone(), AttemptCount: *attempts, FailedAtUtc: *failed,
            },
            None => line! { FailureReason: NULL, ErrorDetails: NULL, AttemptCount: NULL, FailedAtUtc: NULL },
        };
        let what = line! {
            AtUtc: self.at, Action: self.action, JobId: self.job.clone(), Queue: self.queue.clone(),
            Type: self.kind.clone(), Actor: self.actor.clone(), Login: Term::Unknown,
            BatchId: self.batch.map_or(NULL, Term::Batch), OldPayload: self.old_payload.clone(),
            OldTags: self.old_tags.clone(), OldPriority: self.old_priority, OldIdempotencyKey: self.old_key.clone(),
        };
        [what, failure].concat()
    }

    pub fn whole(&self) -> Line {
        let (old, new) = match &self.settings {
            Some((old, new)) => (Term::Json(old.clone()), Term::Json(new.clone())),
            None => (NULL, NULL),
        };
        [self.row(), line! { JobCount: self.job_count, OldSettings: old, NewSettings: new }].concat()
    }
}
