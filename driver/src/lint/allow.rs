//! `chokaq-lint: allow RULE: REASON`, a comment of its own, switches a rule off for its file.

use super::rules::{Faults, RULES};
use super::tokens::Comment;

/// The name under which a switch that is not understood is reported.
pub(super) const RULE: &str = "allow";

const MARK: &str = "chokaq-lint:";
const FORM: &str = "write `chokaq-lint: allow RULE: REASON`";

/// The rules that are switched off, and what is wrong with the switches.
pub(super) fn read(comments: &[Comment]) -> (Vec<&'static str>, Faults) {
    let mut allowed = Vec::new();
    let mut faults = Faults::default();
    for comment in comments {
        let Some(switch) = comment.text.trim().strip_prefix(MARK) else { continue };
        match rule(switch.trim()) {
            Ok(rule) => allowed.push(rule),
            Err(problem) => faults.at(comment.line, comment.column, problem),
        }
    }
    (allowed, faults)
}

fn rule(switch: &str) -> Result<&'static str, String> {
    let rest = switch.strip_prefix("allow ").ok_or_else(|| format!("this switch is not known: {FORM}"))?;
    let (name, reason) = rest.split_once(':').unwrap_or((rest, ""));
    let known = RULES.iter().find(|rule| rule.name == name.trim());
    let rule = known.ok_or_else(|| format!("there is no rule {}; `chokaq lint --rules` lists them", name.trim()))?;
    match reason.trim() {
        "" => Err(format!("no reason is given: {FORM}")),
        _ => Ok(rule.name),
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::rules::tests::found;

    const BAD: &str = "DELETE FROM a.b OUTPUT deleted.*;\n";

    #[test]
    fn a_rule_is_switched_off_for_its_file_with_a_reason() {
        assert_eq!(found("mssql/V1__x.sql", BAD, "select-star").len(), 1);
        for switch in
            ["/* chokaq-lint: allow select-star: the table is ours */", "-- chokaq-lint: allow select-star: x"]
        {
            let text = format!("{BAD}{switch}\n");
            assert_eq!(found("mssql/V1__x.sql", &text, "select-star"), [] as [&str; 0], "{switch}");
            assert_eq!(found("mssql/V1__x.sql", &text, "allow"), [] as [&str; 0], "{switch}");
        }
        let other = format!("{BAD}/* chokaq-lint: allow merge: the table is ours */\n");
        assert_eq!(found("mssql/V1__x.sql", &other, "select-star").len(), 1);
    }

    #[test]
    fn a_switch_without_a_reason_switches_nothing_off() {
        for (switch, problem) in [
            ("allow select-star", "2:1: no reason"),
            ("allow select-star:  ", "2:1: no reason"),
            ("allow nothing: x", "2:1: there is no rule nothing"),
            ("forbid", "2:1: this switch is not known"),
        ] {
            let text = format!("{BAD}/* chokaq-lint: {switch} */\n");
            let faults = found("mssql/V1__x.sql", &text, "allow");
            assert!(faults.len() == 1 && faults[0].starts_with(problem), "{faults:?}");
            assert_eq!(found("mssql/V1__x.sql", &text, "select-star").len(), 1, "{switch}");
        }
    }
}
