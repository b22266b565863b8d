//! The operator's desk as the command line has it. What it says is in `tests/cli/`.

pub mod act;
pub mod consent;
pub mod help;
pub mod look;
pub mod queues;
pub mod refuse;
pub mod repair;

use std::time::Duration;

use chokaq_tests::{Result, Session, args, values};

/// A desk runs the program some twenty times, over TDS each time with procedures that are compiled anew.
const LIMIT: Duration = Duration::from_secs(400);

/// Takes a job into the DLQ that failed so many seconds ago; there is no other way to an old one.
async fn failed(session: &mut Session, job: [&str; 4], reason: i64, error: &str, ago: i64) -> Result<()> {
    let [queue, r#type, id, payload] = job;
    session.call("Enqueue", args! { Queue: queue, Type: r#type, JobId: id, Payload: payload }).await?;
    session.call("MoveToDLQ", args! { JobId: id, FailureReason: reason, ErrorDetails: error }).await?;
    let then = session.now().await? - time::Duration::seconds(ago);
    session.sql("UPDATE chokaq.JobsDLQ SET FailedAtUtc = @P1 WHERE Id = @P2", &values![then, id]).await?;
    Ok(())
}
