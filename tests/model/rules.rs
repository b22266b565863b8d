//! Which rule a step goes by.

use crate::model::Model;
use crate::steps::Act;
use crate::term::Call;

impl Model {
    /// The call of a step and its answer; afterwards the state is what it must be then.
    pub fn call(&mut self, act: &Act) -> Call {
        use Act as A;
        match act {
            A::TimePasses(_) => unreachable!("that is no call"),
            A::Invalid(nth) => self.invalid(*nth),
            A::Enqueue(new) => self.enqueue(new),
            A::EnqueueMany(jobs) => self.enqueue_many(jobs),
            A::FetchNextBatch { worker, size, queues, start_now } => {
                self.fetch(worker, *size, queues.as_deref(), *start_now)
            }
            A::MarkAsProcessing(job, by) => self.mark(job, *by),
            A::MarkJobsAsProcessing(jobs, worker) => self.mark_many(jobs, worker),
            A::KeepAlive(jobs, worker) => self.keep_alive(jobs, worker),
            A::ReleaseJob(job, by) => self.release(job, *by),
            A::ReleaseWorker(worker) => self.release_worker(worker),
            A::ArchiveSucceeded(job, fence, duration) => self.archive(job, fence, *duration),
            A::ArchiveSucceededJobs(jobs, worker) => self.archive_many(jobs, worker),
            A::RescheduleForRetry { job, fence, delay, error } => self.reschedule(job, fence, *delay, *error),
            A::MoveToDLQ { job, reason, error, fence, by } => self.move_to_dlq(job, *reason, *error, fence, *by),
            A::FailJob { job, fence, reason, error, retry_after } => {
                self.fail(job, fence, *reason, *error, *retry_after)
            }
            A::RecoverAbandonedBatch { timeout, size, go_on } => self.recover_batch(*timeout, *size, *go_on),
            A::RecoverAbandoned { timeout, size } => self.recover_all(*timeout, *size),
            A::ArchiveZombiesBatch { timeout, size, go_on } => self.zombies_batch(*timeout, *size, *go_on),
            A::ArchiveZombies { timeout, size } => self.zombies_all(*timeout, *size),
            A::ListDLQ { filter, limit, go_on } => self.list_dlq(filter, *limit, *go_on),
            A::GetDLQJob(job) => self.get_dlq_job(job),
            A::GetJob(job) => self.get_job(job),
            A::GetJobHistory(job) => self.get_history(job),
            A::SummarizeDLQ(queue, kind) => self.summarize_dlq(*queue, *kind),
            A::UpdateJobData(job, edit) => self.update("UpdateJobData", job, edit),
            A::UpdateDLQJobData(job, edit) => self.update("UpdateDLQJobData", job, edit),
            A::Resurrect(job, back) => self.resurrect(job, back),
            A::ResurrectJobs(jobs, by) => self.resurrect_jobs(jobs, by),
            A::ResurrectBatch(jobs, by, size) => self.resurrect_batch(jobs, by, *size),
            A::ResurrectByFilterBatch { filter, size, by, what_if, go_on } => {
                self.resurrect_filter_batch(filter, *size, by, *what_if, *go_on)
            }
            A::ResurrectByFilter { filter, max, by, what_if, size } => {
                self.resurrect_filter(filter, *max, by, *what_if, *size)
            }
            A::CancelJobs(jobs, by, reason) => self.cancel_jobs(jobs, by, *reason),
            A::ArchiveCancelledBatch(jobs, by, reason, size) => self.cancel_batch(jobs, by, *reason, *size),
            A::PurgeDLQJobs(jobs, by) => self.purge_jobs(jobs, by),
            A::PurgeDLQ(jobs, by, size) => self.purge_all(jobs, by, *size),
            A::PurgeDLQByFilterBatch { filter, size, by, what_if, go_on } => {
                self.purge_filter_batch(filter, *size, by, *what_if, *go_on)
            }
            A::PurgeDLQByFilter { filter, max, by, what_if, size } => {
                self.purge_filter(filter, *max, by, *what_if, *size)
            }
            A::PurgeArchiveBatch { before, size, by, go_on } => self.purge_archive_batch(*before, *size, *by, *go_on),
            A::PurgeArchive { before, size, max, by } => self.purge_archive(*before, *size, *max, *by),
            A::PurgeHistoryBatch { before, size, by, go_on } => self.purge_history_batch(*before, *size, *by, *go_on),
            A::PurgeHistory { before, size, by } => self.purge_history(*before, *size, *by),
            A::SetQueue(queue, setting, by) => self.set_queue(queue, setting, by),
            A::GetQueues(queue) => self.get_queues(*queue),
            A::GetQueueStats(queue) => self.get_queue_stats(*queue),
            A::GetSummaryStats => self.get_summary_stats(),
            A::GetHealth(queue) => self.get_health(*queue),
            A::FoldCounters(size) => self.fold(*size),
            A::GetVersion => self.get_version(),
        }
    }
}
