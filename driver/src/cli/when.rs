//! Instants as people name and read them: written out, or as an age that is counted on the server's clock.

use std::time::Duration;

use clap::Args;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::failure::Failure;
use super::parse;

/// An instant, or how long ago it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Written out with its zone.
    At(OffsetDateTime),
    /// So long before the server's now.
    Ago(Duration),
}

impl When {
    /// The instant, by the server's clock.
    pub fn instant(self, now: OffsetDateTime) -> Result<OffsetDateTime, Failure> {
        match self {
            Self::At(instant) => Ok(instant),
            Self::Ago(age) => age
                .try_into()
                .ok()
                .and_then(|age: time::Duration| now.checked_sub(age))
                .ok_or_else(|| Failure::new("an age reaches beyond the calendar")),
        }
    }
}

/// From when on something is old. Exactly one of them.
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
    /// An age is counted from the whole second before `now`, which reads better in a question.
    pub fn instant(&self, now: OffsetDateTime) -> Result<OffsetDateTime, Failure> {
        let when = self.before.map(When::At).or(self.older_than.map(When::Ago));
        when.ok_or_else(|| Failure::new("no cut-off is named"))?.instant(now.truncate_to_second())
    }
}

/// An instant as it is written on a command line, with every digit.
pub fn written(instant: OffsetDateTime) -> Result<String, Failure> {
    instant.format(&Rfc3339).map_err(Failure::new)
}

/// How long ago something was, in its two greatest units: `3d 4h`. What the clock has not reached yet is no age.
pub fn age(now: OffsetDateTime, then: OffsetDateTime) -> String {
    span((now - then).whole_seconds())
}

/// A span of time in its two greatest units.
pub fn span(seconds: i64) -> String {
    const UNITS: [(i64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let seconds = seconds.max(0);
    let greatest = UNITS.iter().position(|(size, _)| seconds >= *size).unwrap_or(UNITS.len() - 1);
    let mut rest = seconds;
    let mut parts = Vec::new();
    for (size, unit) in UNITS.iter().skip(greatest).take(2) {
        parts.push((rest / size, unit));
        rest %= size;
    }
    let shown = parts.iter().enumerate().filter(|(index, (count, _))| *index == 0 || *count > 0);
    shown.map(|(_, (count, unit))| format!("{count}{unit}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    const NOW: OffsetDateTime = datetime!(2026-03-01 12:00:00.5 UTC);

    #[test]
    fn an_age_is_counted_back_from_now() {
        assert_eq!(When::Ago(Duration::from_secs(86_400)).instant(NOW).unwrap(), datetime!(2026-02-28 12:00:00.5 UTC));
        assert_eq!(When::At(NOW).instant(datetime!(2030-01-01 0:00 UTC)).unwrap(), NOW);
    }

    #[test]
    fn a_cut_off_by_age_is_a_whole_second() {
        let cut_off = CutOff { older_than: Some(Duration::from_secs(86_400)), before: None };
        assert_eq!(cut_off.instant(NOW).unwrap(), datetime!(2026-02-28 12:00 UTC));
        let cut_off = CutOff { older_than: None, before: Some(NOW) };
        assert_eq!(cut_off.instant(datetime!(2030-01-01 0:00 UTC)).unwrap(), NOW);
    }

    #[test]
    fn an_age_beyond_the_calendar_is_refused() {
        let cut_off = CutOff { older_than: Some(Duration::MAX), before: None };
        assert!(cut_off.instant(NOW).is_err());
        assert!(When::Ago(Duration::from_secs(u64::from(u32::MAX) * 1000)).instant(NOW).is_err());
    }

    #[test]
    fn a_span_is_told_in_two_units() {
        for (seconds, told) in
            [(-5, "0s"), (0, "0s"), (59, "59s"), (60, "1m"), (3_725, "1h 2m"), (86_400, "1d"), (1_000_000, "11d 13h")]
        {
            assert_eq!(span(seconds), told);
        }
    }
}
