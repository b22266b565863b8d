//! What an array must be, said once more in Rust.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// What is in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Ids,
    Queues,
    Jobs,
    Succeeded,
}

/// What must become of an array.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// An answer; of ids these, each once, in this order. A job without an id is None.
    Taken(Vec<Option<String>>),
    /// A refusal.
    Refused,
    /// Either: the engines' own JSON differs there.
    Unclear,
}

/// The verdict on a text.
pub fn judge(kind: Kind, text: &str) -> Verdict {
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        /* What is JSON by its grammar, and not by this reader: half of a surrogate pair, a number without end. */
        Err(error) => {
            let said = error.to_string();
            let is_grammar =
                !["surrogate", "hex escape", "out of range", "recursion"].iter().any(|it| said.contains(it));
            return if is_grammar { Verdict::Refused } else { Verdict::Unclear };
        }
    };
    /* A name given twice, or in another spelling, is the last one to some and a mistake to others. */
    if text.contains("\\u0071") || names_repeat(text, &value) {
        return Verdict::Unclear;
    }
    let Value::Array(elements) = value else { return Verdict::Refused };
    match kind {
        Kind::Ids => texts(&elements, 50),
        Kind::Queues => texts(&elements, 255),
        Kind::Jobs => objects(&elements, job),
        Kind::Succeeded => objects(&elements, succeeded),
    }
}

fn names_repeat(text: &str, value: &Value) -> bool {
    let Value::Array(elements) = value else { return false };
    let read: usize = elements.iter().filter_map(Value::as_object).map(Map::len).sum();
    /* More colons than fields and texts have: a field was read over. */
    let in_texts: usize = elements.iter().map(|it| it.to_string().matches(':').count()).sum();
    read > 0 && text.matches(':').count() > in_texts
}

fn texts(elements: &[Value], limit: usize) -> Verdict {
    let mut seen = HashSet::new();
    let mut kept = Vec::new();
    for element in elements {
        match element {
            Value::String(text) if is_name(text, limit) => {
                if seen.insert(text) {
                    kept.push(Some(text.clone()));
                }
            }
            _ => return Verdict::Refused,
        }
    }
    storable(kept)
}

fn objects(elements: &[Value], element: fn(&Map<String, Value>) -> Option<bool>) -> Verdict {
    let mut is_clear = true;
    let mut ids = Vec::new();
    for value in elements {
        let Value::Object(fields) = value else { return Verdict::Refused };
        match element(fields) {
            Some(true) => {}
            Some(false) => return Verdict::Refused,
            None => is_clear = false,
        }
        ids.push(fields.get("jobId").and_then(Value::as_str).map(str::to_owned));
        if fields.values().any(|it| it.as_str().is_some_and(|text| text.contains('\0'))) {
            is_clear = false;
        }
    }
    if is_clear { storable(ids) } else { Verdict::Unclear }
}

/// U+0000 is a letter to SQL Server alone.
fn storable(ids: Vec<Option<String>>) -> Verdict {
    let holds_nul = ids.iter().flatten().any(|id| id.contains('\0'));
    if holds_nul { Verdict::Unclear } else { Verdict::Taken(ids) }
}

/// None where it depends on how a number or a time is written.
fn job(fields: &Map<String, Value>) -> Option<bool> {
    const TEXTS: [(&str, usize, bool); 5] = [
        ("queue", 255, true),
        ("type", 255, true),
        ("jobId", 50, false),
        ("idempotencyKey", 255, false),
        ("createdBy", 100, false),
    ];
    const OTHERS: [&str; 5] = ["payload", "tags", "scheduledAtUtc", "priority", "delaySeconds"];
    let known = |name: &String| TEXTS.iter().any(|it| it.0 == name) || OTHERS.contains(&name.as_str());
    if !fields.keys().all(known) {
        return Some(false);
    }
    for (name, limit, is_required) in TEXTS {
        let is_right = match fields.get(name) {
            None | Some(Value::Null) => !is_required,
            Some(value) => value.as_str().is_some_and(|text| is_name(text, limit)),
        };
        if !is_right {
            return Some(false);
        }
    }
    let is_text = |name: &str| fields.get(name).is_none_or(|value| value.is_string() || value.is_null());
    let tags = fields.get("tags").and_then(Value::as_str).unwrap_or_default();
    if !["payload", "tags", "scheduledAtUtc"].into_iter().all(is_text) || tags.encode_utf16().count() > 1000 {
        return Some(false);
    }
    let numbers = [integer(fields, "priority", i32::MIN.into()), integer(fields, "delaySeconds", 0)];
    if numbers.contains(&Some(false)) {
        return Some(false);
    }
    let has_time = fields.get("scheduledAtUtc").is_some_and(|value| !value.is_null());
    if has_time || numbers.contains(&None) { None } else { Some(true) }
}

fn succeeded(fields: &Map<String, Value>) -> Option<bool> {
    let known = ["jobId", "attempt", "durationMs", "resurrectCount"];
    let is_known = fields.keys().all(|name| known.contains(&name.as_str()));
    let id = fields.get("jobId").and_then(Value::as_str);
    let is_duration = fields.get("durationMs").is_none_or(|it| it.is_number() || it.is_null());
    let numbers = [integer(fields, "attempt", 1), integer(fields, "resurrectCount", 0)];
    if !is_known || !id.is_some_and(|id| is_name(id, 50)) || !is_duration || numbers.contains(&Some(false)) {
        return Some(false);
    }
    if numbers.contains(&None) { None } else { Some(true) }
}

/// A whole number written as one is settled; `1e2`, `1.0` and `-0` are not.
fn integer(fields: &Map<String, Value>, name: &str, least: i64) -> Option<bool> {
    match fields.get(name) {
        None | Some(Value::Null) => Some(true),
        Some(Value::Number(number)) if number.is_f64() => None,
        Some(Value::Number(number)) => Some(number.as_i64().is_some_and(|it| (least..=i32::MAX.into()).contains(&it))),
        Some(_) => Some(false),
    }
}

/// 1 to so many UTF-16 units, no white space at an end.
fn is_name(text: &str, limit: usize) -> bool {
    let ends = [text.chars().next(), text.chars().next_back()];
    text.encode_utf16().count() <= limit && ends.iter().all(|end| end.is_some_and(|it| !it.is_whitespace()))
}
