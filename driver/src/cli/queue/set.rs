//! `chokaq queue set`: a queue's limits and its retry policy.

use chokaq::{Client, SetQueueResult, SetQueueRetryPolicy};
use clap::Args;

use super::{Named, show};
use crate::cli::parse::{self, OrNone};
use crate::cli::{Answer, Failure, Session, warn};

const CALLS: &str = "\
These are up to three calls, each committed and recorded by itself, in this order: --max-workers,
--zombie-timeout, and the others together as the retry policy. When one is refused, those before it
are done; each is shown.";

#[derive(Debug, Args)]
#[command(after_help = CALLS)]
pub struct Set {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    settings: Settings,
}

/// What is to be different; what is not named stays as it is.
#[derive(Debug, Args)]
struct Settings {
    /// The most jobs that are fetched or run at once: 0 or more, or none for no limit
    #[arg(long, value_name = "NUMBER", value_parser = parse::number_or_none)]
    max_workers: Option<OrNone>,
    /// A running job without a heartbeat for so long is a zombie: 1s or more, or none for the default, 600s
    #[arg(long, value_name = "DURATION", value_parser = parse::seconds_or_none)]
    zombie_timeout: Option<OrNone>,
    #[command(flatten, next_help_heading = "Retry policy")]
    retry: Retry,
}

/// The retry policy.
#[derive(Debug, Args)]
struct Retry {
    /// A job is given up after so many runs, at least 1 [of a new queue: 3]
    #[arg(long, value_name = "NUMBER")]
    max_attempts: Option<i32>,
    /// The wait before the second run [of a new queue: 5s]
    #[arg(long, value_name = "DURATION", value_parser = parse::seconds)]
    base_delay: Option<i32>,
    /// What each further wait grows by, 1 to 1000 [of a new queue: 2]
    #[arg(long, value_name = "FACTOR")]
    backoff_multiplier: Option<f64>,
    /// The longest wait [of a new queue: 1h]
    #[arg(long, value_name = "DURATION", value_parser = parse::seconds)]
    max_delay: Option<i32>,
    /// Up to so much more at random, to spread the runs [of a new queue: 0s]
    #[arg(long, value_name = "DURATION", value_parser = parse::seconds)]
    jitter: Option<i32>,
    /// A job that would run again later than so long after it was first due is given up, or none [of a new queue: none]
    #[arg(long, value_name = "DURATION", value_parser = parse::seconds_or_none)]
    max_job_age: Option<OrNone>,
}

impl Retry {
    fn is_given(&self) -> bool {
        self.max_attempts.is_some()
            || self.base_delay.is_some()
            || self.backoff_multiplier.is_some()
            || self.max_delay.is_some()
            || self.jitter.is_some()
            || self.max_job_age.is_some()
    }

    fn policy<'a>(&self, queue: &'a str, by: &'a str) -> SetQueueRetryPolicy<'a> {
        SetQueueRetryPolicy {
            max_attempts: self.max_attempts,
            base_delay_seconds: self.base_delay,
            backoff_multiplier: self.backoff_multiplier,
            max_delay_seconds: self.max_delay,
            jitter_seconds: self.jitter,
            max_job_age_seconds: self.max_job_age.and_then(|OrNone(age)| age),
            clear_max_job_age: self.max_job_age == Some(OrNone(None)),
            ..SetQueueRetryPolicy::new(queue, by)
        }
    }
}

impl Set {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        if !self.settings.is_given() {
            return Err(Failure::new("no setting was named").hint("`chokaq queue set --help` lists them"));
        }
        let by = self.named.operator.name()?;
        let client = session.client().await?;
        let mut done = Vec::new();
        let applied = self.settings.apply(&client, &self.named.queue, &by, &mut done).await;
        match applied {
            Err(error) if done.is_empty() => Err(error.into()),
            Err(error) => {
                show(session.output, &done)?;
                warn("a later setting was refused; the ones above are done");
                Err(error.into())
            }
            Ok(()) => show(session.output, &done),
        }
    }
}

impl Settings {
    fn is_given(&self) -> bool {
        self.max_workers.is_some() || self.zombie_timeout.is_some() || self.retry.is_given()
    }

    /// Makes the calls that it takes, and tells of each that is done.
    async fn apply(
        &self,
        client: &Client,
        queue: &str,
        by: &str,
        done: &mut Vec<SetQueueResult>,
    ) -> chokaq::Result<()> {
        if let Some(OrNone(max_workers)) = self.max_workers {
            done.push(client.set_queue_max_workers(queue, max_workers, by).await?);
        }
        if let Some(OrNone(seconds)) = self.zombie_timeout {
            done.push(client.set_queue_zombie_timeout(queue, seconds, by).await?);
        }
        if self.retry.is_given() {
            done.push(client.set_queue_retry_policy(&self.retry.policy(queue, by)).await?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        set: Set,
    }

    fn retry(options: &str) -> Retry {
        let line = format!("set mail --by me {options}");
        Line::try_parse_from(line.split_whitespace()).unwrap().set.settings.retry
    }

    #[test]
    fn each_part_of_the_policy_is_seen() {
        for option in [
            "--max-attempts 5",
            "--base-delay 5s",
            "--backoff-multiplier 1.5",
            "--max-delay 1h",
            "--jitter 1s",
            "--max-job-age none",
        ] {
            assert!(retry(option).is_given(), "{option}");
            assert_ne!(retry(option).policy("mail", "me"), SetQueueRetryPolicy::new("mail", "me"), "{option}");
        }
        assert!(!retry("--max-workers none --zombie-timeout 5m").is_given());
    }

    #[test]
    fn an_age_is_set_or_taken_away_and_never_both() {
        let policy = |options| retry(options).policy("mail", "me");
        assert_eq!(policy("--max-job-age 1d").max_job_age_seconds, Some(86_400));
        assert!(!policy("--max-job-age 1d").clear_max_job_age);
        assert_eq!(policy("--max-job-age none").max_job_age_seconds, None);
        assert!(policy("--max-job-age none").clear_max_job_age);
        assert!(!policy("--jitter 1s").clear_max_job_age);
    }
}
