//! The rows of one table are locked in key order: each call about a set waits for its second row with the first in its hands
//! and the third still free, however the set, the table and the plan are ordered.

use chokaq_tests::{Args, Db, Engine, Result, Scenario, Session, args, scenario, values};
use serde_json::json;

use crate::arrange;

/* Babelfish locks nothing that it only reads. */
pub const SCENARIOS: &[Scenario] = &[scenario!(each_set_is_locked_in_key_order).only(Engine::Postgres)];

/// As they are given, and as they come into the tables.
const GIVEN: [&str; 3] = ["j3", "j1", "j2"];
const ARRIVED: [&str; 3] = ["j3", "j2", "j1"];

/// Where the jobs are before the call.
#[derive(Clone, Copy)]
enum Jobs {
    Pending,
    Fetched,
    Running,
    Dead,
}

impl Jobs {
    async fn arrange(self, s: &mut Session) -> Result<()> {
        for id in ARRIVED {
            match self {
                Self::Pending => arrange::pending(s, "q", id).await?,
                Self::Fetched => arrange::fetched(s, "q", id).await?,
                Self::Running => arrange::processing(s, "q", id).await?,
                Self::Dead => arrange::dead(s, "q", id).await?,
            }
        }
        Ok(())
    }

    fn table(self) -> &'static str {
        match self {
            Self::Dead => "JobsDLQ",
            _ => "JobsHot",
        }
    }
}

async fn each_set_is_locked_in_key_order(db: &Db<'_>) -> Result<()> {
    let [mut s, mut holder, mut caller] = db.sessions().await?;
    let finished: Vec<_> = GIVEN.iter().map(|id| json!({"jobId": id, "attempt": 1})).collect();
    let by = |who: &'static str| -> Args { vec![("JobIds", GIVEN.into()), (who, "w1".into())] };
    for (jobs, procedure, args) in [
        (Jobs::Fetched, "MarkJobsAsProcessing", by("WorkerId")),
        (Jobs::Fetched, "KeepAlive", by("WorkerId")),
        (Jobs::Fetched, "ReleaseWorker", args! { WorkerId: "w1" }),
        (Jobs::Running, "ArchiveSucceededJobs", args! { Jobs: json!(finished), WorkerId: "w1" }),
        (Jobs::Pending, "CancelJobs", by("CancelledBy")),
        (Jobs::Dead, "ResurrectJobs", by("ResurrectedBy")),
        (Jobs::Dead, "PurgeDLQJobs", by("PurgedBy")),
    ] {
        s.empty_tables().await?;
        jobs.arrange(&mut s).await?;
        holder.begin().await?;
        let table = jobs.table();
        holder.sql(&format!("UPDATE chokaq.{table} SET Tags = 'held' WHERE Id = @P1"), &values!["j2"]).await?;
        let blocked = caller.id().await?;
        let call = async { Ok::<_, anyhow::Error>(caller.call(procedure, args).await?) };
        let look = async {
            db.until_blocked(blocked).await?;
            let free = format!("SELECT Id FROM chokaq.{table} FOR UPDATE SKIP LOCKED");
            let free = s.sql(&free, &[]).await?.texts("Id");
            holder.rollback().await?;
            Ok(free)
        };
        let (_, free) = tokio::try_join!(call, look)?;
        assert_eq!(free, ["j3"], "{procedure}");
    }
    Ok(())
}
