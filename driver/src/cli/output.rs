//! Standard output: data alone, as a table for eyes, as tabbed text for pipes, or as JSON for programs.

use std::io::{self, BufWriter, IsTerminal, Write};

use chokaq::{FailureReason, JobStatus};
use comfy_table::{ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width, presets};
use serde::Serialize;
use serde_json::{Map, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Columns of long texts, the only ones that are wrapped: whatever else breaks in two can be neither read nor copied.
const WRAPPED: [&str; 5] = ["Payload", "PayloadPreview", "ErrorPreview", "ErrorDetails", "Detail"];

/// A long text is not squeezed into less.
const NARROWEST: u16 = 24;

/// A rule under the headings and no other line, so that what is copied from a table is text alone.
const STYLE: TableStyle = presets::NOTHING.header_separator(LineStyle::none().fill('─'));

/// What a column takes besides its content.
const PADDING: u16 = 2;

/// How data is shown.
#[derive(Debug, Clone, Copy)]
pub enum Output {
    /// One JSON object a line, with the contract's column names.
    Json,
    /// Tables, or each row's columns below each other where a table is wider than the terminal.
    Terminal,
    /// Tab-separated lines under a line of names; tabs and line ends inside a value are escaped.
    Plain,
}

impl Output {
    /// JSON when asked for, else what fits where standard output goes.
    pub fn choose(json: bool) -> Self {
        if json {
            Self::Json
        } else if io::stdout().is_terminal() {
            Self::Terminal
        } else {
            Self::Plain
        }
    }

    /// Shows rows. People see the named columns, programs see all.
    pub fn rows<T: Serialize>(self, rows: &[T], columns: &[&str]) -> io::Result<()> {
        self.rows_under(|column| column, rows, columns)
    }

    /// Shows rows that come page by page. A pipe gets the line of names with the first page, a terminal with each: what
    /// the following pages are as wide as is not known yet.
    pub fn page<T: Serialize>(self, rows: &[T], columns: &[&str], is_first: bool) -> io::Result<()> {
        match self {
            Self::Plain if !is_first => {
                let mut out = BufWriter::new(io::stdout().lock());
                write_cells(&mut out, &cells(rows, columns)?)?;
                out.flush()
            }
            _ => self.rows(rows, columns),
        }
    }

    /// Shows rows, on a terminal under headings of their own.
    pub fn rows_under<T: Serialize>(self, heading: fn(&str) -> &str, rows: &[T], columns: &[&str]) -> io::Result<()> {
        let mut out = BufWriter::new(io::stdout().lock());
        match self {
            Self::Json => write_json(&mut out, rows)?,
            Self::Terminal if rows.is_empty() => {}
            Self::Terminal => write_table(&mut out, heading, columns, &cells(rows, columns)?)?,
            Self::Plain => write_plain(&mut out, columns, &cells(rows, columns)?)?,
        }
        out.flush()
    }

    /// Shows one row: people see its columns below each other.
    pub fn record<T: Serialize>(self, row: &T) -> io::Result<()> {
        let mut out = BufWriter::new(io::stdout().lock());
        if let Self::Json = self {
            write_json(&mut out, std::slice::from_ref(row))?;
        } else {
            let fields = fields(row)?;
            let lines = fields.iter().map(|(name, value)| (name.as_str(), visible(&text(name, value))));
            write_record(&mut out, &lines.collect::<Vec<_>>())?;
        }
        out.flush()
    }

    /// Shows one answer of a procedure: few short columns.
    pub fn answer<T: Serialize>(self, row: &T) -> io::Result<()> {
        let fields = fields(row)?;
        let columns = fields.keys().map(String::as_str).collect::<Vec<_>>();
        self.rows(std::slice::from_ref(row), &columns)
    }

    /// Writes a whole document, such as a script for a shell.
    pub fn document(text: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text)?;
        out.flush()
    }

    /// Shows a difference below its rows; JSON rows hold both sides themselves.
    pub fn difference(self, text: &str) -> io::Result<()> {
        match self {
            Self::Json => Ok(()),
            Self::Terminal | Self::Plain => {
                let mut out = anstream::stdout().lock();
                out.write_all(text.as_bytes())?;
                out.flush()
            }
        }
    }

    /// Shows one line of text, such as a URL.
    pub fn line(self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{text}")?;
        out.flush()
    }
}

fn write_json<T: Serialize>(out: &mut impl Write, rows: &[T]) -> io::Result<()> {
    for row in rows {
        serde_json::to_writer(&mut *out, row)?;
        writeln!(out)?;
    }
    Ok(())
}

fn write_plain(out: &mut impl Write, columns: &[&str], cells: &[Vec<String>]) -> io::Result<()> {
    writeln!(out, "{}", columns.join("\t"))?;
    write_cells(out, cells)
}

fn write_cells(out: &mut impl Write, cells: &[Vec<String>]) -> io::Result<()> {
    for row in cells {
        let row = row.iter().map(|cell| escape(cell)).collect::<Vec<_>>();
        writeln!(out, "{}", row.join("\t"))?;
    }
    Ok(())
}

/// Rows as a table on standard error, where people look before they answer a question.
pub fn aside<T: Serialize>(rows: &[T], columns: &[&str]) -> io::Result<()> {
    write_table(&mut io::stderr().lock(), |column| column, columns, &cells(rows, columns)?)
}

/// Names and values below each other.
pub fn write_record(out: &mut impl Write, lines: &[(&str, String)]) -> io::Result<()> {
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    for (name, value) in lines {
        writeln!(out, "{name:width$}  {value}")?;
    }
    Ok(())
}

fn write_table(
    out: &mut impl Write,
    heading: fn(&str) -> &str,
    columns: &[&str],
    cells: &[Vec<String>],
) -> io::Result<()> {
    let headings = columns.iter().map(|column| heading(column)).collect::<Vec<_>>();
    let shown = |row: &Vec<String>| {
        columns.iter().zip(row).map(|(column, cell)| visible(&to_the_second(column, cell))).collect::<Vec<_>>()
    };
    let rows = cells.iter().map(shown).collect::<Vec<_>>();
    let mut table = Table::new();
    table.load_style(STYLE).set_header(&headings);
    table.add_rows(&rows);
    // Some terminals do not tell their width and count as no columns wide.
    match table.width().filter(|width| *width > 0) {
        Some(width) if !fit(&mut table, columns, width) => rows.into_iter().enumerate().try_for_each(|(index, row)| {
            if index > 0 {
                writeln!(out)?;
            }
            write_record(out, &headings.iter().copied().zip(row).collect::<Vec<_>>())
        }),
        _ => writeln!(out, "{table}"),
    }
}

/// Wraps the long texts so that the table is as wide as the terminal; false when they would become too narrow.
fn fit(table: &mut Table, columns: &[&str], terminal: u16) -> bool {
    let widths = table.column_max_content_widths();
    let mut needed = 0_u16;
    for ((name, width), column) in columns.iter().zip(widths).zip(table.column_iter_mut()) {
        let least = if WRAPPED.contains(name) {
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(NARROWEST.min(width) + PADDING)));
            NARROWEST.min(width)
        } else {
            column.set_constraint(ColumnConstraint::ContentWidth);
            width
        };
        needed = needed.saturating_add(least).saturating_add(PADDING);
    }
    table.set_content_arrangement(ContentArrangement::Dynamic);
    needed <= terminal
}

/// Fractions of a second are for programs, and for who looks at one job.
fn to_the_second(column: &str, cell: &str) -> String {
    let instant = column.ends_with("Utc").then(|| OffsetDateTime::parse(cell, &Rfc3339).ok()).flatten();
    instant.and_then(|instant| instant.truncate_to_second().format(&Rfc3339).ok()).unwrap_or_else(|| cell.to_owned())
}

fn cells<T: Serialize>(rows: &[T], columns: &[&str]) -> io::Result<Vec<Vec<String>>> {
    rows.iter()
        .map(|row| {
            let fields = fields(row)?;
            Ok(columns
                .iter()
                .map(|column| fields.get(*column).map_or_else(String::new, |value| text(column, value)))
                .collect())
        })
        .collect()
}

/// The columns of a row by their names, in their order.
pub fn fields<T: Serialize>(row: &T) -> io::Result<Map<String, Value>> {
    match serde_json::to_value(row)? {
        Value::Object(fields) => Ok(fields),
        other => Err(io::Error::other(format!("not a row: {other}"))),
    }
}

/// A value for people: texts without quotes, NULL as nothing, the contract's numbers by their names.
pub fn text(column: &str, value: &Value) -> String {
    let name = value.as_i64().and_then(|number| match column {
        "FailureReason" => {
            FailureReason::ALL.iter().find(|it| i64::from(i16::from(**it)) == number).map(|it| it.name())
        }
        "Status" => JobStatus::ALL.iter().find(|it| i64::from(i16::from(**it)) == number).map(|it| it.name()),
        _ => None,
    });
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => name.map_or_else(|| other.to_string(), str::to_owned),
    }
}

fn escape(cell: &str) -> String {
    cell.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}

/// A value must not steer the terminal that shows it: control characters but line ends and tabs are shown as symbols.
pub fn visible(cell: &str) -> String {
    let cell = cell.replace("\r\n", "\n");
    cell.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Row {
        #[serde(rename = "JobId")]
        job_id: &'static str,
        #[serde(rename = "Tags")]
        tags: Option<&'static str>,
        #[serde(rename = "Attempt")]
        attempt: i32,
    }

    const ROW: Row = Row { job_id: "a\tb", tags: None, attempt: 2 };

    #[test]
    fn programs_get_one_object_a_line_in_the_order_of_the_columns() {
        let mut out = Vec::new();
        write_json(&mut out, &[ROW, ROW]).unwrap();
        let line = "{\"JobId\":\"a\\tb\",\"Tags\":null,\"Attempt\":2}\n";
        assert_eq!(String::from_utf8(out).unwrap(), line.repeat(2));
    }

    #[test]
    fn pipes_get_one_line_a_row_whatever_is_in_it() {
        let columns = ["Attempt", "JobId", "Tags"];
        let mut out = Vec::new();
        write_plain(&mut out, &columns, &cells(&[ROW], &columns).unwrap()).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "Attempt\tJobId\tTags\n2\ta\\tb\t\n");
    }

    #[test]
    fn fields_keep_the_order_of_the_contract() {
        let names = fields(&ROW).unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names, ["JobId", "Tags", "Attempt"]);
    }

    #[test]
    fn people_read_the_names_of_the_contract_numbers() {
        assert_eq!(text("FailureReason", &Value::from(6)), "FatalError");
        assert_eq!(text("Status", &Value::from(2)), "Processing");
        assert_eq!(text("FailureReason", &Value::from(99)), "99");
        assert_eq!(text("Priority", &Value::from(6)), "6");
    }

    #[test]
    fn a_table_shows_times_to_the_second() {
        assert_eq!(to_the_second("FailedAtUtc", "2026-01-31T08:00:00.1234567Z"), "2026-01-31T08:00:00Z");
        assert_eq!(to_the_second("FailedAtUtc", ""), "");
        assert_eq!(to_the_second("JobId", "2026-01-31T08:00:00.1234567Z"), "2026-01-31T08:00:00.1234567Z");
    }

    /// A table of an id and an error for a terminal of that width, and whether it fits.
    fn table_for(terminal: u16) -> (Table, bool) {
        let mut table = Table::new();
        table.set_header(["JobId", "ErrorPreview"]).set_width(terminal);
        table.load_style(STYLE).add_row(["a-job-of-a-long-name".to_owned(), "word ".repeat(20)]);
        let fits = fit(&mut table, &["JobId", "ErrorPreview"], terminal);
        (table, fits)
    }

    #[test]
    fn only_long_texts_are_wrapped() {
        let (table, fits) = table_for(60);
        assert!(fits);
        let shown = table.to_string();
        assert!(shown.contains("a-job-of-a-long-name") && shown.lines().count() > 2, "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() == 60), "{shown}");
    }

    #[test]
    fn a_long_text_is_not_squeezed_into_a_few_letters() {
        let least = 20 + PADDING + NARROWEST + PADDING;
        assert!(table_for(least).1);
        assert!(!table_for(least - 1).1);
    }

    #[test]
    fn a_value_cannot_steer_the_terminal() {
        assert_eq!(visible("a\u{1b}[31mb\r\nc\rd"), "a\u{fffd}[31mb\nc\u{fffd}d");
    }
}
