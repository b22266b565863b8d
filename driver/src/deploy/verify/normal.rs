//! One form for what two servers, or two versions of one, render differently.

/// A default, a filter or a condition without brackets, parentheses and the spaces around operators, in small letters:
/// SQL Server has `([WorkerId] IS NULL AND [IsDue]=(1))` where Babelfish has `((workerid IS NULL) AND (isdue = 1))`.
/// Literals keep no capitals either, which the kit's have none of.
pub(super) fn expression(text: &str) -> String {
    let text: String = text.chars().filter(|c| !matches!(c, '[' | ']' | '(' | ')')).collect();
    let mut plain = text.to_ascii_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    for operator in ["<>", ">=", "<=", "=", "<", ">", "+", ","] {
        plain = plain.split(operator).map(str::trim).collect::<Vec<_>>().join(operator);
    }
    plain
}

/// The condition of a CHECK where both servers are known to render it alike. SQL Server writes IN as a chain of OR, and
/// sets parentheses of its own: such a constraint is known by its name and state alone.
pub(super) fn check(text: &str) -> Option<String> {
    let plain = expression(text);
    let is_plain = !plain.split_whitespace().any(|word| matches!(word, "or" | "in" | "not"));
    is_plain.then_some(plain)
}

/// The text of a view as PostgreSQL renders it, without line ends, parentheses and the names of tables before columns:
/// from version 16 on these are left out where there is one table. Schemas stay.
pub(super) fn view(text: &str) -> String {
    let spaced = text.replace(['(', ')', ';'], " ").replace(',', " , ");
    let words = spaced.split_whitespace().map(|word| match word.rsplit_once('.') {
        Some((qualifier, column)) if qualifier != "chokaq" => column,
        _ => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// What Babelfish makes of an index's name: the name and the table's run together, of that 31 bytes at most, and a hash.
/// The names that the migrations give are known; from another one the table is taken off again.
pub(super) fn babelfish_index(table: &str, stored: &str, known: &[String]) -> String {
    const HASH: usize = 32;
    const KEPT: usize = 31;
    let Some((kept, hash)) = stored.len().checked_sub(HASH).and_then(|at| stored.split_at_checked(at)) else {
        return stored.to_owned();
    };
    if !hash.chars().all(|c| c.is_ascii_hexdigit()) {
        return stored.to_owned();
    }
    let is_it = |name: &&String| format!("{name}{table}").chars().take(KEPT).collect::<String>() == kept;
    match known.iter().find(is_it) {
        Some(name) => name.clone(),
        None => kept.strip_suffix(table).unwrap_or(kept).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_servers_filters_defaults_and_conditions_are_one() {
        for (sql_server, babelfish) in [
            ("([WorkerId] IS NULL AND [IsDue]=(1))", "((workerid IS NULL) AND (isdue = 1))"),
            ("([WorkerId] IS NOT NULL)", "(workerid IS NOT NULL)"),
            ("((0))", "0"),
            ("((2.0))", "2.0"),
            ("(sysutcdatetime())", "sysutcdatetime()"),
            ("([MaxWorkers]>=(0))", "((maxworkers >= 0))"),
            (
                "([BackoffMultiplier]>=(1) AND [BackoffMultiplier]<=(1000))",
                "(((backoffmultiplier >= 1) AND (backoffmultiplier <= 1000)))",
            ),
        ] {
            assert_eq!(expression(sql_server), expression(babelfish));
            assert_ne!(expression(sql_server), "");
        }
        assert_ne!(expression("([IsDue]=(1))"), expression("([IsDue]=(0))"));
    }

    #[test]
    fn a_condition_that_servers_render_differently_is_not_compared() {
        assert_eq!(check("([Status]=(2) OR [Status]=(1))"), None);
        assert_eq!(check("((status IN (0, 1, 2)))"), None);
        assert_eq!(check("([MaxWorkers]>=(0))").unwrap(), "maxworkers>=0");
    }

    #[test]
    fn a_view_is_the_same_with_and_without_its_tables_names() {
        let fifteen = "SELECT t.queue,\n    t.n\n   FROM chokaq.queue_totals t;";
        let sixteen = "SELECT queue,\n    n\n   FROM chokaq.queue_totals t;";
        assert_eq!(view(fifteen), view(sixteen));
        assert_eq!(view(fifteen), "SELECT queue , n FROM chokaq.queue_totals t");
    }

    #[test]
    fn an_index_of_babelfish_has_its_own_name_again() {
        let known = ["ix_jobshot_queue_priority_dueatutc_arrival".to_owned(), "ix_jobshot_queue_id".to_owned()];
        let hash = "0123456789abcdef".repeat(2);
        for (kept, name) in [
            ("ix_jobshot_queue_priority_dueat", "ix_jobshot_queue_priority_dueatutc_arrival"),
            ("ix_jobshot_queue_idjobshot", "ix_jobshot_queue_id"),
            ("ix_by_handjobshot", "ix_by_hand"),
        ] {
            assert_eq!(babelfish_index("jobshot", &format!("{kept}{hash}"), &known), name);
        }
        assert_eq!(babelfish_index("jobshot", "ix_short", &known), "ix_short");
    }
}
