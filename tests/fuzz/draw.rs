//! Texts that are, or nearly are, the JSON of an array.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::rule::Kind;

/// Values that somebody, or some program, puts where a text or a number belongs.
#[rustfmt::skip]
const VALUES: &[&str] = &[
    "\"a\"", "\"A\"", "\"á\"", "\"a \"", "\" a\"", "\"\"", "\" \"", "\"\\u0061\"", "\"\\ud83d\\ude42\"", "\"\\ud83d\"",
    "\"\\ude42\\ud83d\"", "\"\\u0000\"", "\"a\\u0000b\"", "\"\\\\u0000\"", "\"\\n\"", "\"a\\tb\"", "\"a\tb\"", "\"\\/\"",
    "\"\\x\"", "\"\\u00g0\"", "\"\u{a0}a\"", "\"a\u{3000}\"", "\"\u{feff}\"", "\"\u{200b}\"", "\"🙂\"", "\"e\u{301}\"", "\"é\"",
    "\"%s\"", "\"'; DROP TABLE x; --\"", "\"\u{ff07}\"", "\"\u{7f}\"", "\"\u{1}\"", "\"\u{ffff}\"", "\"\u{10ffff}\"",
    "null", "true", "{}", "[]", "[[]]", "{\"a\": 1}", "0", "-0", "1", "1.0", "1e0", "1E+2", "01", "+1", ".5", "1.", "0x1", "NaN",
    "Infinity", "-1", "2147483647", "2147483648", "-2147483649", "9223372036854775808", "1e308", "1e309", "1e400", "1e-400",
    "1e100000", "0.1e1", "12.5", "-12.5", "\"2026-01-31T08:00:00Z\"", "\"2026-01-31T08:00:00.1234567Z\"",
    "\"2026-02-30T08:00:00Z\"", "\"2026-01-31T24:00:00Z\"", "\"2026-01-31T23:59:60Z\"", "\"0000-01-01T00:00:00Z\"",
    "\"9999-12-31T23:59:59.9999999Z\"", "\"10000-01-01T00:00:00Z\"", "\"2026-01-31 08:00:00\"", "\"2026-01-31T08:00:00+01:00\"",
];

#[rustfmt::skip]
const FIELDS: &[&str] = &[
    "queue", "type", "payload", "jobId", "tags", "priority", "delaySeconds", "scheduledAtUtc", "idempotencyKey", "createdBy",
    "attempt", "durationMs", "resurrectCount", "Queue", "queue ", " queue", "", "nothing", "%d", "\\u0071ueue", "jobid", "a\\nb",
];

#[rustfmt::skip]
const SCRAPS: &[&str] = &[
    "[", "]", "{", "}", "\"", ",", ":", "\\", "\\u", " ", "\n", "\u{a0}", "\u{feff}", "null", "1e9", "'", "/*x*/", "//", "]]",
    "[[[[[[[[[[", "🙂", "\u{1}", "-", "0", ".", "\"\"", ",,", "queue",
];

fn string() -> impl Strategy<Value = String> {
    let lengths = select(&[1_usize, 25, 26, 50, 51, 100, 127, 128, 255, 256, 500, 501, 1000, 1001, 5000][..]);
    prop_oneof![
        3 => any::<String>().prop_map(|text| serde_json::json!(text).to_string()),
        3 => (1..20_u32).prop_map(|n| format!("\"j{n}\"")),
        1 => (lengths, select(&["x", "ä", "🙂"][..])).prop_map(|(length, letter)| format!("\"{}\"", letter.repeat(length))),
    ]
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![2 => select(VALUES).prop_map(str::to_owned), 1 => string()]
}

/// What is right in that field more often than not.
fn member() -> impl Strategy<Value = String> {
    prop_oneof![
        (select(FIELDS), value()).prop_map(|(field, value)| format!("\"{field}\": {value}")),
        (select(&["payload", "tags", "idempotencyKey", "createdBy", "jobId"][..]), string())
            .prop_map(|(field, value)| format!("\"{field}\": {value}")),
        string().prop_map(|name| format!("{name}: 1")),
        (select(&["priority", "delaySeconds", "attempt", "durationMs", "resurrectCount"][..]), 0..100_i32)
            .prop_map(|(field, value)| format!("\"{field}\": {value}")),
    ]
}

fn element(kind: Kind) -> BoxedStrategy<String> {
    let required = match kind {
        Kind::Ids | Kind::Queues => return prop_oneof![4 => string(), 1 => value()].boxed(),
        Kind::Jobs => "\"queue\": \"q\", \"type\": \"t\"",
        Kind::Succeeded => "\"jobId\": \"j1\"",
    };
    let object = (vec(member(), 0..3), 0..8_u8).prop_map(move |(mut members, chance)| {
        if chance > 0 {
            members.insert(0, required.to_owned());
        }
        format!("{{{}}}", members.join(", "))
    });
    prop_oneof![12 => object, 1 => value()].boxed()
}

/// An array, whole or with something cut out or put in.
pub fn text(kind: Kind) -> impl Strategy<Value = String> {
    let space = select(&["", "", "", " ", "\n\t", "\r\n"][..]);
    let array = (vec(element(kind), 0..6), space)
        .prop_map(|(elements, space)| format!("{space}[{space}{}]{space}", elements.join(&format!(",{space}"))));
    let change = (any::<Index>(), 0..4_usize, select(SCRAPS));
    (array, prop_oneof![3 => Just(vec![]), 1 => vec(change, 1..3)]).prop_map(|(mut text, changes)| {
        for (from, length, scrap) in changes {
            let chars: Vec<char> = text.chars().collect();
            let from = from.index(chars.len() + 1);
            let rest = chars.iter().skip(from + length);
            text = chars.iter().take(from).chain(&scrap.chars().collect::<Vec<_>>()).chain(rest).collect();
        }
        text
    })
}
