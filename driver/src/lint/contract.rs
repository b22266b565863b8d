//! The list of public procedures, as `tests/contract.txt` writes it: kind | name | parameters | columns | roles.

use std::str::FromStr;

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

impl Kind {
    /// The word that a header's `Transaction` begins with.
    pub fn word(self) -> &'static str {
        match self {
            Self::Joining => "joining",
            Self::Looping => "looping",
            Self::Reading => "reading",
        }
    }
}

/// One parameter; names are in the T-SQL spelling without `@`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// `JobId`.
    pub name: String,
    /// As it is written; without one it must be given.
    pub default: Option<String>,
}

/// One public procedure; the name is in the T-SQL spelling without `usp_`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Procedure {
    /// J, L or R.
    pub kind: Kind,
    /// `MoveToDLQ`.
    pub name: String,
    /// In order.
    pub parameters: Vec<Parameter>,
    /// Of the result, in order, in the T-SQL spelling.
    pub columns: Vec<String>,
    /// The roles that may execute it, without `chokaq_`.
    pub roles: Vec<String>,
}

/// What is promised to callers. Lines that are empty or begin with `#` say nothing; a line is
/// `J | ReleaseJob | JobId, WorkerId | Outcome, JobId | worker`, where the kind is J for one that joins the caller's
/// transaction, L for one that commits batch by batch and R for one that reads. `Name=default` is a parameter with a
/// default, `Name=required` one without that follows one with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract {
    /// In the order of the list.
    pub procedures: Vec<Procedure>,
}

impl FromStr for Contract {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let lines = text.lines().zip(1..).filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
        let procedures = lines
            .map(|(line, number)| procedure(line).map_err(|problem| format!("line {number}: {problem}")))
            .collect::<Result<_, _>>()?;
        Ok(Self { procedures })
    }
}

fn procedure(line: &str) -> Result<Procedure, String> {
    let fields: Vec<&str> = line.split('|').map(str::trim).collect();
    let [kind, name, parameters, columns, roles] = fields[..] else {
        return Err(format!("{} fields, not 5: kind | name | parameters | columns | roles", fields.len()));
    };
    let kind = match kind {
        "J" => Kind::Joining,
        "L" => Kind::Looping,
        "R" => Kind::Reading,
        other => return Err(format!("the kind {other:?} is not J, L or R")),
    };
    let owned = |text: &str| list(text).map(str::to_owned).collect();
    Ok(Procedure {
        kind,
        name: name.to_owned(),
        parameters: list(parameters).map(parameter).collect(),
        columns: owned(columns),
        roles: owned(roles),
    })
}

fn parameter(text: &str) -> Parameter {
    let (name, default) = match text.split_once('=') {
        Some((name, "required")) => (name, None),
        Some((name, default)) => (name, Some(default.to_owned())),
        None => (text, None),
    };
    Parameter { name: name.to_owned(), default }
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_procedure() {
        let contract: Contract =
            "# a comment\n\nL | PurgeDLQ | JobIds, PurgedBy=required, Size=10 | Count | admin\n".parse().unwrap();
        let [procedure] = &contract.procedures[..] else { panic!("{contract:?}") };
        assert_eq!((procedure.kind, &*procedure.name), (Kind::Looping, "PurgeDLQ"));
        let parameters: Vec<_> = procedure.parameters.iter().map(|it| (&*it.name, it.default.as_deref())).collect();
        assert_eq!(parameters, [("JobIds", None), ("PurgedBy", None), ("Size", Some("10"))]);
        assert_eq!(
            (&procedure.columns[..], &procedure.roles[..]),
            (&["Count".to_owned()][..], &["admin".to_owned()][..])
        );
    }

    #[test]
    fn a_list_that_is_none_says_where() {
        for (text, problem) in [("\nJ | A | B | C", "line 2: 4 fields"), ("X | A | | | r", "line 1: the kind \"X\"")] {
            let error = text.parse::<Contract>().unwrap_err();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
