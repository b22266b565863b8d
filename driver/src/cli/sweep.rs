//! `chokaq sweep`: bringing back what workers left behind. Meant to be run every minute.

use clap::Args;

use super::{Answer, Failure, Session, parse, warn};

#[derive(Debug, Args)]
pub struct Sweep {
    /// Free jobs that were fetched and not started for so long [default: 300s]
    #[arg(long, value_name = "DURATION", value_parser = parse::seconds)]
    abandoned_after: Option<i32>,
    /// Move running jobs without a heartbeat for so long to the DLQ [default: as each queue says]
    #[arg(long, value_name = "DURATION", value_parser = parse::seconds)]
    zombies_after: Option<i32>,
    /// Jobs per transaction, up to 4000 [default: 1000]
    #[arg(long, value_name = "NUMBER")]
    batch_size: Option<i32>,
}

impl Sweep {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let client = session.patient(&session.client().await?);
        let recovered = client.recover_abandoned(self.abandoned_after, self.batch_size).await?;
        session.output.answer(&recovered)?;
        let moved = client.archive_zombies(self.zombies_after, self.batch_size).await?;
        session.output.answer(&moved)?;

        let skipped = recovered.skipped_count + moved.skipped_count;
        if skipped > 0 {
            warn(format_args!("{skipped} jobs could not be taken: held by others, or their id is in two tables"));
        }
        Ok(Answer::Yes)
    }
}
