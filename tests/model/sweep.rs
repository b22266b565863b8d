//! The sweeps: what a worker holds and does not keep alive.

use crate::line;
use crate::model::{Job, Model, Status};
use crate::term::{Call, Line, Term};

/// One batch in the order of queue and id: the jobs it takes, and whether there are more behind them.
struct Batch {
    ids: Vec<String>,
    has_more: bool,
}

impl Model {
    pub fn recover_batch(&mut self, timeout: i64, size: i64, go_on: bool) -> Call {
        let args =
            [line! { TimeoutSeconds: timeout, BatchSize: size }, self.go_on("RecoverAbandonedBatch", go_on)].concat();
        let taken = self.abandoned(timeout);
        let batch = self.next_batch("RecoverAbandonedBatch", taken, size, go_on);
        self.recover(&batch.ids);
        let row = self.batch_row(line! { RecoveredCount: batch.ids.len() as i64 }, &batch);
        Call::row("RecoverAbandonedBatch", args, row)
    }

    pub fn recover_all(&mut self, timeout: i64, size: i64) -> Call {
        let taken = self.abandoned(timeout);
        self.recover(&taken);
        let row = line! {
            RecoveredCount: taken.len() as i64, BatchCount: batches(taken.len(), size), SkippedCount: 0,
        };
        Call::row("RecoverAbandoned", line! { TimeoutSeconds: timeout, BatchSize: size }, row)
    }

    fn abandoned(&self, timeout: i64) -> Vec<String> {
        self.silent(Status::Fetched, |_| timeout)
    }

    /// They come back at their old place.
    fn recover(&mut self, ids: &[String]) {
        let now = self.now;
        for id in ids {
            self.job(id).let_go(now);
        }
    }

    pub fn zombies_batch(&mut self, timeout: Option<i64>, size: i64, go_on: bool) -> Call {
        let args =
            [line! { TimeoutSeconds: timeout, BatchSize: size }, self.go_on("ArchiveZombiesBatch", go_on)].concat();
        let taken = self.zombies(timeout);
        let batch = self.next_batch("ArchiveZombiesBatch", taken, size, go_on);
        self.bury(&batch.ids, timeout);
        let row = self.batch_row(line! { MovedCount: batch.ids.len() as i64 }, &batch);
        Call::row("ArchiveZombiesBatch", args, row)
    }

    pub fn zombies_all(&mut self, timeout: Option<i64>, size: i64) -> Call {
        let taken = self.zombies(timeout);
        for ids in taken.chunks(size as usize) {
            self.tick();
            self.bury(ids, timeout);
        }
        let row = line! { MovedCount: taken.len() as i64, BatchCount: batches(taken.len(), size), SkippedCount: 0 };
        Call::row("ArchiveZombies", line! { TimeoutSeconds: timeout, BatchSize: size }, row)
    }

    fn zombies(&self, timeout: Option<i64>) -> Vec<String> {
        self.silent(Status::Processing, |job| self.zombie_timeout(job, timeout))
    }

    fn zombie_timeout(&self, job: &Job, given: Option<i64>) -> i64 {
        given.or(self.settings(&job.queue).zombie_timeout).unwrap_or(600)
    }

    fn bury(&mut self, ids: &[String], timeout: Option<i64>) {
        for id in ids {
            let job = &self.jobs[id];
            let error = Term::Zombie {
                worker: job.worker.clone().unwrap_or_default(),
                timeout: self.zombie_timeout(job, timeout),
                before: job.error.text().map(str::to_owned),
            };
            self.dead_letter(id, 2, error, None);
        }
    }

    /// The jobs of that status without a heartbeat for so long, in the order of queue and id.
    fn silent(&self, status: Status, timeout: impl Fn(&Job) -> i64) -> Vec<String> {
        let is_silent = |job: &Job| {
            let age = job.heartbeat.map(|heartbeat| heartbeat + timeout(job) <= self.now);
            job.status() == Some(status) && age == Some(true)
        };
        let mut found: Vec<_> = self.jobs.iter().filter(|(_, job)| is_silent(job)).collect();
        found.sort_by_key(|(id, job)| (job.queue.clone(), (*id).clone()));
        found.into_iter().map(|(id, _)| id.clone()).collect()
    }

    fn go_on(&self, procedure: &'static str, go_on: bool) -> Line {
        if go_on && self.sweep_ends.contains_key(procedure) {
            line! { AfterQueue: Term::Last("LastQueue"), AfterJobId: Term::Last("LastJobId") }
        } else {
            vec![]
        }
    }

    fn next_batch(&mut self, procedure: &'static str, mut ids: Vec<String>, size: i64, go_on: bool) -> Batch {
        if let Some(end) = self.sweep_ends.get(procedure).filter(|_| go_on) {
            ids.retain(|id| (&self.jobs[id].queue, id) > (&end.0, &end.1));
        }
        let has_more = ids.len() > size as usize;
        ids.truncate(size as usize);
        match ids.last() {
            Some(id) => self.sweep_ends.insert(procedure, (self.jobs[id].queue.clone(), id.clone())),
            None => self.sweep_ends.remove(procedure),
        };
        Batch { ids, has_more }
    }

    fn batch_row(&self, count: Line, batch: &Batch) -> Line {
        let last = batch.ids.last();
        let queue = last.map(|id| self.jobs[id].queue.clone());
        [count, line! { SkippedCount: 0, HasMore: batch.has_more, LastQueue: queue, LastJobId: last.cloned() }].concat()
    }

    pub fn fold(&self, size: i64) -> Call {
        Call::row("FoldCounters", line! { BatchSize: size }, line! { FoldedCount: Term::Gone("CounterDeltas") })
    }
}

/// How many batches that is.
pub fn batches(count: usize, size: i64) -> i64 {
    (count as i64 + size - 1) / size
}
