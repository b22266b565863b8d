//! The mechanical mapping of names between the dialects: `usp_MoveToDLQ` is `move_to_dlq`, `@JobId` is `p_job_id`.

pub use chokaq::lint::snake_case;

/// `job_id` as T-SQL spells it; `dlq` is the one word written in capitals throughout.
pub fn pascal_case(snake: &str) -> String {
    snake
        .split('_')
        .map(|word| match word {
            "dlq" => "DLQ".to_owned(),
            _ => {
                let mut chars = word.chars();
                chars.next().map(|first| first.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
            }
        })
        .collect()
}

/// Arranging SQL is written once, in the T-SQL spelling of names with `@P1` for arguments; this is PostgreSQL's.
/// String literals stay as they are.
pub fn to_postgres(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len() + 16);
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let token_end = |belongs: fn(char) -> bool| {
            let tail = &rest[first.len_utf8()..];
            first.len_utf8() + tail.find(|c| !belongs(c)).unwrap_or(tail.len())
        };
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = match first {
            '\'' => rest[1..].find('\'').map_or(rest.len(), |i| i + 2),
            '@' => token_end(is_word),
            c if c.is_ascii_alphabetic() => token_end(is_word),
            c => c.len_utf8(),
        };
        let (token, tail) = rest.split_at(end);
        match token.strip_prefix("@P") {
            Some(number) => {
                out.push('$');
                out.push_str(number);
            }
            None if first.is_ascii_uppercase() && token.chars().any(|c| c.is_ascii_lowercase()) => {
                out.push_str(&snake_case(token));
            }
            None => out.push_str(token),
        }
        rest = tail;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_map_both_ways() {
        for (pascal, snake) in [
            ("MoveToDLQ", "move_to_dlq"),
            ("ListDLQ", "list_dlq"),
            ("GetDLQJob", "get_dlq_job"),
            ("JobsDLQ", "jobs_dlq"),
            ("ScheduledAtUtc", "scheduled_at_utc"),
            ("JobId", "job_id"),
        ] {
            assert_eq!(snake_case(pascal), snake);
            assert_eq!(pascal_case(snake), pascal);
        }
    }

    #[test]
    fn arranging_sql_is_translated_outside_literals_only() {
        assert_eq!(
            to_postgres("UPDATE chokaq.JobsHot SET HeartbeatUtc = @P1 WHERE Id = 'AbC é' AND Queue = @P12"),
            "UPDATE chokaq.jobs_hot SET heartbeat_utc = $1 WHERE id = 'AbC é' AND queue = $12"
        );
    }
}
