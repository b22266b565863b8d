//! Tables in Markdown: what a part prints is what is kept as the report.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A table; its first column is text, the others are figures.
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty one.
    pub fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rule =
            self.header.iter().enumerate().map(|(n, _)| if n == 0 { "---" } else { "---:" }.to_owned()).collect();
        for row in [&self.header, &rule].into_iter().chain(&self.rows) {
            writeln!(f, "| {} |", row.join(" | "))?;
        }
        Ok(())
    }
}

/// The report of one part: printed at once, and kept when a folder was named.
pub struct Report {
    name: &'static str,
    folder: Option<PathBuf>,
    text: String,
}

impl Report {
    /// Begins with a title and what makes the figures below.
    pub fn begin(name: &'static str, title: &str, about: &str, folder: Option<&Path>) -> Result<Self> {
        if let Some(folder) = folder {
            std::fs::create_dir_all(folder)?;
        }
        let mut report = Self { name, folder: folder.map(Path::to_owned), text: String::new() };
        report.say(&format!("## {title}\n\n{about}\n"));
        Ok(report)
    }

    /// Adds a paragraph or a table.
    pub fn say(&mut self, text: &str) {
        println!("{text}");
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{text}");
    }

    /// The file for a plot of that name, when the report is kept; the text then refers to it.
    pub fn plot(&mut self, name: &str, title: &str) -> Option<PathBuf> {
        let file = self.folder.as_ref()?.join(format!("{name}.svg"));
        self.say(&format!("![{title}]({name}.svg)\n"));
        Some(file)
    }

    /// Writes the file, if it is to be kept.
    pub fn end(self) -> Result<()> {
        let Some(folder) = self.folder else {
            return Ok(());
        };
        let file = folder.join(format!("{}.md", self.name));
        std::fs::write(&file, self.text.replace("\n\n\n", "\n\n")).with_context(|| file.display().to_string())
    }
}

/// The processor and the system that the figures belong to.
pub fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str, separator: char| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(separator)?.1.trim().trim_matches('"').to_owned())
    };
    let processor = field(&read("/proc/cpuinfo"), "model name", ':').unwrap_or_else(|| "unknown processor".to_owned());
    let cores = std::thread::available_parallelism().map_or(0, |cores| cores.get());
    let memory = field(&read("/proc/meminfo"), "MemTotal", ':')
        .and_then(|size| size.split(' ').next()?.parse::<u64>().ok())
        .map_or(0, |kib| kib.div_ceil(1 << 20));
    let system = field(&read("/etc/os-release"), "PRETTY_NAME", '=').unwrap_or_default();
    format!("{processor}, {cores} cores, {memory} GiB, {system}; clients and server share it")
}

/// 12345.6 as 12,346.
pub fn thousands(value: f64) -> String {
    if !value.is_finite() {
        return "—".to_owned();
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The same, with what the repetitions differ by.
pub fn with_spread(sample: &crate::stats::Sample) -> String {
    if sample.is_empty() {
        return "—".to_owned();
    }
    format!("{} ±{:.0} %", thousands(sample.median()), sample.spread() * 50.0)
}

/// A ratio to two places; a dash when one side was not measured.
pub fn ratio(value: f64) -> String {
    if value.is_finite() { format!("{value:.2}") } else { "—".to_owned() }
}
