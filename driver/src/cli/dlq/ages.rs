//! Jobs of the DLQ by their age. A summary tells of each of its groups how many jobs failed within the last hour, and
//! when the oldest and the newest failed; where that does not tell how many are older than an age, their bounds are shown.

use serde::Serialize;
use time::{Duration, OffsetDateTime};

use super::sum::Sum;

/// The ages besides the hour, which the server counts.
const AGES: [(&str, Duration); 2] = [("over 1d", Duration::days(1)), ("over 7d", Duration::days(7))];

/// How many jobs are of an age.
#[derive(Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "PascalCase")]
pub struct Age {
    pub age: &'static str,
    pub at_least: i64,
    pub at_most: i64,
}

/// Tells how many jobs are of which age.
pub fn ages(parts: &[Sum], now: OffsetDateTime) -> Vec<Age> {
    let last_hour = parts.iter().map(|part| part.failed_last_hour).sum();
    let rest = parts.iter().map(older_than_an_hour).sum();
    let mut ages = vec![
        Age { age: "up to 1h", at_least: last_hour, at_most: last_hour },
        Age { age: "over 1h", at_least: rest, at_most: rest },
    ];
    ages.extend(AGES.iter().map(|(name, age)| {
        let bounds = parts.iter().map(|part| older_than(*age, part, now));
        let (at_least, at_most) = bounds.fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        Age { age: name, at_least, at_most }
    }));
    ages
}

fn older_than_an_hour(part: &Sum) -> i64 {
    part.job_count - part.failed_last_hour
}

/// How many jobs of this part are older, at least and at most.
fn older_than(age: Duration, part: &Sum, now: OffsetDateTime) -> (i64, i64) {
    let is_older = |instant| now - instant > age;
    let rest = older_than_an_hour(part);
    let knows_newest = part.failed_last_hour == 0;
    if rest == 0 || !is_older(part.oldest_failed_at_utc) {
        (0, 0)
    } else if knows_newest && is_older(part.newest_failed_at_utc) {
        (rest, rest)
    } else {
        // The oldest is one; the newest, if it is not of the last hour, is none.
        (1, rest - i64::from(knows_newest))
    }
}

#[cfg(test)]
mod tests {
    use chokaq::FailureReason;
    use time::macros::datetime;

    use super::super::sum::tests::part;
    use super::*;

    const DAY: i64 = 24 * 60;

    /// The bounds of each age for jobs of which the oldest and the newest failed so many minutes ago.
    fn bounds(job_count: i64, last_hour: i64, minutes: (i64, i64)) -> Vec<(i64, i64)> {
        let part = part("q", FailureReason::Unknown, job_count, last_hour, minutes);
        ages(&[part], datetime!(2026-03-01 12:00 UTC)).iter().map(|age| (age.at_least, age.at_most)).collect()
    }

    #[test]
    fn what_is_on_one_side_of_an_age_is_counted_exactly() {
        assert_eq!(bounds(5, 5, (50, 1)), [(5, 5), (0, 0), (0, 0), (0, 0)]);
        assert_eq!(bounds(5, 2, (300, 1)), [(2, 2), (3, 3), (0, 0), (0, 0)]);
        assert_eq!(bounds(5, 0, (3 * DAY, 2 * DAY)), [(0, 0), (5, 5), (5, 5), (0, 0)]);
        assert_eq!(bounds(1, 0, (30 * DAY, 30 * DAY)), [(0, 0), (1, 1), (1, 1), (1, 1)]);
    }

    #[test]
    fn what_lies_across_an_age_has_bounds() {
        assert_eq!(bounds(10, 0, (30 * DAY, 3 * DAY)), [(0, 0), (10, 10), (10, 10), (1, 9)]);
        assert_eq!(bounds(10, 4, (30 * DAY, 1)), [(4, 4), (6, 6), (1, 6), (1, 6)]);
    }

    #[test]
    fn parts_are_added_up() {
        let parts = [
            part("a", FailureReason::Zombie, 3, 3, (5, 1)),
            part("b", FailureReason::Zombie, 4, 1, (30 * DAY, 1)),
            part("c", FailureReason::Zombie, 2, 0, (30 * DAY, 20 * DAY)),
        ];
        let ages = ages(&parts, datetime!(2026-03-01 12:00 UTC));
        assert_eq!(ages[0], Age { age: "up to 1h", at_least: 4, at_most: 4 });
        assert_eq!(ages[3], Age { age: "over 7d", at_least: 3, at_most: 5 });
    }
}
