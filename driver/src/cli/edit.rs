//! Changing a job's data: by options, or in the editor, guarded by the revision that was read.

use clap::Args;

use super::consent::Consent;
use super::editor::{self, Draft};
use super::failure::{Failure, warn};
use super::input::PayloadSource;
use super::json;
use super::operator::Operator;

/// The changes that the command line names.
#[derive(Debug, Args)]
pub struct Changes {
    /// The id of the job
    job_id: String,
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
    #[command(flatten)]
    consent: Consent,
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
    /// What was typed in the editor, if it was opened.
    draft: Option<Draft>,
}

/// A job as it was read before the edit.
#[derive(Debug)]
pub struct Original {
    pub payload: Option<String>,
    pub tags: Option<String>,
    pub error: Option<String>,
    pub revision: Option<i64>,
}

impl Changes {
    /// Reads what the options name. When they (and `other` options) name no change, payload and tags are edited in the
    /// editor, and the revision that was read becomes the expected one. `None`: there is nothing to do.
    pub async fn settle(
        self,
        other: bool,
        original: impl AsyncFnOnce(&str) -> Result<Option<Original>, Failure>,
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
            draft: None,
        };
        if names_a_change {
            check_payload(settled.payload.as_deref(), settled.allow_invalid_json)?;
            return Ok(Some(settled));
        }
        editor::need_one()?;
        let Some(original) = original(&settled.job_id).await? else {
            warn(format_args!("not_found: {}", settled.job_id));
            return Ok(None);
        };
        settled.expected_revision = settled.expected_revision.or(original.revision);
        settled.draft = editor::edit(original, settled.allow_invalid_json, &self.consent)?;
        let Some(edited) = settled.draft.as_ref().and_then(Draft::edited) else {
            return Ok(None);
        };
        settled.payload = edited.payload;
        settled.clear_tags = edited.tags.as_deref() == Some("");
        settled.tags = edited.tags.filter(|tags| !tags.is_empty());
        Ok(Some(settled))
    }
}

impl Settled {
    /// The answer to the changes, which are saved when its outcome is `saved`; else what was typed in the editor is kept.
    pub fn conclude<T>(
        self,
        result: chokaq::Result<T>,
        saved: &str,
        outcome: impl FnOnce(&T) -> &'static str,
    ) -> Result<T, Failure> {
        let outcome = result.as_ref().ok().map(outcome);
        let result = result.map_err(Failure::from);
        match outcome {
            Some(word) if word == saved => return result,
            Some("changed") => {
                warn("changed: the job is not as it was read any more; look at it again before you go on")
            }
            Some(word) => warn(format_args!("{word}: nothing was saved")),
            None => {}
        }
        match self.draft {
            // The revision that was read has had its answer.
            Some(draft) if outcome.is_some() => draft.without_revision().outlive(result),
            Some(draft) => draft.outlive(result),
            None => result,
        }
    }
}

/// Refuses a payload that is not JSON, and shows where it breaks.
pub fn check_payload(payload: Option<&str>, allow_invalid_json: bool) -> Result<(), Failure> {
    let Some((payload, Err(broken))) = payload.filter(|_| !allow_invalid_json).map(|text| (text, json::check(text)))
    else {
        return Ok(());
    };
    Err(Failure::new(format_args!("the payload is not JSON: {broken}\n{}", broken.excerpt(payload)))
        .hint("nothing was saved; mend it, or keep it as it is with --allow-invalid-json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_that_is_not_json_is_refused_with_the_place_unless_it_may_be() {
        let broken = Some("{\"a\": 1\n\"b\": 2}");
        let Err(Failure::Error { message, .. }) = check_payload(broken, false) else {
            panic!("it is broken");
        };
        assert!(message.contains("at line 2, column 1\n1 | {\"a\": 1\n2 | \"b\": 2}\n  | ^"), "{message}");
        assert!(check_payload(broken, true).is_ok());
        assert!(check_payload(Some("{}"), false).is_ok());
        assert!(check_payload(None, false).is_ok());
    }
}
