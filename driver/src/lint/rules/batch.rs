//! One batch for each file.

use super::{Faults, Rule, Scope, Subject};

pub(super) const BATCH: Rule = Rule {
    name: "one-batch",
    demand: "No line GO",
    reason: "GO is a word of sqlcmd and SSMS, not of the server, and they see it inside comments and strings too. A \
             migration is sent as one batch.",
    scope: Scope::Statements(None),
    look,
};

fn look(it: &Subject<'_>, faults: &mut Faults) {
    for (line, number) in it.file.text.lines().zip(1..) {
        let mut words = line.split_whitespace();
        let is_go = words.next().is_some_and(|word| word.trim_end_matches(';').eq_ignore_ascii_case("go"));
        // `GO 5` runs the batch five times.
        let is_alone =
            words.next().is_none_or(|word| word.bytes().all(|b| b.is_ascii_digit())) && words.next().is_none();
        if is_go && is_alone {
            let column = line.chars().take_while(|c| c.is_whitespace()).count() as u64 + 1;
            faults.at(number, column, "GO ends a batch; a file is one, so write a second file");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::rules::tests::{finds, passes};

    #[test]
    fn a_line_go_is_found_wherever_sqlcmd_sees_it() {
        passes("mssql/V1__x.sql", "SELECT 1 AS go;\n/* go on */\n", "one-batch");
        for text in ["SELECT 1;\n  go\n", "SELECT 1;\n  GO 5\n", "/*\n  Go\n*/\n", "SELECT 1;\n  GO;\n"] {
            finds("mssql/V1__x.sql", text, "one-batch", "2:3: GO ends a batch");
        }
    }
}
