//! The six filters of the DLQ, and the batches of those who act by them: oldest failure first.

use crate::line;
use crate::model::{Job, Model};
use crate::steps::Filter;
use crate::term::{Line, NULL, Term, Time};

impl Filter {
    pub fn is_empty(&self) -> bool {
        self.queue.or(self.kind).or(self.search).is_none()
            && self.reason.is_none()
            && self.from.is_none()
            && self.to.is_none()
    }
}

/// Jobs of the DLQ, and whether the filter leaves more behind them.
pub struct Batch {
    pub ids: Vec<String>,
    pub has_more: bool,
}

impl Batch {
    /// Where the next batch goes on; asked before the jobs leave.
    pub fn last_row(&self, model: &Model) -> Line {
        match self.ids.last() {
            Some(id) => line! { LastFailedAtUtc: model.failed_at(id), LastJobId: id },
            None => line! { LastFailedAtUtc: NULL, LastJobId: NULL },
        }
    }
}

impl Model {
    pub fn filter_args(&self, filter: &Filter) -> Line {
        let time = |seconds: Option<i64>| seconds.map(|seconds| self.given(seconds));
        line! {
            Queue: filter.queue, Type: filter.kind, FailureReason: filter.reason, FromUtc: time(filter.from),
            ToUtc: time(filter.to), Search: filter.search,
        }
    }

    pub fn failed_at(&self, id: &str) -> Option<Time> {
        self.jobs[id].failed().map(|(_, time)| time)
    }

    /// What the filter leaves, oldest failure first.
    pub fn matching(&self, filter: &Filter) -> Vec<String> {
        let leaves = |id: &str, job: &Job| {
            let Some((reason, failed)) = job.failed() else { return false };
            filter.queue.is_none_or(|queue| queue == job.queue)
                && filter.kind.is_none_or(|kind| kind == job.kind)
                && filter.reason.is_none_or(|wanted| wanted == reason)
                && filter.from.is_none_or(|seconds| failed >= self.given(seconds))
                && filter.to.is_none_or(|seconds| failed < self.given(seconds))
                && filter.search.is_none_or(|text| job.contains(id, text))
        };
        let mut ids: Vec<_> = self.jobs.iter().filter(|(id, job)| leaves(id, job)).map(|(id, _)| id.clone()).collect();
        ids.sort_by_key(|id| (self.failed_at(id), id.clone()));
        ids
    }

    pub fn oldest_failures(&mut self, procedure: &'static str, filter: &Filter, size: i64, go_on: bool) -> Batch {
        let mut ids = self.matching(filter);
        if let Some((time, last)) = self.time_ends.get(procedure).filter(|_| go_on) {
            ids.retain(|id| (self.failed_at(id), id) > (Some(*time), last));
        }
        let has_more = ids.len() > size as usize;
        ids.truncate(size as usize);
        match ids.last() {
            Some(id) => self.time_ends.insert(procedure, (self.failed_at(id).unwrap_or(self.now), id.clone())),
            None => self.time_ends.remove(procedure),
        };
        Batch { ids, has_more }
    }

    pub fn after_failure(&self, procedure: &'static str, go_on: bool) -> Line {
        if go_on && self.time_ends.contains_key(procedure) {
            line! { AfterFailedAtUtc: Term::Last("LastFailedAtUtc"), AfterJobId: Term::Last("LastJobId") }
        } else {
            vec![]
        }
    }
}

impl Job {
    fn contains(&self, id: &str, text: &str) -> bool {
        let parts =
            [Some(id), Some(&*self.kind), self.tags.as_deref(), self.error.kept_text(), self.payload.as_deref()];
        parts.into_iter().flatten().any(|part| part.contains(text))
    }
}
