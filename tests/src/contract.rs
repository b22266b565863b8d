//! The contract's table of public procedures, read from `contract.txt`.

use std::sync::LazyLock;

/// How a procedure treats a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Joins the caller's transaction.
    Joining,
    /// Commits batch by batch, refuses to run inside a transaction.
    Looping,
    /// Changes nothing.
    Reading,
}

/// One parameter; names are in the T-SQL spelling without `@`.
#[derive(Debug)]
pub struct Parameter {
    pub name: String,
    pub default: Option<String>,
}

/// One public procedure; the name is in the T-SQL spelling without `usp_`.
#[derive(Debug)]
pub struct Procedure {
    pub kind: Kind,
    pub name: String,
    pub parameters: Vec<Parameter>,
    pub columns: Vec<String>,
    /// The roles that may execute it, without `chokaq_`.
    pub roles: Vec<String>,
}

/// Every public procedure, in the order of the contract.
pub static PROCEDURES: LazyLock<Vec<Procedure>> =
    LazyLock::new(|| include_str!("../contract.txt").lines().filter_map(parse_line).collect());

/// The procedure of that name; a test that misspells one has a mistake of its own.
pub fn procedure(name: &str) -> &'static Procedure {
    PROCEDURES.iter().find(|p| p.name == name).unwrap_or_else(|| panic!("{name} is not in contract.txt"))
}

fn parse_line(line: &str) -> Option<Procedure> {
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let mut fields = line.split('|').map(str::trim);
    let mut next = || fields.next().unwrap_or_else(|| panic!("contract.txt: {line}"));
    let kind = match next() {
        "J" => Kind::Joining,
        "L" => Kind::Looping,
        "R" => Kind::Reading,
        other => panic!("contract.txt: unknown kind {other}"),
    };
    let name = next().to_owned();
    let parameters = list(next())
        .map(|text| match text.split_once('=') {
            Some((name, "required")) => (name, None),
            Some((name, default)) => (name, Some(default.to_owned())),
            None => (text, None),
        })
        .map(|(name, default)| Parameter { name: name.to_owned(), default })
        .collect();
    let columns = list(next()).map(str::to_owned).collect();
    let roles = list(next()).map(str::to_owned).collect();
    Some(Procedure { kind, name, parameters, columns, roles })
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}
