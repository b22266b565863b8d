//! One object for each file, which has its name.

use super::{Faults, Rule, Scope, Subject};
use crate::config::Dialect;
use crate::lint::file::{Module, modules};

pub(super) const ONE_OBJECT: Rule = Rule {
    name: "one-object",
    demand: "One CREATE OR ALTER (T-SQL) or CREATE OR REPLACE (PostgreSQL) of a procedure, function, view or trigger; \
             behind it in PostgreSQL only COMMENT ON and REVOKE",
    reason: "Deploying it again must do no harm, keep its grants, and touch nothing else.",
    scope: Scope::Object(None),
    look: one_object,
};

pub(super) const OBJECT_NAME: Rule = Rule {
    name: "object-name",
    demand: "A two-part name whose second part is the file's, and no sp_ in front",
    reason: "One looks for an object by its file. A one-part name depends on the login's default schema; sp_ is looked \
             for in master first.",
    scope: Scope::Object(None),
    look: object_name,
};

fn one_object(it: &Subject<'_>, faults: &mut Faults) {
    let file = it.file;
    let repeatable = match file.dialect {
        Dialect::Mssql => "CREATE OR ALTER",
        Dialect::Postgres => "CREATE OR REPLACE",
    };
    let outside = || file.code.iter().position(|tok| !tok.in_body);
    match &file.module {
        None => return faults.at(1, 1, format!("no object is created here; a file holds one {repeatable}")),
        Some(module) if !module.is_repeatable => {
            faults.at_token(&file.code[module.from], format!("a second run would fail; write {repeatable}"));
        }
        Some(module) if outside() != Some(module.from) => {
            faults.at_token(&file.code[0], format!("{repeatable} must come first in the file"));
        }
        Some(_) => {}
    }
    for other in modules(&file.code).skip(1) {
        let message = format!("a second object, {}; a file holds one", other.name);
        faults.at_token(&file.code[other.from], message);
    }
    if file.dialect == Dialect::Postgres {
        for statement in file.statements().iter().skip(1) {
            let Some(first) = statement.first() else { continue };
            if !first.is_any(&["COMMENT", "REVOKE", "CREATE", "ALTER"]) {
                let message = format!("{} behind the object; only COMMENT ON and REVOKE may follow it", first.token);
                faults.at_token(first, message);
            }
        }
    }
}

fn object_name(it: &Subject<'_>, faults: &mut Faults) {
    let Some(Module { from, schema, name, .. }) = &it.file.module else { return };
    let at = &it.file.code[*from];
    if schema.is_none() {
        faults.at_token(at, format!("{name} is a one-part name; write schema.{name}"));
    }
    if *name != it.file.name {
        faults.at_token(at, format!("the object is {name} and the file {}; name both alike", it.file.name));
    }
    if it.file.dialect == Dialect::Mssql && name.to_lowercase().starts_with("sp_") {
        faults.at_token(at, format!("{name} would be looked for in master first; begin it with usp_"));
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::rules::tests::{finds, passes};

    const TSQL: &str = "CREATE OR ALTER PROCEDURE a.usp_X AS CREATE TABLE #T (A INT);";
    const PG: &str = "CREATE OR REPLACE FUNCTION a.x() RETURNS int LANGUAGE sql AS $$ SELECT 1; SELECT 2; $$;
COMMENT ON FUNCTION a.x() IS 'x'; REVOKE ALL ON FUNCTION a.x() FROM PUBLIC;";

    #[test]
    fn a_file_creates_one_object_and_may_be_run_again() {
        passes("mssql/usp_X.sql", TSQL, "one-object");
        passes("postgres/x.sql", PG, "one-object");
        for (path, text, fault) in [
            ("mssql/usp_X.sql", "SELECT 1;".to_owned(), "1:1: no object is created"),
            ("mssql/usp_X.sql", TSQL.replace("OR ALTER ", ""), "1:1: a second run would fail"),
            ("mssql/usp_X.sql", TSQL.replace("CREATE OR ALTER", "ALTER"), "1:1: a second run would fail"),
            ("mssql/usp_X.sql", format!("SET NOCOUNT ON;\n{TSQL}"), "1:1: CREATE OR ALTER must come first"),
            ("mssql/usp_X.sql", format!("{TSQL}\n{}", TSQL.replace("usp_X", "usp_Y")), "2:1: a second object, usp_Y"),
            (
                "postgres/x.sql",
                format!("{PG}\n{}", PG.lines().next().unwrap().replace("a.x", "a.y")),
                "3:1: a second object, y",
            ),
            ("postgres/x.sql", format!("{PG}\nGRANT EXECUTE ON FUNCTION a.x() TO b;"), "3:1: GRANT behind the object"),
        ] {
            finds(path, &text, "one-object", fault);
        }
        passes("mssql/V0001__schema.sql", "CREATE TABLE a.T (A INT);", "one-object");
    }

    #[test]
    fn the_files_name_is_the_objects() {
        passes("mssql/usp_X.sql", TSQL, "object-name");
        for (path, text, fault) in [
            ("mssql/usp_Y.sql", TSQL.to_owned(), "1:1: the object is usp_X and the file usp_Y"),
            ("mssql/usp_X.sql", TSQL.replace("a.usp_X", "usp_X"), "1:1: usp_X is a one-part name"),
            ("mssql/sp_X.sql", TSQL.replace("usp_X", "sp_X"), "1:1: sp_X would be looked for in master"),
        ] {
            finds(path, &text, "object-name", fault);
        }
    }
}
