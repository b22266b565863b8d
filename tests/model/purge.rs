//! What is deleted for good: of the DLQ, of the Archive, of the history.

use chokaq_tests::Code;

use crate::history::Act;
use crate::line;
use crate::model::{Job, Model, Pillar};
use crate::operator::how_many;
use crate::steps::{Filter, Pick};
use crate::sweep::batches;
use crate::term::{Call, NULL, Term, Time};
use crate::worker::outcomes;

impl Model {
    pub fn purge_jobs(&mut self, picks: &[Pick], by: &'static str) -> Call {
        let (given, once) = self.ids(picks);
        let rows = outcomes(self.purge(&once, by));
        Call::rows("PurgeDLQJobs", line! { JobIds: &given[..], PurgedBy: by }, rows)
    }

    pub fn purge_all(&mut self, picks: &[Pick], by: &'static str, size: i64) -> Call {
        let (given, once) = self.ids(picks);
        let mut found = vec![];
        for ids in once.chunks(size as usize) {
            found.extend(self.purge(ids, by));
        }
        let row = line! {
            RequestedCount: once.len() as i64, PurgedCount: how_many(&found, "purged"),
            NotFoundCount: how_many(&found, "not_found"), BatchCount: batches(once.len(), size),
        };
        Call::row("PurgeDLQ", line! { JobIds: &given[..], PurgedBy: by, CleanupBatchSize: size }, row)
    }

    /// The payload goes for ever, the rest stays on record.
    fn purge(&mut self, ids: &[String], by: &str) -> Vec<(String, &'static str)> {
        let batch = self.fresh();
        let mut found = vec![];
        for id in ids {
            if self.dead(id).is_none() {
                found.push((id.clone(), "not_found"));
                continue;
            }
            let mut act = self.act_on("purged", id, by);
            act.batch = Some(batch);
            let job = self.jobs.remove(id).expect("it is in the DLQ");
            act.old_tags = job.tags;
            act.old_priority = Some(job.priority);
            act.old_key = job.key;
            self.history.push(act);
            self.count(&job.queue, |totals| totals.purged += 1);
            found.push((id.clone(), "purged"));
        }
        self.sort_batch(batch);
        found
    }

    pub fn purge_filter_batch(
        &mut self,
        filter: &Filter,
        size: i64,
        by: &'static str,
        what_if: bool,
        go_on: bool,
    ) -> Call {
        let procedure = "PurgeDLQByFilterBatch";
        let args = [
            self.filter_args(filter),
            line! { CleanupBatchSize: size, PurgedBy: by, WhatIf: what_if },
            self.after_failure(procedure, go_on),
        ]
        .concat();
        if filter.is_empty() {
            return Call::refused(procedure, args, Code::FilterRequired, "Queue");
        }
        let batch = self.oldest_failures(procedure, filter, size, go_on);
        let last = batch.last_row(self);
        let purged = if what_if { vec![] } else { self.purge(&batch.ids, by) };
        let counts = line! {
            MatchedCount: batch.ids.len() as i64, PurgedCount: purged.len() as i64, SkippedCount: 0,
            HasMore: batch.has_more,
        };
        Call::row(procedure, args, [counts, last].concat())
    }

    pub fn purge_filter(&mut self, filter: &Filter, max: i64, by: &'static str, what_if: bool, size: i64) -> Call {
        let args =
            [self.filter_args(filter), line! { MaxJobs: max, PurgedBy: by, WhatIf: what_if, CleanupBatchSize: size }]
                .concat();
        if filter.is_empty() {
            return Call::refused("PurgeDLQByFilter", args, Code::FilterRequired, "Queue");
        }
        let batch = self.oldest_failures("PurgeDLQByFilter", filter, max, false);
        let acts: &[String] = if what_if { &[] } else { &batch.ids };
        for ids in acts.chunks(size as usize) {
            self.purge(ids, by);
        }
        let row = line! {
            MatchedCount: batch.ids.len() as i64, PurgedCount: acts.len() as i64, BatchCount: batches(acts.len(), size),
            SkippedCount: 0, HasMore: batch.has_more,
        };
        Call::row("PurgeDLQByFilter", args, row)
    }

    pub fn purge_archive_batch(&mut self, before: i64, size: i64, by: Option<&'static str>, go_on: bool) -> Call {
        let procedure = "PurgeArchiveBatch";
        let before = self.given(before);
        let mut args = line! { OlderThanUtc: before, CleanupBatchSize: size, PurgedBy: by };
        let mut old = self.finished_before(before);
        if let Some((time, last)) = self.time_ends.get(procedure).filter(|_| go_on) {
            args.extend(line! {
                AfterFinishedAtUtc: Term::Last("LastFinishedAtUtc"), AfterJobId: Term::Last("LastJobId"),
            });
            old.retain(|(finished, id)| (finished, id) > (time, last));
        }
        let has_more = old.len() > size as usize;
        old.truncate(size as usize);
        self.drop_archived(&old, by);
        let last = match old.last() {
            Some((time, id)) => {
                self.time_ends.insert(procedure, (*time, id.clone()));
                line! { LastFinishedAtUtc: *time, LastJobId: id }
            }
            None => {
                self.time_ends.remove(procedure);
                line! { LastFinishedAtUtc: NULL, LastJobId: NULL }
            }
        };
        let counts = line! { DeletedCount: old.len() as i64, SkippedCount: 0, HasMore: has_more };
        Call::row(procedure, args, [counts, last].concat())
    }

    pub fn purge_archive(&mut self, before: i64, size: i64, max: Option<i64>, by: Option<&'static str>) -> Call {
        let before = self.given(before);
        let mut old = self.finished_before(before);
        let most = max.map_or(usize::MAX, |max| (max * size) as usize);
        let has_more = old.len() > most;
        old.truncate(most);
        for batch in old.chunks(size as usize) {
            self.drop_archived(batch, by);
        }
        let row = line! {
            DeletedCount: old.len() as i64, BatchCount: batches(old.len(), size), SkippedCount: 0, HasMore: has_more,
        };
        let args = line! { OlderThanUtc: before, CleanupBatchSize: size, MaxBatches: max, PurgedBy: by };
        Call::row("PurgeArchive", args, row)
    }

    fn finished_before(&self, before: Time) -> Vec<(Time, String)> {
        let finished = |(id, job): (&String, &Job)| match job.pillar {
            Pillar::Archive { finished, .. } if finished < before => Some((finished, id.clone())),
            _ => None,
        };
        let mut old: Vec<_> = self.jobs.iter().filter_map(finished).collect();
        old.sort();
        old
    }

    /// No total changes; one row of the history tells how many there were.
    fn drop_archived(&mut self, batch: &[(Time, String)], by: Option<&str>) {
        for (_, id) in batch {
            self.jobs.remove(id);
        }
        self.archive_purged += batch.len() as i64;
        self.tell_purge("archive_purged", batch.len(), by);
    }

    fn tell_purge(&mut self, action: &'static str, count: usize, by: Option<&str>) {
        if count > 0 {
            self.history.push(Act { job_count: count as i64, ..self.act(action, by) });
        }
    }

    pub fn purge_history_batch(&mut self, before: i64, size: i64, by: Option<&'static str>, go_on: bool) -> Call {
        let before = self.given(before);
        let mut args = line! { OlderThanUtc: before, CleanupBatchSize: size, PurgedBy: by };
        /* All that is as old as the end of the last batch went with it. */
        let is_on = go_on && self.history_end.is_some();
        if is_on {
            args.extend(line! { AfterAtUtc: Term::Last("LastAtUtc"), AfterHistoryId: Term::Last("LastHistoryId") });
        }
        let mut old = self.acts_before(before);
        let has_more = old.len() > size as usize;
        old.truncate(size as usize);
        /* With none left it stays where it was: buckets may go on. */
        self.history_end = old.last().copied().or(self.history_end.filter(|_| is_on));
        self.drop_history(&old, by);
        self.drop_buckets(before);
        let row = line! {
            DeletedCount: old.len() as i64, DeletedBucketCount: Term::Gone("MetricBuckets"), HasMore: Term::OrFull(has_more, "MetricBuckets", size),
            LastAtUtc: self.history_end, LastHistoryId: self.history_end.map_or(NULL, |_| Term::Unknown),
        };
        Call::row("PurgeHistoryBatch", args, row)
    }

    pub fn purge_history(&mut self, before: i64, size: i64, by: Option<&'static str>) -> Call {
        let before = self.given(before);
        let old = self.acts_before(before);
        for batch in old.chunks(size as usize) {
            self.drop_history(batch, by);
        }
        self.drop_buckets(before);
        /* A batch may have deleted buckets alone. */
        let batches = Term::Between(batches(old.len(), size) as f64, f64::INFINITY);
        let row = line! {
            DeletedCount: old.len() as i64, DeletedBucketCount: Term::Gone("MetricBuckets"), BatchCount: batches,
        };
        Call::row("PurgeHistory", line! { OlderThanUtc: before, CleanupBatchSize: size, PurgedBy: by }, row)
    }

    fn acts_before(&self, before: Time) -> Vec<Time> {
        self.history.iter().map(|act| act.at).filter(|at| *at < before).collect()
    }

    /// The oldest rows go; the row that tells it is never its own to delete.
    fn drop_history(&mut self, batch: &[Time], by: Option<&str>) {
        self.history.drain(..batch.len());
        self.tell_purge("history_purged", batch.len(), by);
    }

    /// What the rates of the last five minutes are read from may be among it.
    fn drop_buckets(&mut self, before: Time) {
        self.buckets_purged |= before.seconds > self.now.seconds - 1000;
    }
}
