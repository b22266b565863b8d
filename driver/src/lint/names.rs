//! The mechanical mapping of names between the dialects: `usp_MoveToDLQ` is `move_to_dlq`, `@JobId` is `p_job_id`.

use crate::config::Dialect;

/// `MoveToDLQ` as PostgreSQL spells it: split at case, a run of capitals is one word.
pub fn snake_case(pascal: &str) -> String {
    let chars: Vec<char> = pascal.chars().collect();
    let mut snake = String::with_capacity(pascal.len() + 4);
    for (i, c) in chars.iter().enumerate() {
        let starts_word = c.is_ascii_uppercase()
            && i > 0
            && (chars[i - 1].is_ascii_lowercase()
                || chars[i - 1].is_ascii_uppercase() && chars.get(i + 1).is_some_and(char::is_ascii_lowercase));
        if starts_word {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// What a procedure of the contract is called in a dialect, without its schema.
pub(super) fn object(dialect: Dialect, procedure: &str) -> String {
    match dialect {
        Dialect::Mssql => format!("usp_{procedure}"),
        Dialect::Postgres => snake_case(procedure),
    }
}

/// A parameter of the contract as it is spelled in a dialect.
pub(super) fn parameter(dialect: Dialect, parameter: &str) -> String {
    match dialect {
        Dialect::Mssql => format!("@{parameter}"),
        Dialect::Postgres => format!("p_{}", snake_case(parameter)),
    }
}
