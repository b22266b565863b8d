//! What the program says, line by line, compared with a snapshot in `tests/cli/`: both engines must say the same.
//!
//! `$` begins a command line, `<` what it is fed, `!` a line on standard error, `?` the exit code; `→` is a tab.

use std::io::Write;
use std::process::Stdio;

use anyhow::Context;
use chokaq_tests::names::snake_case;
use chokaq_tests::{Db, Result};
use tempfile::TempDir;

use crate::program::{Run, command, finish};

/// What differs from run to run, and what is written in its place.
const FILTERS: &[(&str, &str)] = &[
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "[TIME]"),
    (r"\d+[dhms]( \d+[hms])? ago", "[AGE] ago"),
    (r"→\d+[dhms]( \d+[hms])?\b", "→[AGE]"),
    (r"(→\d+\.\d+(e-\d+)?){6}", "→[LAGS AND RATES]"),
    (r#"(LagSeconds":|PerSecond\w+":|(Seconds|Minute) is )[0-9.e-]+"#, "$1[NUMBER]"),
    (r#"("Revision":|expected-revision=|\nRevision +|(updated|changed)→)\d+"#, "$1[REVISION]"),
    (r#"("BatchId":|\nBatchId +)"?[0-9a-fA-F-]{32,36}"?"#, "$1[BATCH]"),
    (r#"("Login":"|\nLogin +)[^"\n]+"#, "$1[LOGIN]"),
    (r#"("HistoryId":)\d+"#, "$1[ID]"),
    /* As many as were folded by chance. */
    (r#"("DeletedBucketCount":)\d+"#, "$1[COUNT]"),
    (r"chokaq-\w+\.json", "chokaq-[DRAFT].json"),
    (r"\(os error \d+\)", "(os error [CODE])"),
];

pub struct Transcript {
    url: Option<String>,
    environment: Vec<(&'static str, String)>,
    /* Of this transcript alone, so that what the program keeps for its user goes with it. */
    temporary: TempDir,
    text: String,
}

impl Transcript {
    /// Runs of the program without a database.
    pub fn new() -> Result<Self> {
        let temporary = TempDir::with_prefix("chokaq-desk-")?;
        Ok(Self { url: None, environment: vec![], temporary, text: String::new() })
    }

    /// Runs of the program on the case's database.
    pub fn of(db: &Db<'_>) -> Result<Self> {
        let mut transcript = Self::new()?;
        transcript.on(db.url()?);
        Ok(transcript)
    }

    /// The runs that follow are on this database.
    pub fn on(&mut self, url: String) {
        self.url = Some(url);
    }

    /// Sets a variable for the runs that follow.
    pub fn set(&mut self, variable: &'static str, value: &str) {
        self.environment.retain(|(name, _)| *name != variable);
        self.environment.push((variable, value.to_owned()));
    }

    /// Runs a command line, which must end with this exit code.
    pub async fn run(&mut self, code: i32, line: &str) -> Result<Run> {
        self.feed("", code, line).await
    }

    /// The same, with a text on standard input.
    pub async fn feed(&mut self, input: &str, code: i32, line: &str) -> Result<Run> {
        let words = shlex::split(line).context("a command line")?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut program = command(self.url.as_deref(), &words)?;
        /* An editor may want to run it too. */
        let path = program.get_program().to_owned();
        program.env_remove("VISUAL").env_remove("EDITOR").env("CHOKAQ", path).env("TMPDIR", self.temporary.path());
        program.envs(self.environment.iter().map(|(name, value)| (name, value)));
        program.stdin(self.file_of(input)?);
        let run = finish(program).await?;

        self.text += &format!("\n$ chokaq {line}\n");
        self.add("< ", input.lines());
        self.add("", run.lines.iter().map(String::as_str));
        self.add("! ", run.stderr.lines());
        self.text += &format!("? {}\n", run.code.unwrap_or(-1));
        assert_eq!(run.code, Some(code), "{}", self.text);
        Ok(run)
    }

    fn file_of(&self, input: &str) -> Result<Stdio> {
        if input.is_empty() {
            return Ok(Stdio::null());
        }
        let path = self.temporary.path().join("input");
        std::fs::File::create(&path)?.write_all(input.as_bytes())?;
        Ok(std::fs::File::open(path)?.into())
    }

    /// A remark between the runs.
    pub fn remark(&mut self, remark: &str) {
        self.text += &format!("\n# {remark}\n");
    }

    fn add<'a>(&mut self, sign: &str, lines: impl Iterator<Item = &'a str>) {
        for line in lines {
            self.text += format!("{sign}{}", line.replace('\t', "→")).trim_end();
            self.text.push('\n');
        }
    }

    /// What the program kept of what was typed, in no order.
    pub fn drafts(&self) -> Result<Vec<String>> {
        let mut drafts = Vec::new();
        for file in std::fs::read_dir(self.temporary.path())? {
            let path = file?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                drafts.push(std::fs::read_to_string(path)?);
            }
        }
        Ok(drafts)
    }

    /// Compares all that was said with the snapshot of this name.
    pub fn compare(self, name: &str) -> Result<()> {
        self.compare_with(name, FILTERS)
    }

    /// The same to the letter.
    pub fn compare_to_the_letter(self, name: &str) -> Result<()> {
        self.compare_with(name, &[])
    }

    fn compare_with(self, name: &str, filters: &[(&str, &str)]) -> Result<()> {
        let directory = self.temporary.path().to_str().context("a path of UTF-8")?;
        let text = in_postgres_words(&self.text.replace(directory, "[TMP]"));
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../cli");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        for (pattern, word) in filters {
            settings.add_filter(pattern, *word);
        }
        settings.bind(|| insta::assert_snapshot!(name, text));
        Ok(())
    }
}

/// `@JobId`, `chokaq.usp_GetJob` and `(59001)` as PostgreSQL says them.
fn in_postgres_words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((start, sign)) =
        [("@", "p_"), ("chokaq.usp_", "chokaq.")].iter().filter_map(|pair| Some((rest.find(pair.0)?, pair))).min()
    {
        let after = &rest[start + sign.0.len()..];
        let end = after.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(after.len());
        out.push_str(&rest[..start]);
        if after.starts_with(|c: char| c.is_ascii_uppercase()) {
            out.push_str(sign.1);
            out.push_str(&snake_case(&after[..end]));
        } else {
            out.push_str(&rest[start..start + sign.0.len() + end]);
        }
        rest = &after[end..];
    }
    out.push_str(rest);
    for (mssql, postgres) in [("(59001)", "(QC001)"), ("(59003)", "(QC003)"), ("(59004)", "(QC004)")] {
        out = out.replace(mssql, postgres);
    }
    out
}
