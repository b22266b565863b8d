//! Calls whose future is dropped before it is done, wherever it then was: whoever calls next gets an own answer, and nothing
//! of the dropped call is left open.

use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use anyhow::Context;
use chokaq::{Client, DlqFilter, Enqueue, EnqueueOutcome, FetchNextBatch, PurgeDlqByFilter, ResurrectByFilter};
use chokaq_tests::{Db, Engine, Result, Scenario, Session, scenario, until};
use futures_util::future::poll_fn;

pub const SCENARIOS: &[Scenario] =
    &[scenario!(a_dropped_call_leaves_the_next_one_its_own_answer).limit(Duration::from_secs(300))];

/// Calls that change something, each for the next to work on, and one that only reads. Two of them loop.
#[derive(Clone, Copy, Debug)]
enum Made {
    EnqueueMany,
    Fetch,
    Sweep,
    Resurrect,
    Read,
    Purge,
}

impl Made {
    async fn make(self, client: &Client, name: &str) -> chokaq::Result<()> {
        let all = DlqFilter { queue: Some("q"), ..DlqFilter::default() };
        match self {
            Self::EnqueueMany => {
                let jobs = [Enqueue { idempotency_key: Some(name), ..Enqueue::new("q", "t") }, Enqueue::new("q", "t")];
                client.enqueue_many(&jobs).await?;
            }
            Self::Fetch => {
                let fetch = FetchNextBatch { queues: Some(&["q"]), start_now: true, ..FetchNextBatch::new(name) };
                client.fetch_next_batch(&fetch).await?;
            }
            Self::Sweep => {
                client.archive_zombies(Some(0), Some(1)).await?;
            }
            Self::Resurrect => {
                let each =
                    ResurrectByFilter { what_if: false, batch_size: Some(1), ..ResurrectByFilter::new(all, name) };
                client.resurrect_by_filter(&each).await?;
            }
            Self::Read => {
                client.get_summary_stats().await?;
            }
            Self::Purge => {
                let each = PurgeDlqByFilter {
                    what_if: false,
                    cleanup_batch_size: Some(1),
                    ..PurgeDlqByFilter::new(all, name)
                };
                client.purge_dlq_by_filter(&each).await?;
            }
        }
        Ok(())
    }
}

/// The answer; none when that many polls gave none, and the call was dropped.
async fn polled<T>(call: impl Future<Output = T>, times: usize) -> Option<T> {
    let mut call = pin!(call);
    let mut count = 0;
    poll_fn(|context| {
        count += 1;
        match call.as_mut().poll(context) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending if count == times => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

async fn a_dropped_call_leaves_the_next_one_its_own_answer(db: &Db<'_>) -> Result<()> {
    use Made::{EnqueueMany, Fetch, Purge, Read, Resurrect, Sweep};

    let client = Client::builder().pool_size(1).timeout(None).connect(&db.url()?).await?;
    let mut s = db.session().await?;
    /* Where each new connection is dear, not everywhere. */
    let (made, stride) = match db.engine {
        Engine::Postgres => (&[EnqueueMany, Fetch, Sweep, Resurrect, Read, Fetch, Sweep, Purge][..], 1),
        Engine::Mssql => (&[EnqueueMany, Fetch, Sweep][..], 2),
    };
    let (mut dropped, mut next) = (0, Vec::new());
    for (number, made) in made.iter().enumerate() {
        for polls in (1..).step_by(stride) {
            let name = format!("{made:?}-{number}-{polls}");
            if let Some(answer) = polled(made.make(&client, &name), polls).await {
                answer.with_context(|| format!("{made:?} after {polls} polls"))?;
                break;
            }
            dropped += 1;
            until_nothing_is_open(&mut s).await.context(name.clone())?;
            let job = Enqueue { job_id: Some(&name), payload: Some(&name), ..Enqueue::new("others", "t") };
            let answer = client.enqueue(&job).await.with_context(|| format!("after {name}"))?;
            assert_eq!((answer.outcome, &answer.job_id), (EnqueueOutcome::Enqueued, &name));
            assert_eq!(client.get_job(&name).await?.context("it is there")?.payload.as_deref(), Some(&*name));
            next.push(name);
        }
    }
    assert!(dropped >= made.len(), "only {dropped} calls were dropped");
    /* None of them was in somebody else's transaction. */
    let committed = s.count("SELECT COUNT(*) AS N FROM chokaq.JobsHot AS h WHERE h.Queue = 'others'", &[]).await?;
    assert_eq!(committed, next.len() as i64);
    Ok(())
}

/// No other session of this database is in a transaction.
async fn until_nothing_is_open(s: &mut Session) -> Result<()> {
    let sql = "SELECT count(*) AS n FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL";
    until("no transaction is open", async || match s {
        Session::Postgres(session) => Ok((session.query(sql, &[]).await?.one().int("N") == 0).then_some(())),
        /* Babelfish does not tell. */
        Session::Mssql(_) => Ok(Some(())),
    })
    .await
}
