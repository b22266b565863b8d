//! After a sequence: every job in its table as the model has it, the counters, the history.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use chokaq_tests::{Row, recount};

use crate::history::Act;
use crate::line;
use crate::model::{Job, Pillar};
use crate::run::System;

const HOT: &str = "
    SELECT Id AS JobId, Queue, Type, Payload, Tags, IdempotencyKey, Priority, Status, DueAtUtc, FirstDueAtUtc,
        ScheduledAtUtc, AttemptCount, WorkerId, FetchedAtUtc, StartedAtUtc, HeartbeatUtc, ErrorDetails, CreatedAtUtc,
        CreatedBy, LastUpdatedUtc, LastModifiedBy, ResurrectCount, Revision
    FROM chokaq.JobsHot";

const ARCHIVE: &str = "
    SELECT Id AS JobId, Queue, Type, Payload, Tags, IdempotencyKey, Priority, AttemptCount, WorkerId, ScheduledAtUtc,
        StartedAtUtc, FinishedAtUtc, DurationMs, CreatedAtUtc, CreatedBy, LastModifiedBy, ResurrectCount, Revision
    FROM chokaq.JobsArchive";

const DLQ: &str = "
    SELECT Id AS JobId, Queue, Type, Payload, Tags, IdempotencyKey, Priority, AttemptCount, WorkerId, FailureReason,
        ErrorDetails, FailedAtUtc, ScheduledAtUtc, StartedAtUtc, HeartbeatUtc, CreatedAtUtc, CreatedBy, LastUpdatedUtc,
        LastModifiedBy, ResurrectCount, Revision
    FROM chokaq.JobsDLQ";

const HISTORY: &str = "
    SELECT AtUtc, Action, JobId, Queue, Type, Actor, Login, CAST(BatchId AS varchar(36)) AS BatchId, JobCount,
        FailureReason, ErrorDetails, AttemptCount, FailedAtUtc, OldPayload, OldTags, OldPriority, OldIdempotencyKey,
        OldSettings, NewSettings
    FROM chokaq.OperatorHistory ORDER BY HistoryId";

impl System {
    pub async fn check_state(&mut self) -> Result<()> {
        self.check_jobs(HOT, |job| job.status().is_some()).await.context("JobsHot")?;
        self.check_jobs(ARCHIVE, |job| matches!(job.pillar, Pillar::Archive { .. })).await.context("JobsArchive")?;
        self.check_jobs(DLQ, |job| job.failed().is_some()).await.context("JobsDLQ")?;
        self.check_history().await.context("OperatorHistory")?;
        for call in [self.model.get_queues(None), self.model.get_queue_stats(None)] {
            let rows = self.owner.call(call.procedure, vec![]).await?;
            if let crate::term::Answer::Rows(lines) = &call.answer {
                self.seen.compare_rows(&self.model, lines, &rows, call.procedure)?;
            }
        }
        recount::check(&mut self.owner, self.model.archive_purged).await
    }

    async fn check_jobs(&mut self, sql: &str, is_here: impl Fn(&Job) -> bool) -> Result<()> {
        let rows = self.owner.sql(sql, &[]).await?.rows;
        let rows: BTreeMap<String, Row> = rows.into_iter().map(|row| (row.text("JobId"), row)).collect();
        let jobs: Vec<_> = self.model.jobs.iter().filter(|(_, job)| is_here(job)).collect();
        let ids: Vec<_> = jobs.iter().map(|(id, _)| *id).collect();
        ensure!(ids == rows.keys().collect::<Vec<_>>(), "{ids:?} were expected, not {:?}", rows.keys());
        for (id, job) in jobs {
            let mut line = job.anywhere(id);
            if let Pillar::Hot { first_due, .. } = job.pillar {
                line.extend(line! { FirstDueAtUtc: first_due });
            }
            self.seen.compare_row(&self.model, &line, &rows[id])?;
        }
        Ok(())
    }

    /// In the order of the acts; those of one batch in any.
    async fn check_history(&mut self) -> Result<()> {
        let mut rows = self.owner.sql(HISTORY, &[]).await?.rows;
        let mut acts = self.model.history.clone();
        ensure!(rows.len() == acts.len(), "{acts:?}\nwere expected, not {rows:?}");
        let mut start = 0;
        while start < acts.len() {
            let batch = acts[start].batch;
            let is_same = |act: &&Act| batch.is_some() && act.batch == batch;
            let count = acts[start..].iter().take_while(is_same).count().max(1);
            if count > 1 {
                acts[start..start + count].sort_by(|a, b| a.job.cmp(&b.job));
                rows[start..start + count].sort_by_key(|row| row.text("JobId"));
            }
            start += count;
        }
        for (act, row) in acts.iter().zip(&rows) {
            self.seen.compare_row(&self.model, &act.whole(), row)?;
        }
        Ok(())
    }
}
