//! Payloads as JSON for people: where one breaks, and a layout in which it can be read. Neither changes a letter of it.

use std::fmt;

use serde::de::IgnoredAny;
use unicode_width::UnicodeWidthChar;

use super::output::visible;

/// What is shown of a long line, to either side of the place.
const AROUND: usize = 50;

/// What deep nesting is indented to at most: a payload that is nothing but brackets must not become a page of blanks.
const DEEPEST: usize = 40;

/// The place at which a text stops being JSON.
#[derive(Debug, PartialEq, Eq)]
pub struct Broken {
    /// What was found or expected there.
    problem: String,
    /// From 1.
    line: usize,
    /// From 1, in characters.
    column: usize,
}

/// Checks that a text is one JSON value, whatever its depth and the size of its numbers.
pub fn check(text: &str) -> Result<(), Broken> {
    let Err(error) = serde_json::from_str::<IgnoredAny>(text) else {
        return Ok(());
    };
    let line = error.line().max(1);
    // The parser counts bytes, and stands at column 0 when the text ends with a line end.
    let before = line_of(text, line).as_bytes().get(..error.column().saturating_sub(1)).unwrap_or_default();
    let column = String::from_utf8_lossy(before).chars().count() + 1;
    let place = format!(" at line {} column {}", error.line(), error.column());
    let told = error.to_string();
    Err(Broken { problem: told.strip_suffix(&place).unwrap_or(&told).to_owned(), line, column })
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at line {}, column {}", self.problem, self.line, self.column)
    }
}

impl Broken {
    /// The line that breaks and the one before it, where the cause may be, with a caret under the place.
    pub fn excerpt(&self, text: &str) -> String {
        let width = self.line.to_string().len();
        let mut excerpt = String::new();
        if self.line > 1 {
            let (before, _) = part(line_of(text, self.line - 1), 0);
            excerpt += &format!("{:>width$} | {before}\n", self.line - 1);
        }
        let (shown, caret) = part(line_of(text, self.line), self.column - 1);
        excerpt += &format!("{:>width$} | {shown}\n", self.line);
        excerpt += &format!("{:>width$} | {:caret$}^", "", "");
        excerpt
    }
}

fn line_of(text: &str, line: usize) -> &str {
    text.split('\n').nth(line - 1).unwrap_or_default().trim_end_matches('\r')
}

/// A line, or the part of it around a place, as one line of a terminal; and how many columns come before the place.
fn part(line: &str, place: usize) -> (String, usize) {
    let first = place.saturating_sub(AROUND);
    let inside = line.chars().skip(first).take(2 * AROUND);
    let shown = visible(&inside.collect::<String>()).replace('\t', " ");
    let dots = if first > 0 { "…" } else { "" };
    let more = if line.chars().nth(first + 2 * AROUND).is_some() { "…" } else { "" };
    let columns = shown.chars().take(place - first).map(|c| c.width().unwrap_or_default()).sum::<usize>();
    (format!("{dots}{shown}{more}"), dots.chars().count() + columns)
}

/// Lays JSON out, a member or element a line. Only the space between tokens is new: numbers, escapes, the order of keys
/// and keys that are there twice stay as they are.
pub fn pretty(text: &str) -> Result<String, Broken> {
    check(text)?;
    let mut out = String::with_capacity(text.len() * 2);
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut is_escaped = false;
    let mut has_just_opened = false;
    for c in text.chars() {
        if in_string {
            out.push(c);
            (in_string, is_escaped) = (is_escaped || c != '"', !is_escaped && c == '\\');
            continue;
        }
        if c.is_ascii_whitespace() {
            continue;
        }
        let closes = matches!(c, '}' | ']');
        depth -= usize::from(closes);
        if closes != has_just_opened {
            begin_line(&mut out, depth);
        }
        has_just_opened = matches!(c, '{' | '[');
        depth += usize::from(has_just_opened);
        out.push(c);
        match c {
            ',' => begin_line(&mut out, depth),
            ':' => out.push(' '),
            '"' => in_string = true,
            _ => {}
        }
    }
    Ok(out)
}

fn begin_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth.min(DEEPEST)));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NO_COMMA: &str = "{\n  \"subject\": \"Welcome!\"\n  \"body\": \"Hello\"\n}";

    #[test]
    fn a_missing_comma_is_shown_where_the_next_word_begins() {
        let broken = check(NO_COMMA).unwrap_err();
        assert_eq!(broken.to_string(), "expected `,` or `}` at line 3, column 3");
        assert_eq!(broken.excerpt(NO_COMMA), "2 |   \"subject\": \"Welcome!\"\n3 |   \"body\": \"Hello\"\n  |   ^");
    }

    #[test]
    fn columns_are_characters_and_the_caret_stands_under_wide_ones_too() {
        let text = "{\"名\": \"é😀\" \"b\": 1}";
        let broken = check(text).unwrap_err();
        assert_eq!((broken.line, broken.column), (1, 12));
        assert_eq!(broken.excerpt(text), format!("1 | {text}\n  | {:13}^", ""));
    }

    #[test]
    fn a_text_that_ends_too_soon_breaks_at_its_end() {
        for (text, line, column) in [("", 1, 1), ("{\"a\": ", 1, 6), ("[1,\n", 2, 1), ("{\r\n\"a\"\r\n", 3, 1)] {
            let broken = check(text).unwrap_err();
            assert_eq!((broken.line, broken.column), (line, column), "{text:?}: {broken}");
            assert!(broken.excerpt(text).ends_with('^'), "{text:?}");
        }
    }

    #[test]
    fn of_a_long_line_the_part_around_the_place_is_shown() {
        let text = format!("[\"{}\" 1, \"{}\"]", "a".repeat(500), "b".repeat(500));
        let excerpt = check(&text).unwrap_err().excerpt(&text);
        assert!(excerpt.chars().count() < 300, "{excerpt}");
        let (shown, caret) = excerpt.split_once('\n').unwrap();
        assert_eq!(shown.chars().nth(caret.chars().count() - 1), Some('1'), "{excerpt}");
    }

    #[test]
    fn json_is_laid_out_and_nothing_in_it_changes() {
        let text = r#"{"b":1.000000000000000000001e+999,"a":{},"a":[ ],"c":[1,{"d":"\u00e9 \" , : {"}]}"#;
        let laid_out = "{\n  \"b\": 1.000000000000000000001e+999,\n  \"a\": {},\n  \"a\": [],\n  \"c\": [\n    1,\n    {\n      \
                        \"d\": \"\\u00e9 \\\" , : {\"\n    }\n  ]\n}";
        assert_eq!(pretty(text).unwrap(), laid_out);
        assert_eq!(pretty(NO_COMMA).unwrap_err(), check(NO_COMMA).unwrap_err());
        assert_eq!(pretty(" 12 ").unwrap(), "12");
    }

    #[test]
    fn deep_nesting_is_neither_refused_nor_drawn_out_for_ever() {
        let text = "[".repeat(10_000) + &"]".repeat(10_000);
        assert!(pretty(&text).unwrap().len() < text.len() * (2 * DEEPEST + 2));
    }

    proptest! {
        #[test]
        fn any_text_breaks_somewhere_in_it_or_is_json(text in r#"[\[\]{}",:\\ \n\r\ta1é😀-]{0,40}"#) {
            match check(&text) {
                Ok(()) => {
                    let laid_out = pretty(&text).unwrap();
                    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
                    prop_assert_eq!(value, serde_json::from_str::<serde_json::Value>(&laid_out).unwrap());
                }
                Err(broken) => {
                    prop_assert!(broken.line <= text.split('\n').count(), "{broken}");
                    prop_assert!(broken.column <= line_of(&text, broken.line).chars().count() + 2, "{broken}");
                    prop_assert!(broken.excerpt(&text).ends_with('^'));
                }
            }
        }
    }
}
