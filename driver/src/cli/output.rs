//! Standard output: data alone, as a table for eyes, as tabbed text for pipes, or as JSON for programs.

use std::io::{self, BufWriter, IsTerminal, Write};

use chokaq::{FailureReason, JobStatus};
use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;
use serde_json::{Map, Value};

/// Tables are not squeezed into less.
const NARROWEST: u16 = 40;

/// How data is shown.
#[derive(Debug, Clone, Copy)]
pub enum Output {
    /// One JSON object a line, with the contract's column names.
    Json,
    /// Tables that fit the terminal.
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
        let mut out = BufWriter::new(io::stdout().lock());
        match self {
            Self::Json => write_json(&mut out, rows)?,
            Self::Terminal if rows.is_empty() => {}
            Self::Terminal => writeln!(out, "{}", table(columns, &cells(rows, columns)?))?,
            Self::Plain => write_plain(&mut out, columns, &cells(rows, columns)?)?,
        }
        out.flush()
    }

    /// Shows one row: people see its columns below each other, long texts in full.
    pub fn record<T: Serialize>(self, row: &T) -> io::Result<()> {
        let mut out = BufWriter::new(io::stdout().lock());
        if let Self::Json = self {
            write_json(&mut out, std::slice::from_ref(row))?;
        } else {
            let fields = fields(row)?;
            let width = fields.keys().map(String::len).max().unwrap_or_default();
            for (name, value) in &fields {
                let value = match self {
                    Self::Terminal => visible(&text(name, value)),
                    _ => text(name, value),
                };
                writeln!(out, "{name:width$}  {value}")?;
            }
        }
        out.flush()
    }

    /// Shows one answer of a procedure: few short columns.
    pub fn answer<T: Serialize>(self, row: &T) -> io::Result<()> {
        let fields = fields(row)?;
        let columns = fields.keys().map(String::as_str).collect::<Vec<_>>();
        self.rows(std::slice::from_ref(row), &columns)
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
    for row in cells {
        let row = row.iter().map(|cell| escape(cell)).collect::<Vec<_>>();
        writeln!(out, "{}", row.join("\t"))?;
    }
    Ok(())
}

fn table(columns: &[&str], cells: &[Vec<String>]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_header(columns);
    // Some terminals do not tell their width and count as no columns wide.
    if table.width().is_some_and(|width| width >= NARROWEST) {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    table.add_rows(cells.iter().map(|row| row.iter().map(|cell| visible(cell))));
    table
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

fn fields<T: Serialize>(row: &T) -> io::Result<Map<String, Value>> {
    match serde_json::to_value(row)? {
        Value::Object(fields) => Ok(fields),
        other => Err(io::Error::other(format!("not a row: {other}"))),
    }
}

/// A value for people: texts without quotes, NULL as nothing, the contract's numbers by their names.
fn text(column: &str, value: &Value) -> String {
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
    fn a_value_cannot_steer_the_terminal() {
        assert_eq!(visible("a\u{1b}[31mb\nc"), "a\u{fffd}[31mb\nc");
    }
}
