//! `chokaq archive`: looking after the jobs that succeeded.

use std::time::Duration;

use chokaq::PurgeArchive;
use clap::{Args, Subcommand};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::consent::Consent;
use super::operator::Operator;
use super::{Answer, Failure, Session, loops, parse, warn};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Delete archived jobs that finished long ago, in short transactions
    Purge(Purge),
}

#[derive(Debug, Args)]
pub struct Purge {
    #[command(flatten)]
    cut_off: CutOff,
    /// Rows per transaction, up to 4000 [default: 1000]
    #[arg(long)]
    cleanup_batch_size: Option<i32>,
    /// Stop after so many transactions
    #[arg(long)]
    max_batches: Option<i32>,
    #[command(flatten)]
    operator: Operator,
    #[command(flatten)]
    consent: Consent,
}

/// Exactly one of them.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct CutOff {
    /// Longer ago than this, counted from now on the server's clock, for instance 90d
    #[arg(long, value_name = "DURATION", value_parser = parse::duration)]
    older_than: Option<Duration>,
    /// Strictly before this instant, for instance 2026-01-31T08:00:00Z
    #[arg(long, value_name = "INSTANT", value_parser = parse::instant)]
    before: Option<OffsetDateTime>,
}

impl CutOff {
    /// An age is counted from the whole second before `now`, which reads better in the question.
    fn instant(&self, now: OffsetDateTime) -> Result<OffsetDateTime, Failure> {
        let by_age = || now.truncate_to_second().checked_sub(self.older_than?.try_into().ok()?);
        self.before.or_else(by_age).ok_or_else(|| Failure::new("--older-than reaches beyond the calendar"))
    }
}

impl Command {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        match self {
            Self::Purge(purge) => purge.run(session).await,
        }
    }
}

impl Purge {
    async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let client = session.patient(&session.client().await?);
        let older_than = self.cut_off.instant(client.get_version().await?.server_time)?;
        let by = self.operator.name()?;
        let shown = older_than.format(&Rfc3339).map_err(Failure::new)?;
        if !self.consent.ask(&format!("delete the archived jobs that finished before {shown} for good?"))? {
            return Ok(Answer::No);
        }
        let purge = PurgeArchive {
            cleanup_batch_size: self.cleanup_batch_size,
            max_batches: self.max_batches,
            purged_by: Some(&by),
            ..PurgeArchive::new(older_than)
        };
        let result = loops::purge_archive(&client, &purge).await?;
        session.output.answer(&result)?;
        if result.skipped_count > 0 {
            warn(format_args!("{} rows are held by others and stay; run it again", result.skipped_count));
        }
        Ok(Answer::Yes)
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn an_age_is_counted_back_from_now() {
        let cut_off = CutOff { older_than: Some(Duration::from_secs(86_400)), before: None };
        let instant = cut_off.instant(datetime!(2026-03-01 12:00 UTC)).unwrap();
        assert_eq!(instant, datetime!(2026-02-28 12:00 UTC));
    }

    #[test]
    fn an_age_beyond_the_calendar_is_refused() {
        let cut_off = CutOff { older_than: Some(Duration::MAX), before: None };
        assert!(cut_off.instant(datetime!(2026-03-01 12:00 UTC)).is_err());
    }
}
