//! Names each difference between what is shipped and what is deployed.

use super::facts::{Facts, Properties};
use super::texts::{Text, Texts, first_difference};
use super::{Drift, DriftKind};

/// What differs, in the order of kinds and names.
pub(super) fn compare(shipped: &Facts, texts: &Texts, found: &Facts, found_texts: &Texts) -> Vec<Drift> {
    let mut drift = Vec::new();
    for ((kind, object), expected) in &shipped.0 {
        match found.0.get(&(kind.clone(), object.clone())) {
            None if belongs_to_something_missing(kind, object, shipped, found) => {}
            None => drift.push(missing(kind, object, expected)),
            Some(properties) => {
                drift.extend(property_drift(kind, object, expected, properties));
                drift.extend(text_drift(kind, object, texts, found_texts));
            }
        }
    }
    let extra = found.0.iter().filter(|(key, _)| !shipped.0.contains_key(key));
    drift.extend(extra.filter_map(|((kind, object), properties)| {
        if belongs_to_something_extra(kind, object, shipped, found) {
            return None;
        }
        Some(Drift {
            deployed: described(properties).or_else(|| text_of(found_texts, kind, object)),
            ..Drift::new(kind, object, DriftKind::Extra, extra_detail(kind, properties))
        })
    }));
    drift
}

fn missing(kind: &str, object: &str, expected: &Properties) -> Drift {
    let detail = match expected.get("rights") {
        Some(rights) => format!("{rights} is not granted"),
        None => "not there".to_owned(),
    };
    Drift { shipped: described(expected), ..Drift::new(kind, object, DriftKind::Missing, detail) }
}

fn extra_detail(kind: &str, properties: &Properties) -> String {
    match properties.get("rights") {
        Some(rights) => format!("{rights} is not granted by this version"),
        None => format!("this version has no such {kind}"),
    }
}

/// Only what both sides tell is compared.
fn property_drift(kind: &str, object: &str, expected: &Properties, found: &Properties) -> Option<Drift> {
    let differing: Vec<_> = expected
        .iter()
        .filter_map(|(name, value)| Some((name, value, found.get(name)?)))
        .filter(|(_, value, found)| value != found)
        .collect();
    if differing.is_empty() {
        return None;
    }
    let details: Vec<_> = differing
        .iter()
        .map(|(name, value, found)| format!("{} is {found}, not {value}", name.replace('_', " ")))
        .collect();
    let side = |values: Vec<String>| Some(values.join("\n") + "\n");
    let shipped = differing.iter().map(|(name, value, _)| format!("{name}: {value}")).collect();
    let deployed = differing.iter().map(|(name, _, found)| format!("{name}: {found}")).collect();
    Some(Drift {
        shipped: side(shipped),
        deployed: side(deployed),
        ..Drift::new(kind, object, DriftKind::Changed, details.join("; "))
    })
}

fn text_drift(kind: &str, object: &str, texts: &Texts, found: &Texts) -> Option<Drift> {
    let expected = texts.get(bare(object))?;
    match found.get(object)? {
        None => {
            let detail = "its text is encrypted, or the login may not see it (VIEW DEFINITION)";
            Some(Drift::new(kind, object, DriftKind::Unreadable, detail))
        }
        Some(found) => {
            let (shipped, deployed) = Text::pair(expected.as_ref()?, found);
            let detail = first_difference(&shipped, &deployed)?;
            let drift = Drift::new(kind, object, DriftKind::Changed, detail);
            Some(Drift { shipped: Some(shipped), deployed: Some(deployed), ..drift })
        }
    }
}

fn text_of(texts: &Texts, kind: &str, object: &str) -> Option<String> {
    let is_module = !matches!(kind, "grant" | "column" | "index" | "constraint");
    let text = texts.get(object).filter(|_| is_module)?.as_ref()?;
    Some(text.whole())
}

fn described(properties: &Properties) -> Option<String> {
    let lines: String = properties.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    Some(lines).filter(|lines| !lines.is_empty())
}

/// `enqueue(text, text)` by its name alone.
fn bare(object: &str) -> &str {
    object.split_once('(').map_or(object, |(name, _)| name)
}

/// A table that is gone takes its columns with it, a procedure its rights: one line says it.
fn belongs_to_something_missing(kind: &str, object: &str, shipped: &Facts, found: &Facts) -> bool {
    owners(kind, object).into_iter().any(|(kind, name)| shipped.contains(kind, &name) && !found.contains(kind, &name))
}

fn belongs_to_something_extra(kind: &str, object: &str, shipped: &Facts, found: &Facts) -> bool {
    owners(kind, object).into_iter().any(|(kind, name)| found.contains(kind, &name) && !shipped.contains(kind, &name))
}

/// What an object may belong to.
fn owners(kind: &str, object: &str) -> Vec<(&'static str, String)> {
    match kind {
        "column" | "constraint" | "index" | "trigger" | "rule" | "policy" => {
            object.split_once('.').map(|(table, _)| ("table", table.to_owned())).into_iter().collect()
        }
        "grant" => {
            let Some((granted, grantee)) = object.rsplit_once(" to ") else { return Vec::new() };
            let kinds = ["table", "view", "sequence", "procedure", "function"].map(|kind| (kind, granted.to_owned()));
            let table = granted.split_once('.').map(|(table, _)| ("table", table.to_owned()));
            kinds.into_iter().chain(table).chain([("role", grantee.to_owned())]).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drift(shipped: &str, found: &str) -> Vec<(DriftKind, String, String)> {
        let texts = Texts::new();
        let all = compare(&Facts::parse(shipped), &texts, &Facts::parse(found), &texts);
        all.into_iter().map(|it| (it.drift, format!("{} {}", it.kind, it.object), it.detail)).collect()
    }

    #[test]
    fn a_property_that_differs_is_named_with_both_values() {
        let shipped = "procedure\tusp_x\tansi_nulls: on\tquoted_identifier: on\n";
        assert!(drift(shipped, shipped).is_empty());
        let found = "procedure\tusp_x\tansi_nulls: on\tquoted_identifier: off\n";
        let said = "quoted identifier is off, not on".to_owned();
        assert_eq!(drift(shipped, found), [(DriftKind::Changed, "procedure usp_x".to_owned(), said)]);
    }

    #[test]
    fn a_property_that_one_side_does_not_tell_is_not_compared() {
        assert!(drift("table\ta\towner: x\n", "table\ta\tlock_escalation: table\n").is_empty());
    }

    #[test]
    fn what_belongs_to_something_missing_or_extra_is_not_named_again() {
        let table = "table\ta\ncolumn\ta.b\nindex\ta.ix\ngrant\ta to chokaq_reader\ngrant\ta.b to chokaq_reader\n";
        let rest = "role\tchokaq_reader\ntable\tz\n";
        let all = format!("{table}{rest}");
        assert_eq!(drift(&all, rest).len(), 1);
        assert_eq!(drift(rest, &all).len(), 1);
    }

    #[test]
    fn an_encrypted_text_is_told_and_never_taken_for_the_same() {
        let facts = Facts::parse("procedure\tusp_x\n");
        let text = Text::of_module("CREATE PROCEDURE chokaq.usp_X AS SELECT 1;").unwrap();
        let shipped = Texts::from([("usp_x".to_owned(), Some(text.clone()))]);
        let told = |found: Option<Text>| {
            let found = Texts::from([("usp_x".to_owned(), found)]);
            compare(&facts, &shipped, &facts, &found).iter().map(|it| it.drift).collect::<Vec<_>>()
        };
        assert_eq!(told(None), [DriftKind::Unreadable]);
        assert_eq!(told(Some(Text::of_body("something else"))), [DriftKind::Changed]);
        assert!(told(Some(text)).is_empty());
    }

    #[test]
    fn a_dropped_role_takes_its_rights_with_it() {
        let all = "role\tr\nprocedure\tp\ngrant\tp to r\trights: execute\n";
        assert_eq!(drift(all, "procedure\tp\n")[0].1, "role r");
        let revoked = drift(all, "role\tr\nprocedure\tp\n");
        let said = "execute is not granted".to_owned();
        assert_eq!(revoked, [(DriftKind::Missing, "grant p to r".to_owned(), said)]);
    }
}
