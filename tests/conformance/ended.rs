//! A session that is ended from outside in the middle of a loop: the batches before are kept, the one that ran is undone,
//! the driver says so and does not begin again, and a second call does the rest.

use std::time::Duration;

use chokaq::{ArchiveCancelledBatch, Client, DlqFilter, ErrorKind, PurgeArchive, PurgeDlqByFilter, ResurrectByFilter};
use chokaq_tests::{Db, Engine, Result, Scenario, Session, args, scenario};
use time::OffsetDateTime;

use crate::arrange;

pub const SCENARIOS: &[Scenario] = &[
    scenario!(an_ended_resurrection_keeps_its_batches).limit(LIMIT),
    scenario!(an_ended_resurrection_by_filter_keeps_its_batches).limit(LIMIT),
    scenario!(an_ended_purge_of_the_dlq_keeps_its_batches).limit(LIMIT),
    scenario!(an_ended_purge_by_filter_keeps_its_batches).limit(LIMIT),
    scenario!(an_ended_purge_of_the_archive_keeps_its_batches).limit(LIMIT),
    scenario!(an_ended_purge_of_the_history_keeps_its_batches).limit(LIMIT),
    scenario!(an_ended_cancellation_keeps_its_batches).limit(LIMIT),
    scenario!(an_ended_recovery_keeps_its_batches).limit(LIMIT),
    scenario!(an_ended_sweep_of_zombies_keeps_its_batches).limit(LIMIT),
];

const LIMIT: Duration = Duration::from_secs(300);
const IDS: [&str; 3] = ["j1", "j2", "j3"];

/// A looping procedure and what it works through, one row a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loop {
    Resurrect,
    ResurrectByFilter,
    PurgeDlq,
    PurgeDlqByFilter,
    PurgeArchive,
    PurgeHistory,
    Cancel,
    Recover,
    Zombies,
}

impl Loop {
    /// Where its rows are, what names their job, how it takes one, and which are still to be taken.
    fn place(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::Resurrect | Self::ResurrectByFilter | Self::PurgeDlq | Self::PurgeDlqByFilter => {
                ("JobsDLQ", "Id", "DELETE", "1 = 1")
            }
            Self::PurgeArchive => ("JobsArchive", "Id", "DELETE", "1 = 1"),
            Self::PurgeHistory => ("OperatorHistory", "JobId", "DELETE", "Action = 'edited'"),
            Self::Cancel | Self::Zombies => ("JobsHot", "Id", "DELETE", "1 = 1"),
            Self::Recover => ("JobsHot", "Id", "UPDATE", "Status = 1"),
        }
    }

    async fn arrange(self, s: &mut Session) -> Result<()> {
        for id in IDS {
            match self {
                Self::PurgeArchive => arrange::archived(s, "q", id).await?,
                Self::Cancel => arrange::pending(s, "q", id).await?,
                Self::Recover => arrange::fetched(s, "q", id).await?,
                Self::Zombies => arrange::processing(s, "q", id).await?,
                Self::PurgeHistory => {
                    arrange::pending(s, "q", id).await?;
                    let edit = args! { JobId: id, Tags: "new", ModifiedBy: "ann" };
                    assert_eq!(s.outcome("UpdateJobData", edit).await?, "updated");
                }
                _ => arrange::dead(s, "q", id).await?,
            }
        }
        Ok(())
    }

    /// Calls it; how many rows it says that it took.
    async fn call(self, client: &Client, later: OffsetDateTime) -> chokaq::Result<i64> {
        let filter = DlqFilter { queue: Some("q"), ..DlqFilter::default() };
        let one = Some(1);
        Ok(match self {
            Self::Resurrect => client.resurrect_batch(&IDS, "ann", one).await?.resurrected_count,
            Self::ResurrectByFilter => {
                let act =
                    ResurrectByFilter { what_if: false, batch_size: one, ..ResurrectByFilter::new(filter, "ann") };
                client.resurrect_by_filter(&act).await?.resurrected_count
            }
            Self::PurgeDlq => client.purge_dlq(&IDS, "ann", one).await?.purged_count,
            Self::PurgeDlqByFilter => {
                let act = PurgeDlqByFilter {
                    what_if: false,
                    cleanup_batch_size: one,
                    ..PurgeDlqByFilter::new(filter, "ann")
                };
                client.purge_dlq_by_filter(&act).await?.purged_count
            }
            Self::PurgeArchive => {
                let purge = PurgeArchive { cleanup_batch_size: one, ..PurgeArchive::new(later) };
                client.purge_archive(&purge).await?.deleted_count
            }
            /* Its own row of the batch that was committed is of the past too. */
            Self::PurgeHistory => client.purge_history(later, one, None).await?.deleted_count,
            Self::Cancel => {
                let cancellation = ArchiveCancelledBatch { batch_size: one, ..ArchiveCancelledBatch::new(&IDS, "ann") };
                client.archive_cancelled_batch(&cancellation).await?.cancelled_count
            }
            Self::Recover => client.recover_abandoned(Some(0), one).await?.recovered_count,
            Self::Zombies => client.archive_zombies(Some(0), one).await?.moved_count,
        })
    }

    async fn left(self, s: &mut Session) -> Result<i64> {
        let (table, _, _, still) = self.place();
        Ok(s.count(&format!("SELECT COUNT(*) AS N FROM chokaq.{table} WHERE {still}"), &[]).await?)
    }
}

/// Whoever takes `j2` has to pass a gate.
async fn build_gate(s: &mut Session, work: Loop) -> Result<()> {
    let (table, id, event, _) = work.place();
    let on = chokaq_tests::names::snake_case;
    s.batch("CREATE TABLE public.gate (n integer)", "CREATE TABLE dbo.Gate (N int)").await?;
    s.batch("INSERT INTO public.gate VALUES (0)", "INSERT INTO dbo.Gate VALUES (0)").await?;
    s.batch(
        &format!(
            "CREATE FUNCTION public.pass_gate() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF old.{} = 'j2' THEN UPDATE public.gate SET n = n + 1; END IF;
                RETURN NULL;
            END $$",
            on(id)
        ),
        &format!(
            "CREATE TRIGGER chokaq.tr_{table}_gate ON chokaq.{table} AFTER {event}
            AS BEGIN
                SET NOCOUNT ON;
                IF EXISTS (SELECT 1 FROM deleted AS d WHERE d.{id} = 'j2')
                    UPDATE dbo.Gate SET N = N + 1;
            END"
        ),
    )
    .await?;
    let sql = format!(
        "CREATE TRIGGER pass_gate AFTER {event} ON chokaq.{} FOR EACH ROW EXECUTE FUNCTION public.pass_gate()",
        on(table)
    );
    Ok(s.batch(&sql, "").await?)
}

async fn remove_gate(s: &mut Session, work: Loop) -> Result<()> {
    let (table, ..) = work.place();
    s.batch("", &format!("DROP TRIGGER chokaq.tr_{table}_gate")).await?;
    Ok(s.batch("", "DROP TABLE dbo.Gate").await?)
}

pub async fn end(s: &mut Session, id: i64) -> Result<()> {
    Ok(s.batch(&format!("SELECT pg_terminate_backend({id})"), &format!("KILL {id}")).await?)
}

async fn ended(db: &Db<'_>, work: Loop) -> Result<()> {
    let [mut s, mut holder] = db.sessions().await?;
    work.arrange(&mut s).await?;
    build_gate(&mut s, work).await?;
    let later = s.now().await? + time::Duration::DAY;
    let program = format!("ended {} {work:?}", db.name);
    let url = format!("{}&application_name={}", db.url()?, program.replace(' ', "%20"));
    let client = Client::builder().pool_size(1).timeout(None).connect(&url).await?;

    holder.begin().await?;
    holder.batch("UPDATE public.gate SET n = 0", "UPDATE dbo.Gate SET N = 0").await?;
    let trouble = async {
        let session = arrange::session_of(&mut s, &program).await?;
        db.until_blocked(session).await?;
        end(&mut s, session).await
    };
    let call = async { Ok::<_, anyhow::Error>(work.call(&client, later).await) };
    let (answer, ()) = tokio::try_join!(call, trouble)?;
    assert_eq!(answer.expect_err("its session was ended").kind(), ErrorKind::Connection);
    holder.rollback().await?;

    let purged = |jobs| {
        if work == Loop::PurgeArchive {
            db.expect_archive_purged(jobs)
        }
    };
    assert_eq!(work.left(&mut s).await?, 2, "the first batch is kept, the second undone");
    purged(1);
    db.recount().await?;
    let own = i64::from(work == Loop::PurgeHistory);
    assert_eq!(work.call(&client, later).await?, 2 + own, "the same client goes on");
    assert_eq!(work.left(&mut s).await?, 0);
    purged(3);
    if db.engine == Engine::Mssql {
        remove_gate(&mut s, work).await?;
    }
    Ok(())
}

async fn an_ended_resurrection_keeps_its_batches(db: &Db<'_>) -> Result<()> {
    ended(db, Loop::Resurrect).await
}

async fn an_ended_resurrection_by_filter_keeps_its_batches(db: &Db<'_>) -> Result<()> {
    ended(db, Loop::ResurrectByFilter).await
}

async fn an_ended_purge_of_the_dlq_keeps_its_batches(db: &Db<'_>) -> Result<()> {
    ended(db, Loop::PurgeDlq).await
}

async fn an_ended_purge_by_filter_keeps_its_batches(db: &Db<'_>) -> Result<()> {
    ended(db, Loop::PurgeDlqByFilter).await
}

async fn an_ended_purge_of_the_archive_keeps_its_batches(db: &Db<'_>) -> Result<()> {
    ended(db, Loop::PurgeArchive).await
}

async fn an_ended_purge_of_the_history_keeps_its_batches(db: &Db<'_>) -> Result<()> {
    ended(db, Loop::PurgeHistory).await
}

async fn an_ended_cancellation_keeps_its_batches(db: &Db<'_>) -> Result<()> {
    ended(db, Loop::Cancel).await
}

async fn an_ended_recovery_keeps_its_batches(db: &Db<'_>) -> Result<()> {
    ended(db, Loop::Recover).await
}

async fn an_ended_sweep_of_zombies_keeps_its_batches(db: &Db<'_>) -> Result<()> {
    ended(db, Loop::Zombies).await
}
