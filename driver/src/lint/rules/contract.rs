//! What is promised to callers.

use sqlparser::tokenizer::Token;

use super::{Faults, Rule, Scope, Subject};
use crate::config::Dialect;
use crate::lint::file::SqlFile;
use crate::lint::header::Header;
use crate::lint::names;
use crate::lint::tokens::{Tok, parenthesized, spelled, split};
use crate::lint::{Contract, Parameter, Procedure};

pub(super) const CONTRACT: Rule = Rule {
    name: "contract",
    demand: "With --contract FILE: a public procedure is in that list, with its parameters, defaults, role and kind, in \
             PostgreSQL its columns too; what is in the list is public",
    reason: "Callers name parameters and read columns by name; one that is renamed in one dialect breaks half of them.",
    scope: Scope::Object(None),
    look,
};

fn look(it: &Subject<'_>, faults: &mut Faults) {
    let (Some(contract), Some(header), Some(module)) = (it.contract, &it.file.header, &it.file.module) else { return };
    let at = &it.file.code[module.from];
    match (promised(it.file, contract), header.is_public()) {
        (None, true) => faults.at_token(at, format!("{} is public and not in the contract", module.name)),
        (Some(_), false) => {
            faults.at_token(at, format!("{} is in the contract and its header has no Granted to", module.name));
        }
        (Some(procedure), true) => {
            said(header, procedure, faults);
            parameters(it.file, at, procedure, faults);
            columns(it.file, at, procedure, faults);
        }
        (None, false) => {}
    }
}

fn promised<'a>(file: &SqlFile, contract: &'a Contract) -> Option<&'a Procedure> {
    let name = &file.module.as_ref()?.name;
    contract.procedures.iter().find(|it| names::object(file.dialect, &it.name) == *name)
}

/// What the header says of itself.
fn said(header: &Header, procedure: &Procedure, faults: &mut Faults) {
    let kind = procedure.kind.word();
    if let Some(field) = header.field("Transaction").filter(|_| header.transaction() != kind) {
        faults.at(field.line, 1, format!("Transaction begins with {}; the contract says {kind}", header.transaction()));
    }
    let roles: Vec<String> = procedure.roles.iter().map(|role| format!("chokaq_{role}")).collect();
    if let Some(field) = header.field("Granted to").filter(|field| field.value != roles.join(", ")) {
        faults.at(field.line, 1, format!("granted to {}; the contract says {}", field.value, roles.join(", ")));
    }
}

/// A parameter as it is declared.
struct Declared<'a> {
    at: &'a Tok,
    name: String,
    default: Option<String>,
}

fn parameters(file: &SqlFile, at: &Tok, procedure: &Procedure, faults: &mut Faults) {
    let declared = declared(file);
    let mut promised = procedure.parameters.iter();
    let mut after_default = false;
    for declared in &declared {
        let Some(parameter) = promised.next() else {
            let message = format!("{} is not in the contract, or stands elsewhere there", declared.name);
            faults.at_token(declared.at, message);
            continue;
        };
        let name = names::parameter(file.dialect, &parameter.name);
        if name != declared.name {
            faults.at_token(declared.at, format!("{} stands where the contract has {name}", declared.name));
            return;
        }
        after_default |= parameter.default.is_some();
        let expected = default(file.dialect, parameter, after_default, declared.default.as_deref());
        if declared.default != expected {
            let shown =
                |default: Option<&str>| default.map_or("no default".to_owned(), |it| format!("the default {it}"));
            let (found, expected) = (shown(declared.default.as_deref()), shown(expected.as_deref()));
            faults.at_token(declared.at, format!("{name} has {found}; the contract says {expected}"));
        }
    }
    for parameter in promised {
        let name = names::parameter(file.dialect, &parameter.name);
        faults.at_token(at, format!("{name} is in the contract and not here"));
    }
}

/// What must be given and stands behind a default has the default NULL, which is refused by name. PostgreSQL spells a
/// flag's default in letters.
fn default(dialect: Dialect, parameter: &Parameter, after_default: bool, found: Option<&str>) -> Option<String> {
    match (dialect, parameter.default.as_deref(), found) {
        (_, None, _) if after_default => Some("NULL".to_owned()),
        (Dialect::Postgres, Some("0"), Some("false")) => Some("false".to_owned()),
        (Dialect::Postgres, Some("1"), Some("true")) => Some("true".to_owned()),
        (_, default, _) => default.map(str::to_owned),
    }
}

/// PostgreSQL's INOUT and OUT parameters are results and left out.
fn declared(file: &SqlFile) -> Vec<Declared<'_>> {
    let list = match file.dialect {
        Dialect::Mssql => file.tsql_parts().0,
        Dialect::Postgres => parenthesized(file.definition()).map_or(&[][..], |(list, _)| list),
    };
    let each = split(list, &Token::Comma).into_iter().filter(|one| !one[0].is_any(&["INOUT", "OUT"]));
    each.map(|one| {
        let default = one.iter().position(|tok| tok.token == Token::Eq || tok.is("DEFAULT"));
        let default = default.map(|i| spelled(&one[i + 1..]));
        Declared { at: &one[0], name: one[0].token.to_string(), default }
    })
    .collect()
}

fn columns(file: &SqlFile, at: &Tok, procedure: &Procedure, faults: &mut Faults) {
    if file.dialect != Dialect::Postgres {
        return;
    }
    let expected: Vec<String> = procedure.columns.iter().map(|column| names::snake_case(column)).collect();
    let found = returned(file.definition());
    if found != expected {
        let message = format!("it returns ({}); the contract says ({})", found.join(", "), expected.join(", "));
        faults.at_token(at, message);
    }
}

/// The names of what comes out of a PostgreSQL function or procedure.
fn returned(definition: &[Tok]) -> Vec<String> {
    let Some((list, rest)) = parenthesized(definition) else { return Vec::new() };
    let name = |tok: Option<&Tok>| tok.map(|tok| tok.token.to_string());
    let out = split(list, &Token::Comma).into_iter().filter(|one| one[0].is_any(&["INOUT", "OUT"]));
    let mut names: Vec<String> = out.filter_map(|one| name(one.get(1))).collect();
    if let [returns, table, rest @ ..] = rest
        && returns.is("RETURNS")
        && table.is("TABLE")
        && let Some((columns, _)) = parenthesized(rest)
    {
        names.extend(split(columns, &Token::Comma).into_iter().filter_map(|one| name(one.first())));
    }
    names
}

#[cfg(test)]
mod tests {
    use crate::lint::Options;
    use crate::lint::rules::tests::found_with;

    const LIST: &str = "J | GetIt | JobId, Size=10, IsOn=1, Actor=required | Outcome, JobId | worker";
    const HEADER: &str = "/*\na.x: x\n\nTransaction  joining; and more\nGranted to   chokaq_worker\n*/\n";
    const MSSQL: &str = "CREATE OR ALTER PROCEDURE a.usp_GetIt
@JobId NVARCHAR(50), @Size INT = 10,
@IsOn BIT = 1,
@Actor NVARCHAR(50) = NULL AS SELECT 1;";
    const POSTGRES: &str = "CREATE OR REPLACE FUNCTION a.get_it(
p_job_id text, p_size integer DEFAULT 10,
p_is_on boolean DEFAULT true,
p_actor numeric(1, 2) DEFAULT NULL)
RETURNS TABLE (outcome text, job_id text) AS $$ $$;";

    fn found(path: &str, text: &str) -> Vec<String> {
        let options = Options { contract: Some(LIST.parse().unwrap()), ..Options::default() };
        found_with(path, text, "contract", &options)
    }

    #[test]
    fn what_is_promised_is_declared() {
        for (path, code) in [("mssql/usp_GetIt.sql", MSSQL), ("postgres/get_it.sql", POSTGRES)] {
            assert_eq!(found(path, &format!("{HEADER}{code}")), [] as [&str; 0]);
        }
        let inout = POSTGRES.replace("NULL)", "NULL, INOUT outcome text DEFAULT NULL, INOUT job_id text DEFAULT NULL)");
        let inout = inout.replace("RETURNS TABLE (outcome text, job_id text)", "");
        assert_eq!(found("postgres/get_it.sql", &format!("{HEADER}{inout}")), [] as [&str; 0]);
        assert_eq!(
            found("mssql/usp_Y.sql", "/* a.usp_Y: internal */ CREATE OR ALTER PROCEDURE a.usp_Y AS SELECT 1;"),
            [] as [&str; 0]
        );
    }

    #[test]
    fn what_is_not_promised_is_found() {
        for (from, to, fault) in [
            ("usp_GetIt", "usp_GetThat", "7:1: usp_GetThat is public and not in the contract"),
            ("@JobId", "@Id", "8:1: @Id stands where the contract has @JobId"),
            ("INT = 10", "INT = 11", "8:22: @Size has the default 11; the contract says the default 10"),
            ("(50) = NULL", "(50)", "10:1: @Actor has no default; the contract says the default NULL"),
            (",\n@Actor NVARCHAR(50) = NULL", "", "7:1: @Actor is in the contract and not here"),
            (" AS SELECT", ", @More INT AS SELECT", "10:29: @More is not in the contract"),
            ("Granted to   chokaq_worker\n", "", "6:1: usp_GetIt is in the contract and its header has no"),
            ("chokaq_worker", "chokaq_admin", "5:1: granted to chokaq_admin; the contract says chokaq_worker"),
            ("joining", "reading", "4:1: Transaction begins with reading; the contract says joining"),
        ] {
            let found = found("mssql/usp_GetIt.sql", &format!("{HEADER}{MSSQL}").replace(from, to));
            assert!(found.len() == 1 && found[0].starts_with(fault), "{fault}: {found:#?}");
        }
        for (from, to, fault) in [
            ("true", "1", ""),
            ("true", "false", "9:1: p_is_on has the default false; the contract says the default 1"),
            ("outcome text, ", "", "7:1: it returns (job_id); the contract says (outcome, job_id)"),
        ] {
            let found = found("postgres/get_it.sql", &format!("{HEADER}{POSTGRES}").replace(from, to));
            assert!(found.iter().all(|it| it.starts_with(fault)) && found.is_empty() == fault.is_empty(), "{found:#?}");
        }
    }
}
