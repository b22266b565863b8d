//! Each pair of calls that may meet on one job, in both orders. The first is held while it has the job; the second is seen
//! to wait for it, or goes on without the job; then the first is let go, and in a second run undone. One of them has the
//! job, the other is told so in the words of the reference; and where both may have it in turn, the second acts on what
//! the first left. Nothing sleeps: who waits is asked of the server.

mod act;
pub mod deployers;
mod meeting;
pub mod queue;

use chokaq_tests::{Db, Result, Scenario, Session, args, scenarios, values};

use act::*;
use meeting::{Job, LEAVES, Race, SKIPS, SKIPS_OR_OVERLOOKS, Second::Waits, run};

use crate::arrange;

pub const SCENARIOS: &[Scenario] = scenarios![
    a_sweep_comes_while_the_worker_ends_its_job,
    a_worker_ends_its_job_while_the_sweep_has_it,
    a_batch_of_resurrections_comes_to_a_job_that_comes_back,
    a_resurrection_comes_to_a_job_of_a_batch,
    a_resurrection_comes_to_a_job_that_is_edited,
    an_edit_comes_to_a_job_that_comes_back,
    a_cancellation_comes_to_a_job_that_is_fetched,
    a_fetch_comes_to_a_job_that_is_cancelled,
    a_cancellation_never_waits_for_a_job_that_comes_back_under_it,
    a_purge_comes_to_a_job_that_comes_back,
    a_resurrection_comes_to_a_job_that_is_purged,
    a_start_comes_to_a_job_that_is_released,
    a_release_comes_to_a_job_that_starts,
    a_purge_comes_to_a_job_that_is_purged,
    a_purge_of_the_archive_comes_to_jobs_that_are_purged,
    a_job_that_changes_under_who_waits_for_it_is_his_all_the_same,
];

async fn a_sweep_comes_while_the_worker_ends_its_job(db: &Db<'_>) -> Result<()> {
    let race = |first, does| Race::new(Job::Running, first, SWEEP, does, "none");
    run(
        db,
        &[
            race(FINISH, SKIPS_OR_OVERLOOKS),
            race(FINISH_SET, SKIPS_OR_OVERLOOKS),
            race(MOVE, SKIPS_OR_OVERLOOKS),
            race(FAIL, SKIPS_OR_OVERLOOKS),
            race(RETRY, SKIPS_OR_OVERLOOKS),
            race(KEEP_ALIVE, SKIPS_OR_OVERLOOKS),
            race(SWEEP_BATCH, SKIPS_OR_OVERLOOKS),
        ],
    )
    .await
}

async fn a_worker_ends_its_job_while_the_sweep_has_it(db: &Db<'_>) -> Result<()> {
    let race = |first, second, answer| Race::new(Job::Running, first, second, Waits, answer);
    run(
        db,
        &[
            race(SWEEP_BATCH, FINISH, "not_found"),
            race(SWEEP_BATCH, FINISH_SET, "not_found"),
            race(SWEEP_BATCH, MOVE, "already_moved"),
            race(SWEEP_BATCH, FAIL, "already_moved"),
            race(SWEEP_BATCH, RETRY, "not_found"),
            race(SWEEP_BATCH, KEEP_ALIVE, "lost"),
            race(SWEEP, FINISH, "not_found"),
            race(SWEEP, FAIL, "already_moved"),
        ],
    )
    .await
}

async fn a_batch_of_resurrections_comes_to_a_job_that_comes_back(db: &Db<'_>) -> Result<()> {
    run(
        db,
        &[
            Race::new(Job::Dead, RESURRECT, RESURRECT_BATCH, Waits, "NotFound 1"),
            Race::new(Job::Dead, RESURRECT_SET, RESURRECT_BATCH, Waits, "NotFound 1"),
            Race::new(Job::Dead, RESURRECT_BATCH, RESURRECT_BATCH, Waits, "NotFound 1"),
            Race::new(Job::Dead, RESURRECT, RESURRECT_FILTER, SKIPS_OR_OVERLOOKS, "none"),
        ],
    )
    .await
}

async fn a_resurrection_comes_to_a_job_of_a_batch(db: &Db<'_>) -> Result<()> {
    let race = |first, second| Race::new(Job::Dead, first, second, Waits, "not_found");
    run(
        db,
        &[
            race(RESURRECT_SET, RESURRECT),
            race(RESURRECT_BATCH, RESURRECT),
            race(RESURRECT_BATCH, RESURRECT_SET),
            race(RESURRECT_FILTER_BATCH, RESURRECT),
            race(RESURRECT_FILTER, RESURRECT),
        ],
    )
    .await
}

/// It takes the job as the edit left it, unless its caller asked for the job as he saw it.
async fn a_resurrection_comes_to_a_job_that_is_edited(db: &Db<'_>) -> Result<()> {
    run(
        db,
        &[
            Race::new(Job::Dead, EDIT, RESURRECT, Waits, "resurrected"),
            Race::new(Job::Dead, EDIT, RESURRECT_AS_SEEN, Waits, "changed"),
            Race::new(Job::Dead, EDIT, RESURRECT_SET, Waits, "resurrected"),
            Race::new(Job::Dead, EDIT, RESURRECT_BATCH, Waits, "Resurrected 1"),
            Race::new(Job::Dead, EDIT, RESURRECT_FILTER, SKIPS, "Resurrected 1"),
            Race::new(Job::Dead, EDIT, EDIT_AS_SEEN, Waits, "changed"),
        ],
    )
    .await
}

async fn an_edit_comes_to_a_job_that_comes_back(db: &Db<'_>) -> Result<()> {
    let race = |first, second| Race::new(Job::Dead, first, second, Waits, "not_found");
    run(
        db,
        &[
            race(RESURRECT, EDIT),
            race(RESURRECT_SET, EDIT),
            race(RESURRECT_BATCH, EDIT),
            race(RESURRECT_FILTER_BATCH, EDIT_AS_SEEN),
            race(PURGE_SET, EDIT),
        ],
    )
    .await
}

/// What is only fetched is cancelled under its worker.
async fn a_cancellation_comes_to_a_job_that_is_fetched(db: &Db<'_>) -> Result<()> {
    run(
        db,
        &[
            Race::new(Job::Pending, FETCH, CANCEL, Waits, "cancelled"),
            Race::new(Job::Pending, FETCH, CANCEL_BATCH, Waits, "Cancelled 1"),
            Race::new(Job::Pending, FETCH_START, CANCEL, Waits, "not_cancellable"),
            Race::new(Job::Pending, FETCH_START, CANCEL_BATCH, Waits, "NotCancellable 1"),
        ],
    )
    .await
}

async fn a_fetch_comes_to_a_job_that_is_cancelled(db: &Db<'_>) -> Result<()> {
    run(
        db,
        &[
            Race::new(Job::Pending, CANCEL, FETCH, LEAVES, "none"),
            Race::new(Job::Pending, CANCEL, FETCH_START, LEAVES, "none"),
            Race::new(Job::Pending, CANCEL_BATCH, FETCH, LEAVES, "none"),
            Race::new(Job::Pending, CANCEL_BATCH, CANCEL, Waits, "already_cancelled"),
        ],
    )
    .await
}

async fn a_purge_comes_to_a_job_that_comes_back(db: &Db<'_>) -> Result<()> {
    run(
        db,
        &[
            Race::new(Job::Dead, RESURRECT, PURGE_SET, Waits, "not_found"),
            Race::new(Job::Dead, RESURRECT, PURGE, Waits, "NotFound 1"),
            Race::new(Job::Dead, RESURRECT_SET, PURGE, Waits, "NotFound 1"),
            Race::new(Job::Dead, RESURRECT_BATCH, PURGE_SET, Waits, "not_found"),
            Race::new(Job::Dead, RESURRECT, PURGE_FILTER, SKIPS_OR_OVERLOOKS, "none"),
        ],
    )
    .await
}

async fn a_resurrection_comes_to_a_job_that_is_purged(db: &Db<'_>) -> Result<()> {
    run(
        db,
        &[
            Race::new(Job::Dead, PURGE_SET, RESURRECT, Waits, "not_found"),
            Race::new(Job::Dead, PURGE_SET, RESURRECT_SET, Waits, "not_found"),
            Race::new(Job::Dead, PURGE_SET, RESURRECT_BATCH, Waits, "NotFound 1"),
            Race::new(Job::Dead, PURGE_TWO, RESURRECT, Waits, "not_found"),
            Race::new(Job::Dead, PURGE_FILTER_BATCH, RESURRECT, Waits, "not_found"),
        ],
    )
    .await
}

async fn a_start_comes_to_a_job_that_is_released(db: &Db<'_>) -> Result<()> {
    let race = |first, second| Race::new(Job::Fetched, first, second, Waits, "not_fetched");
    run(db, &[race(RELEASE, START), race(RELEASE, START_SET), race(RECOVER_BATCH, START), race(RECOVER_BATCH, RELEASE)])
        .await
}

async fn a_release_comes_to_a_job_that_starts(db: &Db<'_>) -> Result<()> {
    run(
        db,
        &[
            Race::new(Job::Fetched, START, RELEASE, Waits, "not_fetched"),
            Race::new(Job::Fetched, START_SET, RELEASE, Waits, "not_fetched"),
            Race::new(Job::Fetched, START, RECOVER, SKIPS_OR_OVERLOOKS, "none"),
            Race::new(Job::Fetched, RELEASE, RECOVER, SKIPS_OR_OVERLOOKS, "none"),
        ],
    )
    .await
}

async fn a_purge_comes_to_a_job_that_is_purged(db: &Db<'_>) -> Result<()> {
    run(
        db,
        &[
            Race::new(Job::Dead, PURGE_SET, PURGE, Waits, "NotFound 1"),
            Race::new(Job::Dead, PURGE_TWO, PURGE, Waits, "NotFound 1"),
            Race::new(Job::Dead, PURGE_TWO, PURGE_SET, Waits, "not_found"),
            Race::new(Job::Dead, PURGE_FILTER_BATCH, PURGE_SET, Waits, "not_found"),
            Race::new(Job::Dead, PURGE_SET, PURGE_FILTER, SKIPS_OR_OVERLOOKS, "none"),
            Race::new(Job::Dead, PURGE_FILTER_BATCH, PURGE_FILTER, SKIPS_OR_OVERLOOKS, "none"),
        ],
    )
    .await
}

async fn a_purge_of_the_archive_comes_to_jobs_that_are_purged(db: &Db<'_>) -> Result<()> {
    db.expect_archive_purged(2);
    run(db, &[Race::new(Job::Archived, PURGE_ARCHIVE_BATCH, PURGE_ARCHIVE, SKIPS_OR_OVERLOOKS, "none")]).await?;
    let acts = "SELECT COUNT(*) AS N FROM chokaq.OperatorHistory WHERE Action = 'archive_purged' AND JobCount = 1";
    assert_eq!(db.session().await?.count(acts, &[]).await?, 2, "one for each job");
    Ok(())
}

/// He named the job, and not how he had seen it.
async fn a_job_that_changes_under_who_waits_for_it_is_his_all_the_same(db: &Db<'_>) -> Result<()> {
    run(
        db,
        &[
            Race::new(Job::Dead, EDIT, PURGE_SET, Waits, "purged"),
            Race::new(Job::Dead, EDIT, PURGE, Waits, "Purged 1"),
            Race::new(Job::Running, KEEP_ALIVE, KEEP_ALIVE, Waits, "alive"),
            Race::new(Job::Fetched, KEEP_ALIVE, START_SET, Waits, "started"),
            Race::new(Job::Running, KEEP_ALIVE, FINISH_SET, Waits, "archived"),
        ],
    )
    .await
}

/// It holds the second job when the first, which ran, waits again and has another cancellation: a wait for that one would
/// be in a circle.
async fn a_cancellation_never_waits_for_a_job_that_comes_back_under_it(db: &Db<'_>) -> Result<()> {
    let [mut a, mut b, mut holder] = db.sessions().await?;
    let ids = ["q 1", "q 2"].map(str::to_owned);
    arrange::processing(&mut a, "q", &ids[0]).await?;
    arrange::pending(&mut a, "q", &ids[1]).await?;
    let [first, second] = [a.id().await?, b.id().await?];
    holder.begin().await?;
    holder.sql("UPDATE chokaq.JobsHot SET Tags = 'held' WHERE Id = @P1", &values![&ids[1]]).await?;
    let cancel = async |s: &mut Session| {
        Ok::<_, anyhow::Error>(
            s.call("CancelJobs", args! { JobIds: &ids[..], CancelledBy: "ann" }).await?.texts("Outcome"),
        )
    };
    let then = async {
        db.until_blocked(first).await?;
        let mut worker = db.session().await?;
        assert_eq!(
            worker.outcome("RescheduleForRetry", args! { JobId: &ids[0], WorkerId: "w1" }).await?,
            "rescheduled"
        );
        let let_go = async {
            db.until_blocked(second).await?;
            Ok(holder.rollback().await?)
        };
        Ok(tokio::try_join!(cancel(&mut b), let_go)?.0)
    };
    let (first, second) = tokio::try_join!(cancel(&mut a), then)?;
    assert_eq!(first, ["not_cancellable", "cancelled"]);
    assert_eq!(second, ["cancelled", "already_cancelled"]);
    Ok(())
}
