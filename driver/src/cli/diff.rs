//! The difference between two texts, as people know it.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use similar::{ChangeTag, TextDiff};

use super::output::visible;

const OLD: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red)));
const NEW: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));
const PLACE: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Cyan)));
const SAME: Style = Style::new();

/// A unified difference under a heading, in colours that a stream of anstream's takes away where they are no use.
pub fn diff(name: &str, before: &str, after: &str) -> String {
    between([&format!("{name} before"), &format!("{name} after")], before, after)
}

/// The same under two headings.
pub fn between([old, new]: [&str; 2], before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    // Writing into a String cannot fail.
    let mut out = String::new();
    let _ = writeln!(out, "{OLD}--- {old}{OLD:#}\n{NEW}+++ {new}{NEW:#}");
    for hunk in diff.unified_diff().iter_hunks() {
        let _ = writeln!(out, "{PLACE}{}{PLACE:#}", hunk.header());
        for change in hunk.iter_changes() {
            let (sign, style) = match change.tag() {
                ChangeTag::Delete => ('-', OLD),
                ChangeTag::Insert => ('+', NEW),
                ChangeTag::Equal => (' ', SAME),
            };
            let line = change.value().strip_suffix('\n').unwrap_or(change.value());
            let _ = writeln!(out, "{style}{sign}{}{style:#}", visible(line));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_was_repaired_is_shown_and_steers_no_terminal() {
        let shown = diff("payload", "{\n\"a\": \u{1b}[1m\n\"b\": 2\n}", "{\n\"a\": 1,\n\"b\": 2\n}");
        let shown = anstream::adapter::strip_str(&shown).to_string();
        assert!(shown.contains("\n-\"a\": \u{fffd}[1m\n+\"a\": 1,\n \"b\": 2\n"), "{shown}");
    }
}
