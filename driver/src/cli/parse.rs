//! How texts of the command line become values: durations, instants, lists of ids.

use std::time::Duration;

use chokaq::FailureReason;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::when::When;

/// A span of time with its unit: `300s`, `90d`, `1h 30m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("{error}; write for instance 300s, 15m or 90d"))
}

/// A span in whole seconds, as the procedures count.
pub fn seconds(text: &str) -> Result<i32, String> {
    let duration = duration(text)?;
    if duration.subsec_nanos() != 0 {
        return Err("the procedures count whole seconds".to_owned());
    }
    i32::try_from(duration.as_secs()).map_err(|_| "at most 2147483647 seconds".to_owned())
}

/// A span in milliseconds, as DurationMs is kept.
pub fn milliseconds(text: &str) -> Result<f64, String> {
    Ok(duration(text)?.as_secs_f64() * 1000.0)
}

/// An instant with its zone: `2026-01-31T08:00:00Z`.
pub fn instant(text: &str) -> Result<OffsetDateTime, String> {
    OffsetDateTime::parse(text, &Rfc3339).map_err(|error| format!("{error}; write for instance 2026-01-31T08:00:00Z"))
}

/// An instant, or an age: `2026-01-31T08:00:00Z`, `2h`.
pub fn when(text: &str) -> Result<When, String> {
    let age = || humantime::parse_duration(text).ok().map(When::Ago);
    let read = instant(text).ok().map(When::At).or_else(age);
    read.ok_or_else(|| "write an instant, 2026-01-31T08:00:00Z, or how long ago, 2h or 1d".to_owned())
}

/// A rate per second.
pub fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if (0.0..=f64::MAX).contains(&rate) => Ok(rate),
        _ => Err("write a number of 0 or more, for instance 0.5".to_owned()),
    }
}

/// A value that may be taken away: `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrNone(pub Option<i32>);

/// A number, or `none`.
pub fn number_or_none(text: &str) -> Result<OrNone, String> {
    or_none(text, |number| number.parse().map_err(|_| "write a whole number, or none".to_owned()))
}

/// A span in whole seconds, or `none`.
pub fn seconds_or_none(text: &str) -> Result<OrNone, String> {
    or_none(text, seconds)
}

fn or_none(text: &str, parse: impl FnOnce(&str) -> Result<i32, String>) -> Result<OrNone, String> {
    if text.eq_ignore_ascii_case("none") { Ok(OrNone(None)) } else { parse(text).map(|value| OrNone(Some(value))) }
}

/// A failure reason by its name, which help and errors list, or by its number.
pub fn failure_reason() -> impl TypedValueParser<Value = FailureReason> {
    let reasons = FailureReason::ALL.iter();
    let values = reasons.map(|reason| PossibleValue::new(reason.name()).alias(i16::from(*reason).to_string()));
    PossibleValuesParser::new(values).try_map(|text| text.parse())
}

/// A list of job ids: a JSON array of texts, or one a line, each an id or a JSON object with a JobId,
/// so that what `chokaq --json dlq list` prints can be read back. Empty lines are passed over.
pub fn ids(text: &str) -> Result<Vec<String>, String> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text).map_err(|error| format!("not a JSON array of ids: {error}"));
    }
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim_end_matches('\r')))
        .filter(|(_, line)| !line.is_empty())
        .map(|(number, line)| id_of_line(line).map_err(|problem| format!("line {number}: {problem}")))
        .collect()
}

fn id_of_line(line: &str) -> Result<String, String> {
    if !line.starts_with('{') {
        return Ok(line.to_owned());
    }
    let object: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    match object.get("JobId") {
        Some(Value::String(id)) => Ok(id.clone()),
        _ => Err("an object without a JobId".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_time_need_their_unit() {
        assert_eq!(seconds("300s"), Ok(300));
        assert_eq!(seconds("90d"), Ok(7_776_000));
        assert_eq!(seconds("1h 30m"), Ok(5_400));
        assert!(seconds("300").is_err());
        assert!(seconds("-5s").is_err());
    }

    #[test]
    fn a_span_that_seconds_cannot_hold_is_refused_and_not_cut() {
        assert!(seconds("1500ms").unwrap_err().contains("whole seconds"));
        assert!(seconds("100000000000s").is_err());
    }

    #[test]
    fn milliseconds_keep_their_fraction() {
        assert_eq!(milliseconds("1500us"), Ok(1.5));
    }

    #[test]
    fn an_instant_needs_its_zone() {
        assert!(instant("2026-01-31T08:00:00Z").is_ok());
        assert!(instant("2026-01-31T08:00:00").is_err());
    }

    #[test]
    fn a_time_is_an_instant_or_an_age() {
        assert_eq!(when("2h"), Ok(When::Ago(Duration::from_secs(7_200))));
        assert_eq!(when("2026-01-31T08:00:00Z"), instant("2026-01-31T08:00:00Z").map(When::At));
        for wrong in ["yesterday", "2026-01-31", "2", ""] {
            assert!(when(wrong).unwrap_err().contains("2h"), "{wrong}");
        }
    }

    #[test]
    fn none_takes_a_value_away() {
        assert_eq!(number_or_none("none"), Ok(OrNone(None)));
        assert_eq!(number_or_none("0"), Ok(OrNone(Some(0))));
        assert_eq!(seconds_or_none("2m"), Ok(OrNone(Some(120))));
        assert!(number_or_none("nothing").is_err());
        assert!(seconds_or_none("2").is_err());
    }

    #[test]
    fn a_rate_is_a_number_that_can_be_exceeded() {
        assert_eq!(rate("0.5"), Ok(0.5));
        for wrong in ["-1", "NaN", "inf", "fast"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ids_come_as_a_json_array() {
        assert_eq!(ids(" [\"a\", \"b c\"]"), Ok(vec!["a".to_owned(), "b c".to_owned()]));
        assert!(ids("[1]").is_err());
    }

    #[test]
    fn ids_come_one_a_line_to_the_letter() {
        assert_eq!(ids("a\r\n\n b\n"), Ok(vec!["a".to_owned(), " b".to_owned()]));
        assert_eq!(ids(""), Ok(Vec::new()));
    }

    #[test]
    fn a_list_that_this_program_printed_is_read_back() {
        let printed = "{\"JobId\":\"a\",\"Queue\":\"mail\"}\n{\"JobId\":\"b\"}\n";
        assert_eq!(ids(printed), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(ids("a\n{\"Id\":1}"), Err("line 2: an object without a JobId".to_owned()));
    }
}
