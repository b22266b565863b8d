//! Jobs of the DLQ added up by what they have in common.

use std::collections::BTreeMap;

use chokaq::{DlqSummary, FailureReason};
use clap::ValueEnum;
use serde::Serialize;
use time::OffsetDateTime;

/// What jobs are added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    Queue,
    Type,
    Reason,
    /// Over an hour, a day, a week; where the server does not count them, at least and at most so many
    Age,
}

/// Jobs that have something in common.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
#[serde(rename_all = "PascalCase")]
pub struct Sum {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<FailureReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason_name: Option<String>,
    pub job_count: i64,
    /// Of all the jobs that were added up.
    pub percent: i64,
    pub failed_last_hour: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub oldest_failed_at_utc: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub newest_failed_at_utc: OffsetDateTime,
}

impl From<DlqSummary> for Sum {
    fn from(group: DlqSummary) -> Self {
        Self {
            queue: Some(group.queue),
            r#type: Some(group.r#type),
            failure_reason: Some(group.failure_reason),
            failure_reason_name: Some(group.failure_reason_name),
            job_count: group.job_count,
            percent: 0,
            failed_last_hour: group.failed_last_hour,
            oldest_failed_at_utc: group.oldest_failed_at,
            newest_failed_at_utc: group.newest_failed_at,
        }
    }
}

impl Sum {
    /// The same jobs, known by this alone.
    fn only(mut self, by: By) -> Self {
        self.queue = self.queue.filter(|_| by == By::Queue);
        self.r#type = self.r#type.filter(|_| by == By::Type);
        self.failure_reason = self.failure_reason.filter(|_| by == By::Reason);
        self.failure_reason_name = self.failure_reason_name.filter(|_| by == By::Reason);
        self
    }

    fn add(&mut self, other: &Self) {
        self.job_count += other.job_count;
        self.failed_last_hour += other.failed_last_hour;
        self.oldest_failed_at_utc = self.oldest_failed_at_utc.min(other.oldest_failed_at_utc);
        self.newest_failed_at_utc = self.newest_failed_at_utc.max(other.newest_failed_at_utc);
    }
}

/// Adds sums up, the greatest first.
pub fn add_up(parts: Vec<Sum>, by: Option<By>) -> Vec<Sum> {
    let all = parts.iter().map(|part| part.job_count).sum::<i64>().max(1);
    let mut sums = BTreeMap::<_, Sum>::new();
    for part in parts {
        let part = if let Some(by) = by { part.only(by) } else { part };
        let key = (part.queue.clone(), part.r#type.clone(), part.failure_reason);
        sums.entry(key).and_modify(|sum| sum.add(&part)).or_insert(part);
    }
    let mut sums = sums.into_values().collect::<Vec<_>>();
    for sum in &mut sums {
        sum.percent = (100 * sum.job_count + all / 2) / all;
    }
    sums.sort_by_key(|sum| -sum.job_count);
    sums
}

#[cfg(test)]
pub mod tests {
    use time::macros::datetime;

    use super::*;

    /// Noon is now; the oldest and the newest failed so many minutes ago.
    pub fn part(queue: &str, reason: FailureReason, job_count: i64, last_hour: i64, ages: (i64, i64)) -> Sum {
        let ago = |minutes| datetime!(2026-03-01 12:00 UTC) - time::Duration::minutes(minutes);
        Sum {
            queue: Some(queue.to_owned()),
            r#type: Some("t".to_owned()),
            failure_reason: Some(reason),
            failure_reason_name: Some(reason.name().to_owned()),
            job_count,
            percent: 0,
            failed_last_hour: last_hour,
            oldest_failed_at_utc: ago(ages.0),
            newest_failed_at_utc: ago(ages.1),
        }
    }

    fn parts() -> Vec<Sum> {
        vec![
            part("mail", FailureReason::FatalError, 1, 0, (900, 900)),
            part("mail", FailureReason::Zombie, 4, 2, (300, 5)),
            part("report", FailureReason::Zombie, 3, 1, (600, 10)),
        ]
    }

    #[test]
    fn what_has_the_reason_in_common_is_one_sum() {
        let sums = add_up(parts(), Some(By::Reason));
        let zombies = part("", FailureReason::Zombie, 7, 3, (600, 5));
        assert_eq!(sums.len(), 2);
        assert_eq!(sums[0], Sum { queue: None, r#type: None, percent: 88, ..zombies });
        assert_eq!((sums[1].job_count, sums[1].percent), (1, 13));
    }

    #[test]
    fn a_sum_is_known_by_what_it_is_about_alone() {
        let json = serde_json::to_value(&add_up(parts(), Some(By::Queue))[0]).unwrap();
        let names = json.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>();
        let rest = ["JobCount", "Percent", "FailedLastHour", "OldestFailedAtUtc", "NewestFailedAtUtc"];
        assert_eq!(names, ["Queue"].into_iter().chain(rest).collect::<Vec<_>>());
    }

    #[test]
    fn without_a_choice_the_greatest_comes_first_and_none_is_lost() {
        let sums = add_up(parts(), None);
        assert_eq!(sums.iter().map(|sum| sum.job_count).collect::<Vec<_>>(), [4, 3, 1]);
        assert_eq!(add_up(Vec::new(), None), []);
    }
}
