//! What a file is as a text.

use super::{Faults, Rule, Scope, Subject};

pub(super) const TEXT: Rule = Rule {
    name: "text",
    demand: "No byte order mark, no tab, no carriage return, no blank at the end of a line, one newline at the end",
    reason: "A migration's checksum covers every byte: what an editor adds unseen makes another migration of it.",
    scope: Scope::Statements(None),
    look,
};

fn look(it: &Subject<'_>, faults: &mut Faults) {
    let text = &it.file.text;
    if text.starts_with('\u{feff}') {
        faults.at(1, 1, "a byte order mark; save the file as UTF-8 without a signature");
    }
    for (line, number) in text.split('\n').zip(1..) {
        let characters = || line.chars().zip(1..);
        if let Some((_, column)) = characters().find(|(c, _)| *c == '\t') {
            faults.at(number, column, "a tab; indent with blanks");
        }
        if let Some((_, column)) = characters().find(|(c, _)| *c == '\r') {
            faults.at(number, column, "a carriage return; lines end with a newline alone");
        }
        let kept = line.trim_end_matches(' ');
        if kept.len() < line.len() {
            faults.at(number, kept.chars().count() as u64 + 1, "a blank at the end of the line");
        }
    }
    if !text.ends_with('\n') || text.ends_with("\n\n") {
        faults.at(text.lines().count().max(1) as u64, 1, "the file must end with one newline, no more and no less");
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::rules::tests::{finds, passes};

    #[test]
    fn what_is_not_seen_is_found() {
        passes("mssql/V1__x.sql", "SELECT 1;\n", "text");
        for (text, fault) in [
            ("\u{feff}SELECT 1;\n", "1:1: a byte order mark"),
            ("SELECT\t1;\n", "1:7: a tab"),
            ("SELECT 1;\r\n", "1:10: a carriage return"),
            ("ü \nSELECT 1;\n", "1:2: a blank at the end"),
            ("SELECT 1;", "1:1: the file must end with one newline"),
            ("SELECT 1;\n\n", "2:1: the file must end with one newline"),
        ] {
            finds("mssql/V1__x.sql", text, "text", fault);
        }
    }
}
