//! `chokaq lint`: the house's checks of SQL files. It connects to nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chokaq::Dialect;
use chokaq::lint::{Contract, Options, RULES, Report, lint};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::output::visible;
use super::{Answer, Failure, Output, note};

const EXAMPLES: &str = "\
A finding is file:line:column: rule: what is wrong and what is allowed.

A procedure file creates one object and is named after it; a migration is told by its name,
V0001__schema.sql. The dialect is told by the folder, mssql or postgres, else by CREATE OR ALTER
or CREATE OR REPLACE in the text.

A comment switches a rule off for its file, and says why:
  /* chokaq-lint: allow dynamic-sql: the table is a parameter */

Exit codes: 0 nothing found, 1 something found, 2 error. A file that cannot be read is an error;
the others are checked all the same.

Examples:
  chokaq lint --rules
  chokaq lint procedures/mssql/usp_Resurrect.sql
  chokaq lint --contract tests/contract.txt procedures migrations
  chokaq --json lint --dialect postgres deploy/*.sql";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Lint {
    /// Files, and folders for every .sql file below them
    #[arg(value_name = "FILE", required_unless_present = "rules")]
    files: Vec<PathBuf>,
    /// The dialect of every file
    #[arg(long, value_enum)]
    dialect: Option<Language>,
    /// The list of public procedures, a line each: kind | name | parameters | columns | role
    #[arg(long, value_name = "FILE")]
    contract: Option<PathBuf>,
    /// List the rules, what each demands and why
    #[arg(long, conflicts_with_all = ["files", "dialect", "contract"])]
    rules: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Language {
    Mssql,
    Postgres,
}

/// A rule as programs see it.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Shown {
    rule: &'static str,
    concerns: &'static str,
    demand: &'static str,
    reason: &'static str,
}

impl Lint {
    pub fn run(self, output: Output) -> Result<Answer, Failure> {
        if self.rules {
            show_rules(output)?;
            return Ok(Answer::Yes);
        }
        let dialect = self.dialect.map(|language| match language {
            Language::Mssql => Dialect::Mssql,
            Language::Postgres => Dialect::Postgres,
        });
        let contract = self.contract.as_deref().map(read_contract).transpose()?;
        answer(&lint(&self.files, &Options { dialect, contract }), output)
    }
}

fn read_contract(path: &Path) -> Result<Contract, Failure> {
    let text = fs::read_to_string(path).map_err(|error| Failure::new(format_args!("{}: {error}", path.display())))?;
    text.parse().map_err(|problem| Failure::new(format_args!("{}: {problem}", path.display())))
}

fn answer(report: &Report, output: Output) -> Result<Answer, Failure> {
    match output {
        Output::Json => output.rows(&report.findings, &[])?,
        Output::Terminal | Output::Plain => {
            report.findings.iter().try_for_each(|finding| output.line(&visible(&finding.to_string())))?;
        }
    }
    if let Some((last, others)) = report.unreadable.split_last() {
        others.iter().for_each(|error| Failure::new(error).report());
        return Err(Failure::new(last).hint("--dialect mssql|postgres tells what no folder and no text tells"));
    }
    note(format_args!("{} files, {} findings", report.files, report.findings.len()));
    Ok(Answer::when(report.findings.is_empty()))
}

fn show_rules(output: Output) -> io::Result<()> {
    if let Output::Json = output {
        let shown = RULES.iter().map(|rule| Shown {
            rule: rule.name,
            concerns: rule.concerns_what(),
            demand: rule.demand,
            reason: rule.reason,
        });
        return output.rows(&shown.collect::<Vec<_>>(), &[]);
    }
    let told = RULES
        .iter()
        .map(|rule| format!("{} ({})\n    {}.\n    {}\n", rule.name, rule.concerns_what(), rule.demand, rule.reason));
    Output::document(told.collect::<Vec<_>>().join("\n").as_bytes())
}
