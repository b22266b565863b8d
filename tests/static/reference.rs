//! The reference, `procedures/README.md`, has a section for every procedure, with its call and its columns.

use chokaq_tests::contract::{PROCEDURES, Parameter, Procedure};

use crate::source::root;

#[test]
fn the_reference_has_every_procedure_with_its_call_and_its_columns() {
    let text = std::fs::read_to_string(root().join("procedures/README.md")).expect("the reference");
    for procedure in PROCEDURES.iter() {
        let section = section(&text, &procedure.name);
        let section = section.unwrap_or_else(|| panic!("there is no section {}", procedure.name));
        let call = call(procedure);
        assert!(section.contains(&call), "{} does not say {call}", procedure.name);
        let result = section.split_once("\nResult: ").map(|(_, rest)| rest.lines().next().unwrap_or_default());
        let result = result.unwrap_or_else(|| panic!("{} has no result", procedure.name));
        for column in &procedure.columns {
            assert!(result.contains(&format!("`{column}`")), "{} does not name the column {column}", procedure.name);
        }
    }
}

/// What stands between the headline `### name` and the next one.
fn section<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("\n### {name}\n"))?;
    Some(rest.split("\n##").next().unwrap_or(rest))
}

/// The call in T-SQL with every parameter; behind one that may be left out, each is given with its default.
fn call(procedure: &Procedure) -> String {
    let first_default = procedure.parameters.iter().position(|parameter| parameter.default.is_some());
    let said = |(place, parameter): (usize, &Parameter)| match &parameter.default {
        Some(default) => format!(" @{} = {default}", parameter.name),
        None if first_default.is_some_and(|first| first < place) => format!(" @{} = NULL", parameter.name),
        None => format!(" @{}", parameter.name),
    };
    let parameters: Vec<String> = procedure.parameters.iter().enumerate().map(said).collect();
    format!("`EXECUTE chokaq.usp_{}{}`", procedure.name, parameters.join(","))
}
