use std::fs;

use proptest::prelude::*;

use super::*;

const TSQL: &str = "/*
a.usp_X: do x

Twin         none: alone
Transaction  the caller's
*/
CREATE OR ALTER PROCEDURE a.usp_X
    @A INT = 1
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;

    SELECT @A AS A;
END;
";

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("chokaq-lint-{name}-{}", std::process::id()));
    fs::create_dir_all(folder.join("mssql/deep")).unwrap();
    folder
}

#[test]
fn a_clean_file_has_no_finding_and_a_finding_says_where() {
    let path = Path::new("mssql/usp_X.sql");
    assert_eq!(lint_text(path, TSQL, &Options::default()).unwrap(), []);
    let findings = lint_text(path, &TSQL.replace("@A AS A", "*"), &Options::default()).unwrap();
    let said: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["mssql/usp_X.sql:13:12: select-star: * stands for columns; name them"]);
}

#[test]
fn a_migration_is_held_to_the_rules_of_its_statements_alone() {
    let path = Path::new("mssql/V0009__usp_X.sql");
    let findings = lint_text(path, "CREATE PROCEDURE usp_Y AS SELECT 1 FROM a WITH (NOLOCK);\n", &Options::default());
    assert_eq!(findings.unwrap().iter().map(|it| it.rule).collect::<Vec<_>>(), ["nolock"]);
}

#[test]
fn a_folder_is_every_sql_file_below_it_in_the_order_of_names() {
    let root = folder("walk");
    for (name, text) in [("mssql/usp_Y.sql", "SELECT 1;\n"), ("mssql/deep/usp_X.SQL", TSQL), ("mssql/notes.txt", "")] {
        fs::write(root.join(name), text).unwrap();
    }
    let report = lint(std::slice::from_ref(&root), &Options::default());
    let empty = lint(&[root.join("mssql/deep/none")], &Options::default());
    fs::remove_file(root.join("mssql/deep/usp_X.SQL")).unwrap();
    let nothing = lint(&[root.join("mssql/deep")], &Options::default());
    fs::remove_dir_all(&root).unwrap();
    assert_eq!(report.files, 2);
    assert!(report.findings.iter().all(|it| it.file.ends_with("usp_Y.sql")) && !report.findings.is_empty());
    assert!(empty.unreadable[0].to_string().contains("none: "), "{:?}", empty.unreadable);
    assert!(nothing.unreadable[0].to_string().ends_with("no .sql file is below this folder"));
}

#[test]
fn what_cannot_be_read_is_named_with_its_place_and_the_rest_is_checked() {
    let root = folder("broken");
    let body = "CREATE OR REPLACE FUNCTION a.x() AS $$\nSELECT 'open; $$;\n".as_bytes();
    for (name, bytes) in [
        ("a.sql", &b"SELECT 1;\nSELECT N'open;\n"[..]),
        ("b.sql", &b"SELECT '\xc3\xbc', '\xff';\n"[..]),
        ("c.sql", &b"GO\n"[..]),
        ("d.sql", &b"/* open\n"[..]),
    ] {
        fs::write(root.join("mssql").join(name), bytes).unwrap();
    }
    fs::create_dir_all(root.join("postgres")).unwrap();
    fs::write(root.join("postgres/e.sql"), body).unwrap();
    let report = lint(std::slice::from_ref(&root), &Options::default());
    fs::remove_dir_all(&root).unwrap();
    assert_eq!(report.files, 5);
    assert!(report.findings.iter().any(|it| it.file.ends_with("c.sql") && it.rule == "one-batch"));
    let said: Vec<String> = report.unreadable.iter().map(ToString::to_string).collect();
    let expected = ["a.sql:2:9: Unterminated", "b.sql:1:14: is not UTF-8", "d.sql:", "e.sql:2:8: Unterminated"];
    assert!(said.len() == 4 && said.iter().zip(expected).all(|(it, part)| it.contains(part)), "{said:#?}");
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>(), name in "(V1__)?[a-z]{0,3}") {
        for dialect in [Dialect::Mssql, Dialect::Postgres] {
            let options = Options { dialect: Some(dialect), ..Options::default() };
            let _ = lint_text(Path::new(&format!("{name}.sql")), &text, &options);
        }
    }

    #[test]
    fn no_order_of_words_panics(words in prop::collection::vec(prop::sample::select(WORDS), 0..40), head in any::<bool>()) {
        let head = if head { "/*\na.x: x\n\nTwin         b\nTransaction  joining\nGranted to   r\n*/\nCREATE OR ALTER PROCEDURE a.x " } else { "" };
        let contract: Contract = "J | x | A, B=1 | C | r".parse().unwrap();
        let text = format!("{head}{}", words.join(" "));
        for (dialect, text) in [(Dialect::Mssql, text.clone()), (Dialect::Postgres, text.replace("ALTER", "REPLACE"))] {
            let options = Options { dialect: Some(dialect), contract: Some(contract.clone()) };
            let _ = lint_text(Path::new("x.sql"), &text, &options);
        }
    }
}

/// What the rules look at, to be put in any order.
const WORDS: &[&str] = &[
    "CREATE",
    "OR",
    "ALTER",
    "PROCEDURE",
    "FUNCTION",
    "a",
    ".",
    "x",
    "(",
    ")",
    ",",
    ";",
    "AS",
    "@A",
    "=",
    "1",
    "*",
    "SELECT",
    "TOP",
    "INTO",
    "INSERT",
    "OUTPUT",
    "DELETE",
    "BEGIN",
    "END",
    "CASE",
    "ELSE",
    "IF",
    "WHILE",
    "SET",
    "ON",
    "OFF",
    "NOCOUNT",
    "WITH",
    "READPAST",
    "EXECUTE",
    "COMMIT",
    "TRANSACTION",
    "REVOKE",
    "SECURITY",
    "DEFINER",
    "search_path",
    "RETURNS",
    "TABLE",
    "INOUT",
    "DEFAULT",
    "$$",
    "'s'",
    "/* chokaq-lint: allow */",
    "\n",
    "MERGE",
    "RETURN",
    "usp_x",
];
