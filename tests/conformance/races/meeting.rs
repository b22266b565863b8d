//! Two calls that meet on one job: the first has it and is held there, the second comes, and the first is let go.

use std::sync::atomic::{AtomicUsize, Ordering};

use chokaq_tests::contract::{self, Kind};
use chokaq_tests::{Db, Engine, Result, Rows, Session, values};

use super::act::{Act, PURGE_TWO, behind, told};
use crate::arrange;
use crate::rivals::{End, beside, while_held};

/// Where the job is before. What `w1` has of it has been without a heartbeat for long.
#[derive(Clone, Copy, Debug)]
pub enum Job {
    Pending,
    Fetched,
    Running,
    Dead,
    Archived,
}

/// What the second call does while the first one holds the job.
#[derive(Clone, Copy)]
pub enum Second {
    Waits,
    /// Goes on without the job and says so. SQL Server looks for jobs without regard to locks: it does not even see one
    /// that the first has changed out of its way. A server that ignores the hint to skip locked rows waits.
    Passes {
        postgres: &'static str,
        sql_server: &'static str,
    },
}

/// Said by who skips a job that he sees on both engines.
pub const SKIPS: Second = Second::Passes { postgres: "Skipped 1", sql_server: "Skipped 1" };
/// Said by who skips a job that SQL Server has him not see.
pub const SKIPS_OR_OVERLOOKS: Second = Second::Passes { postgres: "Skipped 1", sql_server: "none" };
/// A fetch counts nothing that it leaves.
pub const LEAVES: Second = Second::Passes { postgres: "none", sql_server: "none" };

pub struct Race {
    pub job: Job,
    pub first: Act,
    pub second: Act,
    pub does: Second,
    /// What the second is told when the first was committed: its answer, or the next one if it passed by.
    pub committed: &'static str,
}

impl Race {
    pub const fn new(job: Job, first: Act, second: Act, does: Second, committed: &'static str) -> Self {
        Self { job, first, second, does, committed }
    }
}

/// The first wins and the second says why it has nothing; with the first undone, the second wins.
pub async fn run(db: &Db<'_>, races: &[Race]) -> Result<()> {
    let [mut a, mut b] = db.sessions().await?;
    for race in races {
        if contract::procedure(race.first.procedure).kind == Kind::Looping {
            let mut gate = db.session().await?;
            meet_in_a_loop(db, race, [&mut a, &mut b, &mut gate]).await?;
        } else {
            for end in [End::Commit, End::Rollback] {
                meet_in_a_transaction(db, race, end, [&mut a, &mut b]).await?;
            }
        }
    }
    Ok(())
}

/// The first call is held in a transaction of its caller, who then ends it.
async fn meet_in_a_transaction(db: &Db<'_>, race: &Race, end: End, [a, b]: [&mut Session; 2]) -> Result<()> {
    let job = Arranged::new(a, race).await?;
    let is_committed = matches!(end, End::Commit);
    a.begin().await?;
    let first = a.call(race.first.procedure, (race.first.args)(&job.id, job.revision)).await?;
    assert_eq!(told(&first), race.first.won, "{}", job.id);
    let answer = second(db, race, &job, (a, end), b).await?;
    check(b, race, &job, is_committed, answer).await
}

/// The first call ends its transactions itself, so a third session holds what that call comes to behind the job.
async fn meet_in_a_loop(db: &Db<'_>, race: &Race, [a, b, gate]: [&mut Session; 3]) -> Result<()> {
    let job = Arranged::new(a, race).await?;
    let looping = a.id().await?;
    gate.begin().await?;
    match race.first.leaves {
        Some("Hot") => job.force_into_hot(gate).await?,
        Some("DLQ") => arrange::force(gate, &job.id, "JobsDLQ").await?,
        _ => {
            let sql = "UPDATE chokaq.JobsDLQ SET Tags = 'held' WHERE Id = @P1";
            gate.sql(sql, &values![behind(&job.id)]).await?;
        }
    }
    let first = async { Ok(a.call(race.first.procedure, (race.first.args)(&job.id, job.revision)).await?) };
    let then = async {
        db.until_blocked(looping).await?;
        second(db, race, &job, (gate, End::Rollback), b).await
    };
    let (first, answer): (Rows, String) = tokio::try_join!(first, then)?;
    assert_eq!(told(&first), race.first.won, "{}", job.id);
    check(b, race, &job, true, answer).await
}

/// What the second call is told; if it passed by, what it is told when it comes again after the end of the first.
async fn second(
    db: &Db<'_>,
    race: &Race,
    job: &Arranged,
    held: (&mut Session, End),
    b: &mut Session,
) -> Result<String> {
    let call = || (race.second.procedure, (race.second.args)(&job.id, job.revision));
    let Second::Passes { postgres, sql_server } = race.does else {
        return Ok(told(&while_held(db, held, b, call()).await?));
    };
    let answer = told(&beside(db, held, b, call()).await?);
    if !b.heeds_lock_hints() && answer == race.second.won {
        return Ok(answer);
    }
    let passed = match db.engine {
        Engine::Postgres => postgres,
        Engine::Mssql if b.heeds_lock_hints() => sql_server,
        Engine::Mssql => "none",
    };
    assert_eq!(answer, passed, "{}: beside the first", job.id);
    let (procedure, args) = call();
    Ok(told(&b.call(procedure, args).await?))
}

/// The counters are recounted at the end of the case, queue by queue, and each race has its own.
async fn check(s: &mut Session, race: &Race, job: &Arranged, is_committed: bool, answer: String) -> Result<()> {
    let about = format!("{}, the first {}", job.id, if is_committed { "committed" } else { "undone" });
    assert_eq!(answer, if is_committed { race.committed } else { race.second.won }, "{about}");
    let second = (answer == race.second.won).then_some(race.second);
    let winners: Vec<Act> = is_committed.then_some(race.first).into_iter().chain(second).collect();

    let place = winners.iter().rev().find_map(|act| act.leaves).unwrap_or(match race.job {
        Job::Dead => "DLQ",
        Job::Archived => "Archive",
        _ => "Hot",
    });
    assert_eq!(arrange::pillar(s, &job.id).await?, place, "{about}");
    let acts: Vec<_> = arrange::history(s, &job.id).await?.iter().map(|row| row.text("Action")).collect();
    assert_eq!(acts, winners.iter().filter_map(|act| act.history).collect::<Vec<_>>(), "{about}");
    Ok(())
}

/// A job in a queue of its own.
struct Arranged {
    id: String,
    revision: i64,
}

impl Arranged {
    async fn new(s: &mut Session, race: &Race) -> Result<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let id = format!("{number} {}", race.first.procedure);
        match race.job {
            Job::Pending => arrange::pending(s, &id, &id).await?,
            Job::Fetched => arrange::fetched(s, &id, &id).await?,
            Job::Running => arrange::processing(s, &id, &id).await?,
            Job::Dead => arrange::dead(s, &id, &id).await?,
            Job::Archived => arrange::archived(s, &id, &id).await?,
        }
        if matches!(race.job, Job::Fetched | Job::Running) {
            arrange::backdate(s, &id, "HeartbeatUtc", 1_000).await?;
        }
        if race.first.won == PURGE_TWO.won {
            arrange::dead(s, &id, &behind(&id)).await?;
        }
        let revision = arrange::job(s, &id).await?.int("Revision");
        Ok(Self { id, revision })
    }

    /// The row of the DLQ, put into Hot as well by the owner of the tables.
    async fn force_into_hot(&self, s: &mut Session) -> Result<()> {
        let sql = "INSERT INTO chokaq.JobsHot (Id, Queue, Type, Priority, Status, DueAtUtc, IsDue, FirstDueAtUtc,
                Arrival, CreatedAtUtc, LastUpdatedUtc, ResurrectCount, Revision)
            SELECT d.Id, d.Queue, d.Type, d.Priority, 0, d.FailedAtUtc, CAST(1 AS {bit}), d.FailedAtUtc,
                d.Revision, d.CreatedAtUtc, d.LastUpdatedUtc, d.ResurrectCount, d.Revision
            FROM chokaq.JobsDLQ AS d WHERE d.Id = @P1";
        let bit = if s.engine() == Engine::Postgres { "boolean" } else { "bit" };
        s.sql(&sql.replace("{bit}", bit), &values![&self.id]).await?;
        Ok(())
    }
}
