//! `chokaq lint` as a pipeline runs it. Its rules have their tests beside them.

use std::fs;

use chokaq_tests::{Db, Engine, Result, Scenario, scenario};
use tempfile::TempDir;

use crate::program::{Run, command, finish, run};

pub const SCENARIOS: &[Scenario] = &[
    scenario!(a_broken_rule_is_an_answer_and_a_file_that_cannot_be_read_an_error).only(Engine::Postgres),
    scenario!(the_rules_are_listed_with_their_reasons).only(Engine::Postgres),
];

/// Runs the linter in a folder with these files in `mssql/`.
async fn lint(files: &[(&str, &str)], arguments: &[&str]) -> Result<Run> {
    let folder = TempDir::with_prefix("chokaq-lint-")?;
    fs::create_dir(folder.path().join("mssql"))?;
    for (name, text) in files {
        fs::write(folder.path().join("mssql").join(name), text)?;
    }
    let mut program = command(None, arguments)?;
    program.current_dir(folder.path());
    finish(program).await
}

async fn a_broken_rule_is_an_answer_and_a_file_that_cannot_be_read_an_error(_: &Db<'_>) -> Result<()> {
    let (good, bad) = (("V1__a.sql", "SELECT A FROM b.c;\n"), ("V2__b.sql", "SELECT * FROM b.c;\n"));
    let clean = lint(&[good], &["lint", "mssql"]).await?;
    assert_eq!((clean.code, clean.lines.len()), (Some(0), 0), "{}", clean.stderr);

    let found = lint(&[good, bad], &["lint", "mssql"]).await?;
    assert_eq!(found.code, Some(1), "{}", found.stderr);
    assert_eq!(found.lines, ["mssql/V2__b.sql:1:8: select-star: * stands for columns; name them"]);

    let json = lint(&[bad], &["--json", "lint", "mssql/V2__b.sql"]).await?;
    let rows = json.json()?;
    assert_eq!(
        (json.code, rows.len(), &rows[0]["Rule"], &rows[0]["Line"]),
        (Some(1), 1, &"select-star".into(), &1.into())
    );

    let broken = lint(&[("V3__c.sql", "SELECT N'open;\n"), bad], &["lint", "mssql", "mssql/none.sql"]).await?;
    assert_eq!((broken.code, broken.lines), (Some(2), found.lines), "{}", broken.stderr);
    for place in ["error: mssql/V3__c.sql:1:", "error: mssql/none.sql: "] {
        assert!(broken.stderr.contains(place), "{}", broken.stderr);
    }

    for arguments in [&["lint"][..], &["lint", "mssql", "--contract", "none.txt"], &["lint", "mssql", "--dialect", "x"]]
    {
        let refused = lint(&[good], arguments).await?;
        assert_eq!((refused.code, refused.lines.len()), (Some(2), 0), "{arguments:?}");
    }
    Ok(())
}

async fn the_rules_are_listed_with_their_reasons(_: &Db<'_>) -> Result<()> {
    let told = run(None, &["lint", "--rules"]).await?;
    let listed = run(None, &["lint", "--rules", "--json"]).await?;
    assert_eq!((told.code, listed.code), (Some(0), Some(0)), "{}{}", told.stderr, listed.stderr);
    for rule in listed.json()? {
        let name = rule["Rule"].as_str().unwrap_or_default();
        let head = format!("{name} ({})", rule["Concerns"].as_str().unwrap_or_default());
        assert!(told.lines.contains(&head), "{head}");
        assert!(["Demand", "Reason"].iter().all(|it| rule[it].as_str().is_some_and(|text| !text.is_empty())), "{rule}");
    }
    Ok(())
}
