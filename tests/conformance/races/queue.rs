//! A fetch and the closing of its queue. Neither waits for the other: what was claimed before stays the worker's, and
//! from the commit of the closing on nothing is given.

use chokaq_tests::{Args, Db, Engine, Result, Scenario, Session, Value, args, scenarios, values};

use crate::arrange;
use crate::queues::change;
use crate::rivals::End;

pub const SCENARIOS: &[Scenario] =
    scenarios![a_fetch_comes_while_its_queue_is_closed, a_queue_is_closed_while_a_fetch_has_its_jobs];

/// How the queue is closed, whether it has a limit, and whether the fetch asks for all queues.
struct Closing {
    procedure: &'static str,
    setting: &'static str,
    value: bool,
    has_limit: bool,
    of_all: bool,
}

const PAUSED: Closing =
    Closing { procedure: "SetQueuePaused", setting: "IsPaused", value: true, has_limit: false, of_all: true };
const INACTIVE: Closing =
    Closing { procedure: "SetQueueActive", setting: "IsActive", value: false, has_limit: false, of_all: false };
const CLOSINGS: [Closing; 4] = [
    PAUSED,
    INACTIVE,
    Closing { has_limit: true, of_all: false, ..PAUSED },
    Closing { has_limit: true, of_all: true, ..INACTIVE },
];

/// Two jobs of a queue, of which a fetch takes one.
struct Queue<'a> {
    closing: &'a Closing,
    ids: [String; 2],
    name: String,
}

impl<'a> Queue<'a> {
    async fn arrange(s: &mut Session, closing: &'a Closing, name: String) -> Result<Self> {
        let ids = [1, 2].map(|n| format!("{name} {n}"));
        arrange::many_pending(s, &name, &ids).await?;
        if closing.has_limit {
            arrange::set_queue(s, &name, "MaxWorkers", 5).await?;
        }
        Ok(Self { closing, ids, name })
    }

    async fn close(&self, s: &mut Session) -> Result<()> {
        let Closing { procedure, setting, value, .. } = *self.closing;
        assert_eq!(s.outcome(procedure, change(&self.name, setting, value, "ann")).await?, "updated", "{}", self.name);
        Ok(())
    }

    async fn fetch(&self, s: &mut Session) -> Result<Vec<String>> {
        let queues = if self.closing.of_all { Value::Null } else { [&*self.name].into() };
        arrange::fetch(s, args! { WorkerId: "w1", BatchSize: 1, Queues: queues }).await
    }

    /// The worker ends what he has, and the rest is taken out of the way of the next one.
    async fn finish(&self, s: &mut Session, taken: &[String], closings: i64) -> Result<()> {
        let owned = |id: &String| -> Args {
            args! { JobId: id, WorkerId: "w1" }
        };
        for id in taken {
            assert_eq!(s.outcome("MarkAsProcessing", owned(id)).await?, "started", "{id}");
            assert_eq!(s.outcome("ArchiveSucceeded", owned(id)).await?, "archived", "{id}");
        }
        let acts = "SELECT COUNT(*) AS N FROM chokaq.OperatorHistory WHERE Action = 'queue_changed' AND Queue = @P1";
        assert_eq!(s.count(acts, &values![&self.name]).await?, closings, "{}", self.name);
        s.call("CancelJobs", args! { JobIds: &self.ids[..], CancelledBy: "ann" }).await?;
        Ok(())
    }
}

/// All of them, with the first call committed and undone.
fn meetings() -> impl Iterator<Item = (&'static Closing, End, String)> {
    let ends = [End::Commit, End::Rollback];
    let all = CLOSINGS.iter().flat_map(move |closing| ends.map(|end| (closing, end)));
    all.enumerate().map(|(n, (closing, end))| (closing, end, format!("{} {n}", closing.setting)))
}

async fn a_fetch_comes_while_its_queue_is_closed(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    /* On SQL Server a queue that is being changed sits the fetch out; elsewhere the queue is still as it was. */
    let sits_out = db.engine == Engine::Mssql && b.heeds_lock_hints();
    for (closing, end, name) in meetings() {
        let queue = Queue::arrange(&mut a, closing, name).await?;
        a.begin().await?;
        queue.close(&mut a).await?;
        let mut taken = queue.fetch(&mut b).await?;
        assert_eq!(taken, queue.ids[..usize::from(!sits_out)], "{}", queue.name);
        end.of(&mut a).await?;
        let is_closed = matches!(end, End::Commit);
        let more = queue.fetch(&mut b).await?;
        let next = taken.len();
        assert_eq!(more, queue.ids[next..next + usize::from(!is_closed)], "{}", queue.name);
        taken.extend(more);
        queue.finish(&mut b, &taken, is_closed.into()).await?;
    }
    Ok(())
}

async fn a_queue_is_closed_while_a_fetch_has_its_jobs(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    for (closing, end, name) in meetings() {
        let queue = Queue::arrange(&mut a, closing, name).await?;
        a.begin().await?;
        let taken = queue.fetch(&mut a).await?;
        assert_eq!(taken, queue.ids[..1], "{}", queue.name);
        queue.close(&mut b).await?;
        end.of(&mut a).await?;
        assert!(queue.fetch(&mut b).await?.is_empty(), "{}", queue.name);
        let kept = if matches!(end, End::Commit) { &taken[..] } else { &[] };
        queue.finish(&mut b, kept, 1).await?;
    }
    Ok(())
}
