//! The contract's table of public procedures, read from `contract.txt`.

use std::sync::LazyLock;

pub use chokaq::lint::{Contract, Kind, Parameter, Procedure};

/// Every public procedure, in the order of the contract.
pub static PROCEDURES: LazyLock<Vec<Procedure>> = LazyLock::new(|| contract().procedures);

/// The list itself.
pub fn contract() -> Contract {
    include_str!("../contract.txt").parse().unwrap_or_else(|problem| panic!("contract.txt: {problem}"))
}

/// The procedure of that name; a test that misspells one has a mistake of its own.
pub fn procedure(name: &str) -> &'static Procedure {
    PROCEDURES.iter().find(|p| p.name == name).unwrap_or_else(|| panic!("{name} is not in contract.txt"))
}
