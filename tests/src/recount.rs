//! Section 5 of the contract: the counters are what the tables say, and a job is in one table only.

use anyhow::{Result, ensure};

use crate::session::Session;

const QUEUES: &str = "
    SELECT
        s.Queue, s.SucceededTotal, s.FailedTotal, s.RetriedTotal, s.EnqueuedTotal, s.DeadLetteredTotal,
        s.ResurrectedTotal, s.PurgedTotal,
        (SELECT COUNT(*) FROM chokaq.JobsHot AS h WHERE h.Queue = s.Queue) AS HotCount,
        (SELECT COUNT(*) FROM chokaq.JobsArchive AS a WHERE a.Queue = s.Queue) AS ArchiveCount,
        (SELECT COUNT(*) FROM chokaq.JobsDLQ AS d WHERE d.Queue = s.Queue) AS DLQCount
    FROM chokaq.StatsSummary AS s";

const UNCOUNTED: &str = "
    SELECT COUNT(*) AS N
    FROM (
        SELECT h.Queue FROM chokaq.JobsHot AS h
        UNION SELECT a.Queue FROM chokaq.JobsArchive AS a
        UNION SELECT d.Queue FROM chokaq.JobsDLQ AS d
    ) AS q
    WHERE NOT EXISTS (SELECT 1 FROM chokaq.StatsSummary AS s WHERE s.Queue = q.Queue)";

const TWICE: &str = "
    SELECT COUNT(*) AS N
    FROM (
        SELECT i.Id
        FROM (
            SELECT h.Id FROM chokaq.JobsHot AS h
            UNION ALL SELECT a.Id FROM chokaq.JobsArchive AS a
            UNION ALL SELECT d.Id FROM chokaq.JobsDLQ AS d
        ) AS i
        GROUP BY i.Id
        HAVING COUNT(*) > 1
    ) AS t";

/// Fails when a counter and its recount differ by one; `archive_purged` jobs have left the Archive by a purge.
pub async fn check(session: &mut Session, archive_purged: i64) -> Result<()> {
    let twice = session.count(TWICE, &[]).await?;
    ensure!(twice == 0, "{twice} ids are in more than one table");
    let uncounted = session.count(UNCOUNTED, &[]).await?;
    ensure!(uncounted == 0, "{uncounted} queues have jobs and no counters");

    let mut gone = 0;
    for row in session.sql(QUEUES, &[]).await?.rows {
        let n = |column: &str| row.int(column);
        let failed = n("DeadLetteredTotal") - n("ResurrectedTotal") - n("PurgedTotal");
        let enqueued = n("HotCount") + n("DLQCount") + n("SucceededTotal") + n("PurgedTotal");
        ensure!(n("FailedTotal") == failed, "FailedTotal is not {failed}: {row:?}");
        ensure!(n("FailedTotal") == n("DLQCount"), "FailedTotal is not the rows of the DLQ: {row:?}");
        ensure!(n("EnqueuedTotal") == enqueued, "EnqueuedTotal is not {enqueued}: {row:?}");
        gone += n("SucceededTotal") - n("ArchiveCount");
    }
    ensure!(gone == archive_purged, "{gone} jobs are missing from the Archive, {archive_purged} were purged");
    Ok(())
}
