//! The twin in the other dialect.

use super::{Faults, Rule, Scope, Subject};
use crate::lint::file::SqlFile;
use crate::lint::header::{Field, Header};
use crate::lint::twin::{Twin, is_none, own_name};

pub(super) const TWIN: Rule = Rule {
    name: "twin",
    demand: "In procedures/mssql and procedures/postgres the header names a Twin of the other dialect that is there, or \
             none and why. A public one's twin names it back and has the same fields, Outcomes and Granted to",
    reason: "The dialects keep one contract only where a change of one is a change of both.",
    scope: Scope::Object(None),
    look,
};

fn look(it: &Subject<'_>, faults: &mut Faults) {
    let (file, Some(header)) = (it.file, &it.file.header) else { return };
    let Some(named) = header.field("Twin") else {
        return faults.at(header.first.1, 1, "its header has no Twin; name the file, or `none: ` and why");
    };
    if is_none(&named.value) {
        if header.is_public() {
            faults.at(named.line, 1, "it is public and has no twin; every public procedure is in both dialects");
        } else if named.value.trim_start_matches("none").trim_matches([':', ' ']).is_empty() {
            faults.at(named.line, 1, "it does not say why there is no twin; write `none: ` and why");
        }
        return;
    }
    match it.twin {
        Twin::NotLookedFor => {}
        Twin::Missing => faults.at(named.line, 1, format!("there is no {}", named.value)),
        Twin::Unreadable(error) => faults.at(named.line, 1, format!("{} cannot be read: {error}", named.value)),
        Twin::Found(twin) if twin.dialect == file.dialect => {
            faults.at(named.line, 1, format!("{} is of the same dialect", named.value));
        }
        Twin::Found(twin) => compare(file, header, named, twin, faults),
    }
}

fn compare(file: &SqlFile, header: &Header, named: &Field, twin: &SqlFile, faults: &mut Faults) {
    let Some(other) = &twin.header else { return };
    let back = other.value("Twin").unwrap_or_default();
    if is_none(back) {
        faults.at(named.line, 1, format!("{} says that it has no twin", named.value));
    }
    if !header.is_public() {
        return;
    }
    if !is_none(back) && back != own_name(file) {
        faults.at(named.line, 1, format!("{} names another twin, {back}", named.value));
    }
    let names = |header: &Header| header.fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
    if names(header) != names(other) {
        faults.at(named.line, 1, format!("{} has other fields: {}", named.value, names(other).join(", ")));
    }
    let mut same = |field: &str, is_same: bool| {
        let line = header.field(field).map_or(named.line, |field| field.line);
        if !is_same {
            let theirs = other.value(field).unwrap_or_default();
            faults.at(line, 1, format!("{field} in {} is {theirs}; twins have the same", named.value));
        }
    };
    same("Outcomes", header.outcomes() == other.outcomes());
    same("Granted to", header.value("Granted to") == other.value("Granted to"));
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use crate::lint::rules::tests::{finds, passes};
    use crate::lint::{Options, lint};

    const MSSQL: &str = "/*
a.usp_X: x

Twin         postgres/x.sql
Outcomes     done | not_found (nothing)
Granted to   r
*/
CREATE OR ALTER PROCEDURE a.usp_X AS SELECT 1;
";

    fn postgres() -> String {
        let text = MSSQL.replace("postgres/x.sql", "mssql/usp_X.sql").replace("CREATE OR ALTER", "CREATE OR REPLACE");
        text.replace("usp_X: ", "x: ").replace("a.usp_X AS SELECT 1", "a.x() LANGUAGE sql AS $$ SELECT 1 $$")
    }

    /// What the rule says of the T-SQL file beside such a twin.
    fn found(mssql: &str, postgres: Option<&str>) -> Vec<String> {
        static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let next = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("chokaq-twin-{}-{next}", std::process::id()));
        let folder = |dialect: &str| root.join("procedures").join(dialect);
        for dialect in ["mssql", "postgres"] {
            fs::create_dir_all(folder(dialect)).unwrap();
        }
        let path: PathBuf = folder("mssql").join("usp_X.sql");
        fs::write(&path, mssql).unwrap();
        if let Some(text) = postgres {
            fs::write(folder("postgres").join("x.sql"), text).unwrap();
        }
        let report = lint(&[path], &Options::default());
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(report.unreadable, []);
        let of_rule = report.findings.into_iter().filter(|it| it.rule == "twin");
        of_rule.map(|it| format!("{}: {}", it.line, it.message)).collect()
    }

    #[test]
    fn twins_name_each_other_and_say_the_same() {
        assert_eq!(found(MSSQL, Some(&postgres())), [] as [&str; 0]);
        for (twin, fault) in [
            (None, "4: there is no postgres/x.sql"),
            (Some("SELECT 'open".to_owned()), "4: postgres/x.sql cannot be read: "),
            (
                Some(postgres().replace("usp_X.sql", "usp_Y.sql")),
                "4: postgres/x.sql names another twin, mssql/usp_Y.sql",
            ),
            (Some(postgres().replace("mssql/usp_X.sql", "none: x")), "4: postgres/x.sql says that it has no twin"),
            (Some(postgres().replace("Outcomes ", "Errors   ")), "4: postgres/x.sql has other fields"),
            (Some(postgres().replace("not_found", "changed")), "5: Outcomes in postgres/x.sql is done | changed"),
            (Some(postgres().replace("to   r", "to   s")), "6: Granted to in postgres/x.sql is s"),
        ] {
            let found = found(MSSQL, twin.as_deref());
            assert!(found.first().is_some_and(|it| it.starts_with(fault)), "{fault}: {found:#?}");
        }
        let same = found(&MSSQL.replace("postgres/x.sql", "mssql/usp_X.sql"), None);
        assert_eq!(same, ["4: mssql/usp_X.sql is of the same dialect"]);
    }

    #[test]
    fn only_what_is_internal_may_have_no_twin_and_says_why() {
        let none = MSSQL.replace("postgres/x.sql", "none: the other needs none");
        let internal = none.replace("Granted to   r\n", "");
        passes("mssql/usp_X.sql", &internal, "twin");
        finds("mssql/usp_X.sql", &none, "twin", "4:1: it is public and has no twin");
        finds("mssql/usp_X.sql", &internal.replace(": the other needs none", ":"), "twin", "4:1: it does not say why");
        finds("mssql/usp_X.sql", &internal.replace("Twin ", "Zwin "), "twin", "2:1: its header has no Twin");
    }
}
