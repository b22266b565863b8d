//! `docs/guarantees.md` and `SECURITY.md` name tests: each of them exists.

use std::fs;
use std::path::Path;

use crate::source::root;

#[test]
fn every_test_that_a_guarantee_names_is_a_scenario() {
    let folders = ["tests/conformance", "tests/model", "tests/fuzz", "driver/src"];
    let scenarios: String = folders.iter().map(|folder| texts(&root().join(folder))).collect();
    let names = named_in("docs/guarantees.md");
    assert!(names.len() > 40, "{names:?}");
    for name in names {
        // One that is not listed is never used, which is an error of its own.
        let is_there = [format!("\nasync fn {name}(db: &Db"), format!("\n#[test]\nfn {name}()")];
        assert!(is_there.iter().any(|it| scenarios.contains(it)), "no scenario is named {name}");
    }
}

#[test]
fn every_file_that_a_promise_of_security_names_is_there() {
    let names = named_in("SECURITY.md");
    let files: Vec<_> = names.iter().filter(|name| name.starts_with("tests/") || name.starts_with("driver/")).collect();
    assert!(files.len() > 5, "{names:?}");
    for file in files {
        assert!(root().join(file).exists(), "there is no {file}");
    }
}

/// What stands in backquotes in the second column of a table.
fn named_in(page: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(page)).expect("the page");
    let shown = text.lines().filter_map(|line| line.strip_prefix("| ")?.rsplit_once(" | ").map(|(_, shown)| shown));
    shown.flat_map(|shown| shown.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

/// All Rust files of a folder and of those in it.
fn texts(folder: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all += &texts(&path);
        } else if path.extension().is_some_and(|it| it == "rs") {
            all += &fs::read_to_string(&path).expect("a readable file");
        }
    }
    all
}
