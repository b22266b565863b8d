//! What a queue's health must not exceed.

use std::time::Duration;

use chokaq::QueueHealth;
use clap::Args;
use serde::Serialize;
use time::OffsetDateTime;

use crate::cli::parse;

/// What must not be exceeded; what is not given may be anything.
#[derive(Debug, Default, Args)]
pub struct Thresholds {
    /// No job that is due waits longer than this, for instance 5m
    #[arg(long, value_name = "DURATION", value_parser = parse::duration)]
    max_lag: Option<Duration>,
    /// Jobs that are due wait no longer than this on average
    #[arg(long, value_name = "DURATION", value_parser = parse::duration)]
    max_average_lag: Option<Duration>,
    /// At most so many jobs are due and wait
    #[arg(long, value_name = "NUMBER")]
    max_pending: Option<u32>,
    /// At most so many jobs wait for their time
    #[arg(long, value_name = "NUMBER")]
    max_scheduled: Option<u32>,
    /// At most so many jobs run
    #[arg(long, value_name = "NUMBER")]
    max_processing: Option<u32>,
    /// At most so many jobs a second went to the DLQ over the last minute, for instance 0.5
    #[arg(long, value_name = "RATE", value_parser = parse::rate, allow_negative_numbers = true)]
    max_failed_per_second: Option<f64>,
    /// At most so many jobs lie in the DLQ
    #[arg(long, value_name = "NUMBER")]
    max_dlq: Option<u32>,
    /// No job lies in the DLQ longer than this, for instance 1d
    #[arg(long, value_name = "DURATION", value_parser = parse::duration)]
    max_dlq_age: Option<Duration>,
}

/// A threshold that is exceeded.
#[derive(Debug, Serialize, PartialEq)]
#[serde(rename_all = "PascalCase")]
pub struct Exceeded {
    pub measure: &'static str,
    pub value: f64,
    pub limit: f64,
}

impl Thresholds {
    /// The thresholds that a queue exceeds.
    pub fn check(&self, health: &QueueHealth, now: OffsetDateTime) -> Vec<Exceeded> {
        let seconds = |limit: Option<Duration>| limit.map(|limit| limit.as_secs_f64());
        let number = |limit: Option<u32>| limit.map(f64::from);
        let oldest = health.oldest_failed_at.map_or(0.0, |oldest| (now - oldest).as_seconds_f64());
        let table = [
            ("MaxLagSeconds", health.max_lag_seconds, seconds(self.max_lag)),
            ("AverageLagSeconds", health.average_lag_seconds, seconds(self.max_average_lag)),
            ("PendingCount", health.pending_count as f64, number(self.max_pending)),
            ("ScheduledCount", health.scheduled_count as f64, number(self.max_scheduled)),
            ("ProcessingCount", health.processing_count as f64, number(self.max_processing)),
            ("FailedPerSecondOneMinute", health.failed_per_second_one_minute, self.max_failed_per_second),
            ("DLQCount", health.dlq_count as f64, number(self.max_dlq)),
            ("OldestAgeSeconds", oldest, seconds(self.max_dlq_age)),
        ];
        table.into_iter().filter_map(|(measure, value, limit)| exceeded(measure, value, limit)).collect()
    }
}

/// What equals its limit does not exceed it.
fn exceeded(measure: &'static str, value: f64, limit: Option<f64>) -> Option<Exceeded> {
    limit.filter(|limit| value > *limit).map(|limit| Exceeded { measure, value, limit })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_may_be_reached_and_not_exceeded() {
        assert_eq!(exceeded("DLQCount", 5.0, Some(5.0)), None);
        assert_eq!(exceeded("DLQCount", 5.0, None), None);
        let over = Exceeded { measure: "DLQCount", value: 5.5, limit: 5.0 };
        assert_eq!(exceeded("DLQCount", 5.5, Some(5.0)), Some(over));
        assert!(exceeded("DLQCount", 1.0, Some(0.0)).is_some());
    }
}
