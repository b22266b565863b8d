//! How the story is told: chapters, what was done by which procedure, and what was seen.

use std::cell::RefCell;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use chokaq::Dialect;
use serde::Serialize;

use crate::cli::Output;

/// Tells the story to people, or as JSON lines to programs.
#[derive(Debug)]
pub struct Narrator {
    is_json: bool,
    chapter: RefCell<(usize, String)>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Line<'a> {
    chapter: &'a str,
    procedure: Option<&'a str>,
    text: &'a str,
}

const BOLD: Style = Style::new().bold();
const PROCEDURE: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Cyan)));
const DIM: Style = Style::new().dimmed();

/// Where the text begins after the name of a procedure.
const WIDTH: usize = 30;

impl Narrator {
    pub fn new(output: Output) -> Self {
        Self { is_json: matches!(output, Output::Json), chapter: RefCell::new((0, String::new())) }
    }

    /// Begins a chapter.
    pub fn chapter(&self, title: &str) -> io::Result<()> {
        let mut chapter = self.chapter.borrow_mut();
        chapter.0 += 1;
        title.clone_into(&mut chapter.1);
        if self.is_json {
            return Ok(());
        }
        writeln!(anstream::stdout(), "\n{BOLD}{}. {title}{BOLD:#}", chapter.0)
    }

    /// Tells what a procedure did, under the name it has in this database.
    pub fn did(&self, dialect: Dialect, procedure: &str, text: &str) -> io::Result<()> {
        let name = dialect.object_name(procedure);
        if self.is_json {
            return self.line(Some(&name), text);
        }
        writeln!(anstream::stdout(), "   {PROCEDURE}{name:WIDTH$}{PROCEDURE:#} {text}")
    }

    /// Tells what happened besides.
    pub fn note(&self, text: &str) -> io::Result<()> {
        if self.is_json {
            return self.line(None, text);
        }
        writeln!(anstream::stdout(), "   {text}")
    }

    /// Shows a text of the database to the letter.
    pub fn quote(&self, text: &str) -> io::Result<()> {
        if self.is_json {
            return self.line(None, text);
        }
        let mut out = anstream::stdout();
        text.lines().try_for_each(|line| writeln!(out, "   {DIM}| {line}{DIM:#}"))
    }

    fn line(&self, procedure: Option<&str>, text: &str) -> io::Result<()> {
        let chapter = self.chapter.borrow();
        let line = Line { chapter: &chapter.1, procedure, text };
        let mut out = io::stdout().lock();
        serde_json::to_writer(&mut out, &line)?;
        writeln!(out)
    }
}
