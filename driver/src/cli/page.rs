//! One job as a page for people: its columns below each other, then its error and its payload in full. Whatever steers
//! a terminal is made visible in it; `--json` gives every value to the letter.

use std::io::{self, BufWriter, Write};

use anstyle::Style;
use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::failure::warn;
use super::output::{fields, text, visible, write_record};
use super::{Answer, Failure, Output, json, when};

pub const HEADING: Style = Style::new().bold();

/// What a long text is set in by.
const INDENT: &str = "  ";

/// Shows the job that was asked for; a miss is told on standard error.
pub fn show<T: Serialize>(
    output: Output,
    job: Option<&T>,
    job_id: &str,
    now: OffsetDateTime,
) -> Result<Answer, Failure> {
    let Some(job) = job else {
        warn(format_args!("not_found: {job_id}"));
        return Ok(Answer::No);
    };
    if let Output::Json = output {
        output.record(job)?;
        return Ok(Answer::Yes);
    }
    let mut out = BufWriter::new(anstream::AutoStream::auto(io::stdout()));
    write(&mut out, job, now)?;
    out.flush()?;
    Ok(Answer::Yes)
}

fn write<T: Serialize>(out: &mut impl Write, job: &T, now: OffsetDateTime) -> io::Result<()> {
    let fields = fields(job)?;
    // The reason is shown by its name already.
    let short =
        fields.iter().filter(|(name, _)| !matches!(name.as_str(), "FailureReasonName" | "ErrorDetails" | "Payload"));
    let lines = short.map(|(name, value)| (name.as_str(), visible(&with_age(name, text(name, value), now))));
    write_record(out, &lines.collect::<Vec<_>>())?;
    if let Some(Value::String(error)) = fields.get("ErrorDetails") {
        section(out, "ErrorDetails", error)?;
    }
    match fields.get("Payload") {
        Some(Value::String(payload)) => write_payload(out, "Payload", payload),
        _ => section(out, "Payload: NULL", ""),
    }
}

/// An instant, and how long ago it is.
fn with_age(column: &str, value: String, now: OffsetDateTime) -> String {
    let instant = column.ends_with("Utc").then(|| OffsetDateTime::parse(&value, &Rfc3339).ok()).flatten();
    match instant {
        Some(then) if then <= now => format!("{value} ({} ago)", when::age(now, then)),
        Some(then) => format!("{value} (in {})", when::age(then, now)),
        None => value,
    }
}

/// A payload: laid out when it is JSON, else to the letter below the place where it breaks.
pub fn write_payload(out: &mut impl Write, title: &str, payload: &str) -> io::Result<()> {
    match json::pretty(payload) {
        Ok(laid_out) => section(out, title, &laid_out),
        Err(broken) => {
            section(out, &format!("{title} is not JSON: {broken}"), &broken.excerpt(payload))?;
            section(out, &format!("{title} to the letter"), payload)
        }
    }
}

/// A long text under its heading.
pub fn section(out: &mut impl Write, title: &str, text: &str) -> io::Result<()> {
    writeln!(out, "\n{HEADING}{title}{HEADING:#}")?;
    visible(text).lines().try_for_each(|line| writeln!(out, "{INDENT}{line}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use time::macros::datetime;

    use super::*;

    fn page(job: &Value) -> String {
        let mut out = Vec::new();
        write(&mut out, job, datetime!(2026-03-01 12:00 UTC)).unwrap();
        anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string()
    }

    #[test]
    fn an_error_keeps_its_lines_and_a_time_has_its_age() {
        let job = json!({
            "JobId": "a\u{1b}1",
            "FailureReason": 6,
            "FailureReasonName": "FatalError",
            "ErrorDetails": "no\r\n  at b()\n",
            "FailedAtUtc": "2026-03-01T09:30:00Z",
            "Payload": null,
        });
        let expected = "JobId          a\u{fffd}1\nFailureReason  FatalError\nFailedAtUtc    2026-03-01T09:30:00Z (2h 30m ago)\n\n\
                        ErrorDetails\n  no\n    at b()\n\nPayload: NULL\n";
        assert_eq!(page(&job), expected);
    }

    #[test]
    fn a_payload_is_laid_out_or_shown_to_the_letter_below_the_place_where_it_breaks() {
        assert!(page(&json!({"Payload": "{\"a\":1e99}"})).ends_with("\nPayload\n  {\n    \"a\": 1e99\n  }\n"));
        let broken = page(&json!({"Payload": "{\"a\"\n1}"}));
        assert!(broken.contains("Payload is not JSON: expected `:` at line 2, column 1\n  1 | {\"a\"\n"), "{broken}");
        assert!(broken.ends_with("\nPayload to the letter\n  {\"a\"\n  1}\n"), "{broken}");
    }
}
