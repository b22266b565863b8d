//! Changing a job's data: by options, or in the editor, guarded by the revision that was read.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use clap::Args;
use dialoguer::Editor;
use similar::TextDiff;

use super::consent::confirm;
use super::failure::{Failure, warn};
use super::input::PayloadSource;
use super::operator::Operator;
use super::output::visible;

/// The changes that the command line names.
#[derive(Debug, Args)]
pub struct Changes {
    /// The id of the job
    pub job_id: String,
    #[command(flatten)]
    payload: PayloadSource,
    /// Set the payload to NULL
    #[arg(long, conflicts_with_all = ["payload", "payload_file"])]
    clear_payload: bool,
    /// The new tags
    #[arg(long)]
    tags: Option<String>,
    /// Set the tags to NULL
    #[arg(long, conflicts_with = "tags")]
    clear_tags: bool,
    /// Take a payload that is not JSON
    #[arg(long)]
    allow_invalid_json: bool,
    /// Only when the job still has this revision; exit code 1 when it has not
    #[arg(long, value_name = "REVISION")]
    expected_revision: Option<i64>,
    #[command(flatten)]
    operator: Operator,
}

/// The changes when everything about them is known.
#[derive(Debug)]
pub struct Settled {
    pub job_id: String,
    pub modified_by: String,
    pub payload: Option<String>,
    pub tags: Option<String>,
    pub clear_payload: bool,
    pub clear_tags: bool,
    pub allow_invalid_json: bool,
    pub expected_revision: Option<i64>,
}

/// A job as it was read before the edit.
#[derive(Debug)]
pub struct Original {
    pub payload: Option<String>,
    pub error: Option<String>,
    pub revision: Option<i64>,
}

impl Changes {
    /// Reads what the options name. When they (and `other` options) name no change, the payload is edited in the
    /// editor, and the revision that was read becomes the expected one. `None`: there is nothing to do.
    pub async fn settle(
        self,
        other: bool,
        original: impl AsyncFnOnce() -> Result<Option<Original>, Failure>,
    ) -> Result<Option<Settled>, Failure> {
        let names_a_change =
            other || self.payload.is_given() || self.clear_payload || self.tags.is_some() || self.clear_tags;
        let mut settled = Settled {
            job_id: self.job_id,
            modified_by: self.operator.name()?,
            payload: self.payload.read()?,
            tags: self.tags,
            clear_payload: self.clear_payload,
            clear_tags: self.clear_tags,
            allow_invalid_json: self.allow_invalid_json,
            expected_revision: self.expected_revision,
        };
        if names_a_change {
            return Ok(Some(settled));
        }
        need_a_terminal()?;
        let Some(original) = original().await? else {
            warn(format_args!("not_found: {}", settled.job_id));
            return Ok(None);
        };
        settled.expected_revision = settled.expected_revision.or(original.revision);
        settled.payload = in_editor(&original, settled.allow_invalid_json)?;
        Ok(settled.payload.is_some().then_some(settled))
    }
}

/// Refuses where nobody could answer an editor.
pub fn need_a_terminal() -> Result<(), Failure> {
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        return Ok(());
    }
    Err(Failure::new("no change was named, and there is no terminal for an editor")
        .hint("name the change, for instance with --payload, --payload-file or --tags"))
}

/// Opens $VISUAL or $EDITOR on the payload and asks whether what came back is meant. `None`: it is not.
pub fn in_editor(original: &Original, allow_invalid_json: bool) -> Result<Option<String>, Failure> {
    let before = original.payload.as_deref().unwrap_or_default();
    let mut stderr = io::stderr();
    if let Some(error) = &original.error {
        writeln!(stderr, "the job's error: {}", visible(error))?;
    }
    let mut text = before.to_owned();
    loop {
        let edited =
            Editor::new().extension(".json").trim_newlines(false).edit(&text).map_err(|error| {
                Failure::new(format_args!("the editor failed: {error}")).hint("set VISUAL or EDITOR")
            })?;
        let Some(edited) = edited else {
            warn("nothing was saved, nothing is changed");
            return Ok(None);
        };
        text = without_added_line_end(before, edited);
        if text == before {
            warn("nothing is changed");
            return Ok(None);
        }
        match serde_json::from_str::<serde::de::IgnoredAny>(&text) {
            Err(error) if !allow_invalid_json => {
                warn(format_args!("the payload is not JSON: {error}"));
                if !confirm("edit it again?", true)? {
                    return Ok(None);
                }
            }
            _ => break,
        }
    }
    writeln!(stderr, "{}", visible(&diff(before, &text)))?;
    Ok(confirm("take this?", true)?.then_some(text))
}

/// Editors end a file with a line end; a payload that had none does not get one by that.
fn without_added_line_end(before: &str, mut edited: String) -> String {
    if !before.ends_with('\n') && edited.ends_with('\n') {
        edited.pop();
    }
    edited
}

fn diff(before: &str, after: &str) -> String {
    let mut text = String::new();
    let diff = TextDiff::from_lines(before, after);
    // Writing into a String cannot fail.
    let _ = write!(text, "{}", diff.unified_diff().header("before", "after").missing_newline_hint(false));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_end_that_an_editor_adds_is_not_part_of_the_payload() {
        assert_eq!(without_added_line_end("{}", "{ }\n".to_owned()), "{ }");
        assert_eq!(without_added_line_end("{}\n", "{ }\n".to_owned()), "{ }\n");
        assert_eq!(without_added_line_end("{}", "{ }".to_owned()), "{ }");
    }

    #[test]
    fn a_diff_shows_the_line_that_was_repaired() {
        let shown = diff("{\n\"a\": 1\n\"b\": 2\n}", "{\n\"a\": 1,\n\"b\": 2\n}");
        assert!(shown.contains("-\"a\": 1\n+\"a\": 1,\n"), "{shown}");
    }
}
