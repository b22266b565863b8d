//! READPAST and what it needs.

use super::{Faults, Rule, Scope, Subject};
use crate::config::Dialect;
use crate::lint::tokens::parenthesized;

pub(super) const READ_PAST: Rule = Rule {
    name: "read-past",
    demand: "READPAST only together with ROWLOCK and with READCOMMITTEDLOCK or REPEATABLEREAD, in one list of hints",
    reason: "READPAST passes over locked rows, never over locked pages: left to itself, a scan may take pages, and wait. \
             Under READ_COMMITTED_SNAPSHOT it reads old versions unless the hint asks for locks.",
    scope: Scope::Statements(Some(Dialect::Mssql)),
    look,
};

fn look(it: &Subject<'_>, faults: &mut Faults) {
    let code = &it.file.code;
    for (at, tok) in code.iter().enumerate().filter(|(_, tok)| tok.is("READPAST")) {
        let start = code[..at].iter().rposition(|tok| tok.is("WITH")).unwrap_or(0);
        let hints = parenthesized(&code[start + 1..]).map_or(&code[start..], |(hints, _)| hints);
        let has = |word: &str| hints.iter().any(|tok| tok.is(word));
        if !has("ROWLOCK") {
            faults.at_token(tok, "READPAST without ROWLOCK; add it to the hints");
        }
        if !has("READCOMMITTEDLOCK") && !has("REPEATABLEREAD") {
            faults.at_token(tok, "READPAST without READCOMMITTEDLOCK or REPEATABLEREAD; add one to the hints");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::rules::tests::{finds, passes};

    #[test]
    fn a_read_past_locked_rows_asks_for_row_locks_of_committed_rows() {
        let good = "SELECT A FROM a.b AS b WITH (ROWLOCK, READPAST, INDEX(i), READCOMMITTEDLOCK);";
        passes("mssql/V1__x.sql", good, "read-past");
        passes("mssql/V1__x.sql", &good.replace("READCOMMITTEDLOCK", "REPEATABLEREAD"), "read-past");
        for missing in ["ROWLOCK, ", ", READCOMMITTEDLOCK"] {
            let text = good.replace(missing, "");
            let fault = format!("READPAST without {}", missing.trim_matches([',', ' ']));
            let column = text.find("READPAST").unwrap() + 1;
            finds("mssql/V1__x.sql", &text, "read-past", &format!("1:{column}: {fault}"));
            /* Another table's hints do not count. */
            finds("mssql/V1__x.sql", &format!("{text}\n{good}"), "read-past", &format!("1:{column}: {fault}"));
        }
    }
}
