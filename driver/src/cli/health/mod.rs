//! `chokaq health`: how each queue does, and whether that is well enough. For people, for probes and for cron.

mod thresholds;

use std::io;

use chokaq::QueueHealth;
use clap::Args;
use serde::Serialize;
use time::OffsetDateTime;

use super::queue::state;
use super::when::{age, span};
use super::{Answer, Failure, Output, Session, note, warn};
use thresholds::{Exceeded, Thresholds};

const EXAMPLES: &str = "\
Rates are shown over the last minute and the last five.

Each threshold holds for every queue by itself. Exit codes: 0 none is exceeded, 1 one is, 2 error.

Examples:
  chokaq health
  chokaq health --queue mail --max-lag 5m --max-dlq 100
  chokaq --json health --max-dlq-age 1d --max-failed-per-second 0.5";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Health {
    /// Only of this queue; it is an error when there is none of this name
    #[arg(long)]
    queue: Option<String>,
    #[command(flatten, next_help_heading = "Thresholds")]
    thresholds: Thresholds,
}

/// A queue as programs see it.
#[derive(Serialize)]
struct Checked<'a> {
    #[serde(flatten)]
    health: &'a QueueHealth,
    #[serde(rename = "Exceeded")]
    exceeded: Vec<Exceeded>,
}

/// A queue as people see it.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Shown<'a> {
    #[serde(flatten)]
    health: &'a QueueHealth,
    state: &'static str,
    average_lag: String,
    max_lag: String,
    completed: String,
    failed: String,
    oldest_age: String,
}

const SHOWN: [&str; 12] = [
    "Queue",
    "State",
    "PendingCount",
    "ScheduledCount",
    "FetchedCount",
    "ProcessingCount",
    "AverageLag",
    "MaxLag",
    "Completed",
    "Failed",
    "DLQCount",
    "OldestAge",
];

const PLAIN: [&str; 15] = [
    "Queue",
    "IsPaused",
    "IsActive",
    "PendingCount",
    "ScheduledCount",
    "FetchedCount",
    "ProcessingCount",
    "AverageLagSeconds",
    "MaxLagSeconds",
    "CompletedPerSecondOneMinute",
    "CompletedPerSecondFiveMinutes",
    "FailedPerSecondOneMinute",
    "FailedPerSecondFiveMinutes",
    "DLQCount",
    "OldestFailedAtUtc",
];

fn heading(column: &str) -> &str {
    match column {
        "Completed" => "Completed/s",
        "Failed" => "Failed/s",
        "AverageLag" => "AvgLag",
        column => column.strip_suffix("Count").unwrap_or(column),
    }
}

impl Health {
    pub async fn run(self, session: &Session) -> Result<Answer, Failure> {
        let (client, now) = session.client_and_clock().await?;
        let queues = client.get_health(self.queue.as_deref()).await?;
        if let Some(queue) = self.queue.filter(|_| queues.is_empty()) {
            // A probe that names the wrong queue must not find it well, nor ill.
            return Err(
                Failure::new(format_args!("there is no queue {queue:?}")).hint("`chokaq queue list` lists them")
            );
        }
        if queues.is_empty() {
            note("no queue");
        }
        let checked = queues.iter().map(|health| Checked { health, exceeded: self.thresholds.check(health, now) });
        let checked = checked.collect::<Vec<_>>();
        show(session.output, &checked, now)?;
        for Checked { health, exceeded } in &checked {
            for Exceeded { measure, value, limit } in exceeded {
                warn(format_args!("{}: {measure} is {value}, more than {limit}", health.queue));
            }
        }
        Ok(Answer::when(checked.iter().all(|queue| queue.exceeded.is_empty())))
    }
}

fn show(output: Output, queues: &[Checked<'_>], now: OffsetDateTime) -> io::Result<()> {
    match output {
        Output::Json => output.rows(queues, &[]),
        Output::Plain => output.rows(queues, &PLAIN),
        Output::Terminal => {
            let shown = queues.iter().map(|queue| for_people(queue.health, now)).collect::<Vec<_>>();
            output.rows_under(heading, &shown, &SHOWN)
        }
    }
}

fn for_people(health: &QueueHealth, now: OffsetDateTime) -> Shown<'_> {
    let lag = |seconds: f64| span(seconds as i64);
    let rates = |minute: f64, five: f64| format!("{minute:.2} {five:.2}");
    Shown {
        state: state(health.is_active, health.is_paused),
        average_lag: lag(health.average_lag_seconds),
        max_lag: lag(health.max_lag_seconds),
        completed: rates(health.completed_per_second_one_minute, health.completed_per_second_five_minutes),
        failed: rates(health.failed_per_second_one_minute, health.failed_per_second_five_minutes),
        oldest_age: health.oldest_failed_at.map_or_else(String::new, |oldest| age(now, oldest)),
        health,
    }
}
