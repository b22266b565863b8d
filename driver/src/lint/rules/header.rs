//! The header block.

use super::{Faults, Rule, Scope, Subject};
use crate::lint::header::Header;

pub(super) const HEADER: Rule = Rule {
    name: "header",
    demand: "The file begins with /* schema.object: purpose */ and fields in the order Twin, Result, Outcomes, Errors, \
             Transaction, Locks, Granted to, Example: at most 12 lines. What has Granted to is public and has Twin, \
             Result, Transaction and Example too",
    reason: "It is what a DBA reads, and SQL Server keeps it with the object.",
    scope: Scope::Object(None),
    look,
};

const FIELDS: [&str; 8] = ["Twin", "Result", "Outcomes", "Errors", "Transaction", "Locks", "Granted to", "Example"];
const OF_PUBLIC: [&str; 4] = ["Twin", "Result", "Transaction", "Example"];
const MOST_LINES: usize = 12;

fn look(it: &Subject<'_>, faults: &mut Faults) {
    let Some(header) = &it.file.header else {
        return faults.at(1, 1, "the file does not begin with its header, /* schema.object: purpose */");
    };
    let (first, line) = &header.first;
    if let Some(module) = &it.file.module {
        let name = format!("{}.{}: ", module.schema.as_deref().unwrap_or("schema"), module.name);
        if !first.starts_with(&name) {
            faults.at(*line, 1, format!("the header must begin with `{name}` and the purpose"));
        }
    }
    if header.lines > MOST_LINES {
        faults.at(*line, 1, format!("{} lines of header; {MOST_LINES} are allowed", header.lines));
    }
    fields(header, faults);
}

fn fields(header: &Header, faults: &mut Faults) {
    let mut last = 0;
    for field in &header.fields {
        match FIELDS.iter().position(|name| *name == field.name) {
            None => {
                let known = FIELDS.join(", ");
                faults.at(field.line, 1, format!("{} is no field of a header; these are: {known}", field.name));
            }
            Some(place) if place < last => {
                faults.at(field.line, 1, format!("{} must stand before {}", field.name, FIELDS[last]));
            }
            Some(place) => last = place,
        }
    }
    if let Some(granted) = header.field("Granted to") {
        for name in OF_PUBLIC.into_iter().filter(|name| header.field(name).is_none()) {
            faults.at(granted.line, 1, format!("it is public and its header has no {name}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::rules::tests::{finds, passes};

    const HEADER: &str = "/*
a.usp_X: do x

Twin         postgres/x.sql
Result       one row: A
             and what it means
Transaction  joining
Granted to   r
Example      EXECUTE a.usp_X;
*/
";
    const CODE: &str = "CREATE OR ALTER PROCEDURE a.usp_X AS SELECT 1;";

    #[test]
    fn a_header_has_its_fields_in_order() {
        passes("mssql/usp_X.sql", &format!("{HEADER}{CODE}"), "header");
        passes("mssql/usp_X.sql", &format!("/* a.usp_X: internal */{CODE}"), "header");
        for (header, fault) in [
            (String::new(), "1:1: the file does not begin with its header"),
            (format!("\n{HEADER}"), "1:1: the file does not begin with its header"),
            (HEADER.replace("a.usp_X: ", "a.usp_Y: "), "2:1: the header must begin with `a.usp_X: `"),
            (HEADER.replace("Result  ", "Results "), "5:1: Results is no field"),
            (HEADER.replace("Twin         postgres/x.sql\n", ""), "7:1: it is public and its header has no Twin"),
            (HEADER.replace("Twin         p", "Example      p"), "5:1: Result must stand before Example"),
            (HEADER.replace("\n\n", &"\n".repeat(7)), "2:1: 13 lines of header; 12"),
        ] {
            let found = crate::lint::rules::tests::found("mssql/usp_X.sql", &format!("{header}{CODE}"), "header");
            assert!(found.iter().any(|it| it.starts_with(fault)), "{fault}: {found:#?}");
        }
        finds("mssql/usp_X.sql", CODE, "header", "1:1: the file does not begin");
    }
}
